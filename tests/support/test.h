/* test.h - what the tests share on top of Criterion: failures that must name their reason, folders
 * that vanish, random input that can be repeated.
 *
 * A test file includes this and nothing else of the test framework. This folder is a
 * library: contracts are in the headers, and state is in structs that the test owns. */
#pragma once

#include "sluice/err.h"

#include <criterion/criterion.h>
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

/* Under sanitizers a long loop that goes on by TEST_STEP takes every third case. Nested ones that
 * begin at outer % TEST_STEP take all cases of the inner list together. */
enum { TEST_STEP = TEST_SANITIZED ? 3 : 1 };

/* For a test with one thread, which has no races to find, or one that is alone with the daemon,
 * whose threads other tests keep busy: Test(suite, name, TEST_ONE_THREAD). */
#if defined(__SANITIZE_THREAD__)
#define TEST_ONE_THREAD .disabled = true
#else
#define TEST_ONE_THREAD .disabled = false
#endif

/* The number of elements of an array. */
#define COUNT(array) (sizeof(array) / sizeof *(array))

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
uint64_t test_seed(void);

/* Makes a fresh directory, in TMPDIR, memory or /tmp. Its path goes to path, which has PATH_MAX
 * bytes. */
void test_directory_create(char *path);

/* Joins a directory and a name in out, which has PATH_MAX bytes, and returns out. */
const char *test_path(char *out, const char *directory, const char *name);

/* The number of files and directories in a directory. */
int test_count_entries(const char *directory);

/* Removes a directory of test_directory_create and all that is in it. */
void test_directory_remove(const char *path);

/* Writes text to a file, replacing it. */
void test_write_file(const char *path, const char *text);

/* Reads a file into text, which has room for this many bytes: as much as fits, and a NUL. */
void test_read_file(char *text, size_t bytes, const char *path);
