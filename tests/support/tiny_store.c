/* tiny_store.c - makes the tiny models with `sluice init` and `sluice train`. */
#include "support/tiny_store.h"

#include "base/file.h"
#include "support/program.h"
#include "support/test.h"

#include <dirent.h>

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

void tiny_store_make_base(const char *store)
{
    char corpus[PATH_MAX], run[PATH_MAX], model[PATH_MAX];
    FILE *file = fopen(test_path(corpus, store, ".words.txt"), "we");
    cr_assert(file);
    for (int i = 0; i < 50; i++)
        cr_assert_gt(fprintf(file, "line %d of a text without labels\n\n", i), 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(mkdir(test_path(model, store, "base"), 0700), 0);
    const char *const *args =
        ARGS("train", "tsa", "--corpus", corpus, "--replace-fraction", "0.2", "--tokenizer",
             "words", "--run-dir", test_path(run, store, ".run"), "--output",
             test_path(model, store, "base/1"), "--steps", "1", "--batch-size", "2", "--width",
             "32", "--depth", "2", "--heads", "2", "--ffn-width", "64", "--context-length", "64");
    pid_t pid = program_start("sluice", args, (const int[]){-1, -1, STDERR_FILENO});
    cr_assert_eq(program_wait(pid), 0, "sluice train failed");
}

static void copy_file(const char *from, const char *to)
{
    struct sl_err err;
    struct sl_map map = {0};
    EXPECT_OK(sl_map_open(&map, from, &err), err);
    const struct sl_slice whole = {.data = map.data, .size = map.size};
    EXPECT_OK(sl_file_replace(to, &whole, 1, &err), err);
    sl_map_close(&map);
}

static void copy_directory(const char *source, const char *store, const char *to)
{
    char target[PATH_MAX], fresh[PATH_MAX], one[PATH_MAX], other[PATH_MAX];
    struct sl_err err;
    (void)test_path(target, store, to);
    (void)test_path(fresh, store, ".copy");
    char *end = strrchr(target, '/');
    *end = '\0';
    EXPECT_OK(sl_directory_make(target, &err), err);
    *end = '/';
    EXPECT_OK(sl_directory_make(fresh, &err), err);
    DIR *entries = opendir(source);
    cr_assert(entries, "%s", source);
    for (const struct dirent *e; (e = readdir(entries));)
        if (e->d_name[0] != '.')
            copy_file(test_path(one, source, e->d_name), test_path(other, fresh, e->d_name));
    (void)closedir(entries);
    EXPECT_OK(sl_directory_publish(fresh, target, &err), err);
}

void tiny_store_copy(const char *store, const char *from, const char *to)
{
    char source[PATH_MAX];
    copy_directory(test_path(source, store, from), store, to);
}

void tiny_store_add_pretrained(const char *store, const char *name)
{
    char source[PATH_MAX], version[PATH_MAX];
    (void)test_path(source, SL_SOURCE_DIR "/tests/golden/pretrained", name);
    (void)snprintf(version, sizeof version, "%s/4", name);
    copy_directory(source, store, version);
}

void tiny_store_import(const char *store, const char *name)
{
    char source[PATH_MAX], version[PATH_MAX], output[PATH_MAX];
    (void)test_path(source, SL_SOURCE_DIR "/tests/golden/sentences", name);
    cr_assert_eq(mkdir(test_path(output, store, name), 0700), 0);
    (void)snprintf(version, sizeof version, "%s/4", name);
    const char *const *args = ARGS("import", source, "--output", test_path(output, store, version));
    pid_t pid = program_start("sluice", args, (const int[]){-1, -1, STDERR_FILENO});
    cr_assert_eq(program_wait(pid), 0, "sluice import failed");
}
