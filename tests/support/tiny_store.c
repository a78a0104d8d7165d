/* tiny_store.c - makes the tiny model with `sluice init`. */
#include "support/tiny_store.h"

#include "support/program.h"
#include "support/test.h"

void tiny_store_make(const char *store)
{
    enum { BYTES = sizeof TINY_TEXT - 1, REPEATS = 64 };

    char corpus[PATH_MAX], model[PATH_MAX], text[BYTES * REPEATS + 1] = "";
    for (size_t i = 0; i < REPEATS; i++)
        memcpy(text + i * BYTES, TINY_TEXT, BYTES + 1);
    test_write_file(test_path(corpus, store, ".corpus.txt"), text);
    cr_assert_eq(mkdir(test_path(model, store, TINY_MODEL), 0700), 0);
    (void)test_path(model, store, TINY_MODEL "/1");
    const char *const *args =
        ARGS("init", "tsa", "--corpus", corpus, "--output", model, "--width", "32", "--depth", "2",
             "--heads", "2", "--ffn-width", "64", "--context-length", "64");
    pid_t pid = program_start("sluice", args, (const int[]){-1, -1, STDERR_FILENO});
    cr_assert_eq(program_wait(pid), 0, "sluice init failed");
}
