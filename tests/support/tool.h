/* tool.h - the sluice program as a child of the tests: words in, text and exit status out. */
#pragma once

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define WORDS(...)   ((const char *const[]){__VA_ARGS__, NULL})

/* Where the programs of this build are; the build says it. */
#ifndef SL_BUILD_DIR
#define SL_BUILD_DIR "."
#endif

enum { PIPE_BYTES = 4096 }; /* of a slow reader's pipe */

static const char tool_path[] = SL_BUILD_DIR "/sluice";

static char top[PATH_MAX], corpus[PATH_MAX], run_path[PATH_MAX], out[PATH_MAX], errors[PATH_MAX];

static inline void write_corpus(void)
{
    FILE *file = fopen(corpus, "we");
    cr_assert(file, "cannot write %s", corpus);
    for (int i = 0; i < 150; i++)
        cr_assert_geq(fprintf(file, "%d bottles, take %d down. ", i % 40, i % 7), 0);
    cr_assert_eq(fclose(file), 0);
}

static inline void setup(void)
{
    enum { SECONDS_MAX = 100 };

    test_directory_create(top);
    (void)test_path(corpus, top, "corpus.txt");
    (void)test_path(run_path, top, "run");
    (void)test_path(out, top, "store/bottles/1");
    (void)test_path(errors, top, "stderr");
    write_corpus();
    (void)alarm(SECONDS_MAX); /* a child that hangs must not hang the tests */
}

static inline void teardown(void)
{
    test_directory_remove(top);
}

/* -- running it ------------------------------------------------------------------------------- */

/* Never returns. A child of ours does not outlive us. */
static inline void become(const char *const *words)
{
    char *argv[64] = {(char *)(uintptr_t)tool_path};
    int count = 1;
    for (; *words && count < 63; words++)
        argv[count++] = (char *)(uintptr_t)*words;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execv(tool_path, argv);
    _exit(126);
}

struct child {
    pid_t pid;
    FILE *out;
    int lines, evaluated; /* read so far; the last step whose evaluation was among them, or 0 */
};

static inline struct child start(const char *const *words)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        int file = open(errors, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(file, STDERR_FILENO);
        become(words);
    }
    (void)close(ends[1]);
    struct child c = {.pid = pid, .out = fdopen(ends[0], "r")};
    cr_assert(c.out);
    return c;
}

/* The exit status, or -1 when a signal ended it. */
static inline int status_of(pid_t pid)
{
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct result {
    int status;
    char out[1 << 16], err[1 << 12];
};

static inline void read_text(char *text, size_t bytes, FILE *file)
{
    cr_assert(file);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    cr_assert_eq(fclose(file), 0);
}

/* Runs it to its end. */
static inline void run(struct result *r, const char *const *words)
{
    struct child c = start(words);
    read_text(r->out, sizeof r->out, c.out);
    r->status = status_of(c.pid);
    read_text(r->err, sizeof r->err, fopen(errors, "re"));
}

static inline void expect_success(struct result *r, const char *const *words)
{
    run(r, words);
    cr_assert_eq(r->status, 0, "%s %s: status %d: %s", words[0], words[1] ? words[1] : "",
                 r->status, r->err);
}

struct mistake {
    const char *words[12];
    int status;
    const char *named, *accepted; /* both must be in the message */
};

static inline void expect_message(const struct mistake *m)
{
    static struct result r;
    char line[512] = "";
    size_t used = 0;
    for (int i = 0; m->words[i] && used < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, " %s", m->words[i]);
    run(&r, m->words);
    cr_expect_eq(r.status, m->status, "sluice%s: status %d: %s", line, r.status, r.err);
    cr_expect(strstr(r.err, m->named), "sluice%s: '%s' is not in: %s", line, m->named, r.err);
    cr_expect(strstr(r.err, m->accepted), "sluice%s: '%s' is not in: %s", line, m->accepted, r.err);
    const char *end = strchr(r.err, '\n');
    cr_expect(end && end[1] == '\0', "sluice%s: not one line: %s", line, r.err);
}

static inline void expect_messages(const struct mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_message(&mistakes[i]);
}

static inline json_t *expect_json(struct result *r, const char *const *words)
{
    json_error_t error;
    expect_success(r, words);
    json_t *o = json_loads(r->out, JSON_REJECT_DUPLICATES, &error);
    cr_assert(o, "%s in: %s", error.text, r->out);
    return o;
}

static inline double number_in(const json_t *o, const char *name)
{
    cr_assert(json_is_number(json_object_get(o, name)), "no number %s", name);
    return json_number_value(json_object_get(o, name));
}

/* A model to make mistakes with. */
static inline void make_model(void)
{
    static struct result r;
    expect_success(&r, WORDS("init", "tsa", "--corpus", corpus, "--out", out, "--width", "16",
                             "--heads", "2", "--depth", "2", "--hidden", "24", "--context", "16"));
}
