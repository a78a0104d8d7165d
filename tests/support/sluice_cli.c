/* sluice_cli.c - runs the sluice program and checks what comes of it. */
#include "support/sluice_cli.h"

#include "support/test.h"

#include <fcntl.h>

static void write_corpus(const char *path)
{
    FILE *file = fopen(path, "we");
    cr_assert(file, "cannot write %s", path);
    for (int i = 0; i < 150; i++)
        cr_assert_geq(fprintf(file, "%d bottles, take %d down. ", i % 40, i % 7), 0);
    cr_assert_eq(fclose(file), 0);
}

void sluice_setup(struct workspace *w)
{
    enum { SECONDS_MAX = 100 };

    workspace_create(w, "store/bottles/1");
    write_corpus(w->corpus);
    (void)alarm(SECONDS_MAX);
}

pid_t sluice_start(const char *const *args, FILE **out)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = program_start("sluice", args, (const int[]){-1, ends[1], -1});
    (void)close(ends[1]);
    cr_assert((*out = fdopen(ends[0], "r")));
    return pid;
}

void sluice_run(struct program_result *r, const char *const *args)
{
    program_run(r, "sluice", NULL, args);
}

void sluice_expect_success(struct program_result *r, const char *const *args)
{
    sluice_run(r, args);
    cr_assert_eq(r->exit_code, 0, "%s %s: exit code %d: %s", args[0], args[1] ? args[1] : "",
                 r->exit_code, r->err);
}

json_t *sluice_expect_json(struct program_result *r, const char *const *args)
{
    json_error_t error;
    sluice_expect_success(r, args);
    json_t *o = json_loads(r->out, JSON_REJECT_DUPLICATES, &error);
    cr_assert(o, "%s in: %s", error.text, r->out);
    return o;
}

static void expect_usage_error(const struct usage_error *e, struct program_result *r)
{
    char line[512] = "";
    size_t used = 0;
    for (int i = 0; e->args[i] && used < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, " %s", e->args[i]);
    sluice_run(r, e->args);
    cr_expect_eq(r->exit_code, e->exit_code, "sluice%s: exit code %d: %s", line, r->exit_code,
                 r->err);
    cr_expect(strstr(r->err, e->named), "sluice%s: '%s' is not in: %s", line, e->named, r->err);
    cr_expect(strstr(r->err, e->accepted), "sluice%s: '%s' is not in: %s", line, e->accepted,
              r->err);
    const char *end = strchr(r->err, '\n');
    cr_expect(end && end[1] == '\0', "sluice%s: not one line: %s", line, r->err);
}

void sluice_expect_usage_errors(const struct usage_error *errors, size_t count)
{
    struct program_result *r = malloc(sizeof *r);
    cr_assert(r);
    for (size_t i = 0; i < count; i++)
        expect_usage_error(&errors[i], r);
    free(r);
}

void sluice_make_model(const struct workspace *w)
{
    struct program_result *r = malloc(sizeof *r);
    cr_assert(r);
    sluice_expect_success(r, ARGS("init", "tsa", "--corpus", w->corpus, "--output", w->output,
                                  "--width", "16", "--heads", "2", "--depth", "2", "--ffn-width",
                                  "24", "--context-length", "16"));
    free(r);
}
