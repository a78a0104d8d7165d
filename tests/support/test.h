/* test.h - what the tests share on top of Criterion: failures that must name their reason, folders
 * that vanish, random input that can be repeated.
 *
 * A test file includes this and nothing else of the test framework. */
#pragma once

#include "sluice/err.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sanitizers watch what is done, not what comes of it, and they are slow: where a test learns or
 * repeats much, they see a part of it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_SANITIZED = 1 };
#else
enum { TEST_SANITIZED = 0 };
#endif

/* Passes when call succeeded; shows err's text when it did not. */
#define EXPECT_OK(call, err)                                                                       \
    do {                                                                                           \
        (err).text[0] = '\0';                                                                      \
        cr_assert((call), "%s: %s", #call, (err).text);                                            \
    } while (0)

/* Passes when call failed with that code and a text that contains `part`. */
#define EXPECT_FAIL(call, err, want, part)                                                         \
    do {                                                                                           \
        (err) = (struct sl_err){0};                                                                \
        cr_assert_not((call), "%s succeeded", #call);                                              \
        cr_assert_eq((err).code, (want), "%s: code %d, want %d: %s", #call, (int)(err).code,       \
                     (int)(want), (err).text);                                                     \
        cr_assert(strstr((err).text, (part)), "%s: '%s' lacks '%s'", #call, (err).text, (part));   \
    } while (0)

/* The seed of random tests: SLUICE_SEED, or a fixed number. Show it in the message of every check
 * that depends on it. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("SLUICE_SEED");
    return text ? strtoull(text, NULL, 0) : 20260101;
}

/* A fresh directory in path, which has PATH_MAX bytes. */
static inline void test_directory_make(char *path)
{
    const char *top = getenv("TMPDIR");
    (void)snprintf(path, PATH_MAX, "%s/sluice-test-XXXXXX", top ? top : "/tmp");
    cr_assert(mkdtemp(path), "cannot make %s", path);
}

/* Joins a directory and a name in out, which has PATH_MAX bytes, and returns out. */
static inline const char *test_path(char *out, const char *directory, const char *name)
{
    int length = snprintf(out, PATH_MAX, "%s/%s", directory, name);
    cr_assert(length > 0 && length < PATH_MAX, "the path of %s is too long", name);
    return out;
}

static inline int test_remove_one(const char *path, const struct stat *status, int kind,
                                  struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

/* How many files and directories are in one. */
static inline int test_entries(const char *directory)
{
    int count = 0;
    DIR *entries = opendir(directory);
    cr_assert(entries, "%s", directory);
    for (const struct dirent *e; (e = readdir(entries));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(entries);
    return count;
}

/* Removes a directory of test_directory_make and all that is in it. */
static inline void test_directory_remove(const char *path)
{
    enum { OPEN_MAX_HINT = 8 };

    (void)nftw(path, test_remove_one, OPEN_MAX_HINT, FTW_DEPTH | FTW_PHYS);
}

/* Writes text to a file, replacing it. */
static inline void test_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    cr_assert(file, "cannot write %s", path);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}
