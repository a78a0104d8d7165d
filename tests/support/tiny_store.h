/* tiny_store.h - a model store with one small untrained model, made by the sluice program. */
#pragma once

#include "support/test.h"

#include <sys/wait.h>

/* Where the programs of this build are; the build says it. */
#ifndef SL_BUILD_DIR
#define SL_BUILD_DIR "."
#endif

#define TINY_MODEL "tiny"
/* Every character of its vocabulary, a three-byte one among them. */
#define TINY_TEXT "\n !,.?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\xE2\x82\xAC"

enum { TINY_CONTEXT = 64, TINY_REPEATS = 64 };

/* A program of this build, or what the environment says. */
static inline const char *program(const char *variable, const char *fallback)
{
    const char *path = getenv(variable);
    return path ? path : fallback;
}

static inline void run_program(char *const *arguments)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stdout);
        (void)execv(arguments[0], arguments);
        _exit(127);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s ended with status %d",
              arguments[0], status);
}

/* Makes <store>/tiny/1. The only place that knows how the program is called. */
static inline void tiny_store_make(const char *store)
{
    enum { BYTES = sizeof TINY_TEXT - 1 };

    char corpus[PATH_MAX], model[PATH_MAX], text[BYTES * TINY_REPEATS + 1] = "";
    for (size_t i = 0; i < TINY_REPEATS; i++)
        memcpy(text + i * BYTES, TINY_TEXT, BYTES + 1);
    test_write_file(test_path(corpus, store, ".corpus.txt"), text);
    (void)test_path(model, store, TINY_MODEL);
    cr_assert_eq(mkdir(model, 0700), 0);
    (void)test_path(model, store, TINY_MODEL "/1");
    const char *arguments[] = {program("SLUICE_TOOL", SL_BUILD_DIR "/sluice"),
                               "init",
                               "tsa",
                               "--corpus",
                               corpus,
                               "--out",
                               model,
                               "--width",
                               "32",
                               "--depth",
                               "2",
                               "--heads",
                               "2",
                               "--hidden",
                               "64",
                               "--context",
                               "64",
                               NULL};
    run_program((char *const *)(uintptr_t)arguments);
}
