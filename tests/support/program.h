/* program.h - the programs of this build as children of a test: arguments in, output and exit code
 * out.
 *
 * A name without a slash is a program of this build: sluiced, sluice or sluicectl. Arguments are a
 * list that NULL ends, without the program's name. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { PROGRAM_ARGS_MAX = 64, PROGRAM_OUTPUT_MAX = 1 << 18, PROGRAM_WAIT_MS = 100000 };

/* How a program ended, and what it wrote. Large: make it static, or part of a fixture. */
struct program_result {
    int exit_code; /* -1: ended by a signal */
    char out[PROGRAM_OUTPUT_MAX], err[PROGRAM_OUTPUT_MAX];
};

/* The program's path, in path, which has PATH_MAX bytes. */
const char *program_path(char *path, const char *name);

/* Replaces this process. Returns only when that fails. The new program is killed when its parent
 * ends, so that a test that fails leaves nothing behind. */
void program_exec(const char *name, const char *const *args);

/* Starts a program with these as its standard input, output and errors; -1: /dev/null. */
pid_t program_start(const char *name, const char *const *args, const int streams[static 3]);

/* The exit code, or -1 when a signal ended it. Fails after PROGRAM_WAIT_MS. */
int program_wait(pid_t pid);

/* Runs a program to its end. `input` is a file, or NULL. */
void program_run(struct program_result *r, const char *name, const char *input,
                 const char *const *args);

/* What a program wrote must contain this. */
#define EXPECT_SAID(text, part) cr_assert(strstr((text), (part)), "'%s' lacks '%s'", (text), (part))

#define EXPECT_EXIT(result, code)                                                                  \
    cr_assert_eq((result)->exit_code, (code), "left with %d, not %d: %s", (result)->exit_code,     \
                 (code), (result)->err)
