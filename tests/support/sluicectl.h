/* sluicectl.h - sluicectl as a child of the tests: words in, what it said and its exit code out. */
#pragma once

#include "support/daemon.h"
#include "support/tiny_classifier.h"

#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdarg.h>

enum { WORDS_MAX = 24, OUTPUT_MAX = 1 << 18 };

/* What a program said, and how it ended. */
struct result {
    int exit_code; /* -1: by a signal */
    char out[OUTPUT_MAX], err[OUTPUT_MAX];
};

static inline void read_whole(const char *path, char *to)
{
    FILE *file = fopen(path, "re");
    cr_assert(file, "cannot read %s", path);
    size_t count = fread(to, 1, OUTPUT_MAX - 1, file);
    to[count] = '\0';
    (void)fclose(file);
}

/* Starts sluicectl with its input and errors in files of the directory, its output at `out`. */
static inline pid_t spawn(const char *directory, const char *out, const char *const *words)
{
    const char *file = program("SLUICECTL", SL_BUILD_DIR "/sluicectl");
    char path[2][PATH_MAX];
    posix_spawn_file_actions_t actions;
    pid_t pid;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 0, test_path(path[0], directory, "in"),
                                           O_RDONLY | O_CREAT, 0600);
    (void)posix_spawn_file_actions_addopen(&actions, 1, out,
                                           O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0600);
    (void)posix_spawn_file_actions_addopen(&actions, 2, test_path(path[1], directory, "err"),
                                           O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char *const *argv = (char *const *)(uintptr_t)words;
    int failed = posix_spawn(&pid, file, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    cr_assert_eq(failed, 0, "cannot start %s: %s", file, strerrordesc_np(failed));
    return pid;
}

static inline struct result *run(const char *directory, const char *const *words)
{
    static struct result result; /* one at a time */
    char path[PATH_MAX];
    (void)test_path(path, directory, "out");
    result.exit_code = daemon_wait(spawn(directory, path, words));
    read_whole(path, result.out);
    read_whole(test_path(path, directory, "err"), result.err);
    return &result;
}

/* A daemon with the tiny model, and how to reach it. */
struct served {
    struct daemon daemon;
    const char *directory;
    char url[64];
};

static inline void served_reach(struct served *d)
{
    d->directory = d->daemon.directory;
    (void)snprintf(d->url, sizeof d->url, "http://127.0.0.1:%d", d->daemon.port);
}

static inline void serve(struct served *d)
{
    DAEMON_START(&d->daemon, "--slots", "4");
    served_reach(d);
}

/* Runs sluicectl with these words, NULL at the end, on the daemon at url. */
static inline struct result *ctl(const char *directory, const char *url, ...)
{
    const char *words[WORDS_MAX] = {"sluicectl", "--url", url};
    int count = 3;
    va_list list;
    va_start(list, url);
    while ((words[count] = va_arg(list, const char *)))
        cr_assert_lt(++count, WORDS_MAX);
    va_end(list);
    return run(directory, words);
}

#define CTL(d, ...) ctl((d)->directory, (d)->url, __VA_ARGS__, NULL)

/* What a program said must contain this. */
#define EXPECT_SAID(text, part) cr_assert(strstr((text), (part)), "'%s' lacks '%s'", (text), (part))

#define EXPECT_EXIT(result, code)                                                                  \
    cr_assert_eq((result)->exit_code, (code), "left with %d, not %d: %s", (result)->exit_code,     \
                 (code), (result)->err)

/* With classifiers besides; it takes requests of so many texts and bytes. */
static inline void serve_classifiers_of(struct served *d, const char *texts, const char *bytes)
{
    daemon_make_store(&d->daemon);
    tiny_classifiers_make(d->daemon.store);
    daemon_serve(&d->daemon, (const char *const[]){"--default-classifier", MOOD, "--classify-texts",
                                                   texts, "--body-bytes-max", bytes, NULL});
    served_reach(d);
}

static inline void serve_classifiers(struct served *d)
{
    serve_classifiers_of(d, "256", "2097152");
}

/* ---- what it said as JSON -------------------------------------------------------------------- */

static inline json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    cr_assert(value, "%s: %s", error.text, text);
    return value;
}

static inline int64_t whole(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_integer(value), "'%s' is no whole number", name);
    return json_integer_value(value);
}

static inline double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_number(value), "'%s' is no number", name);
    return json_number_value(value);
}
