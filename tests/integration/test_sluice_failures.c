/* test_sluice_failures.c - with --json a command that fails says why in its last line, as data. */
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/test.h"

static struct workspace dirs;

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_failures, .init = setup, .fini = teardown);

/* The last line that it prints. */
static json_t *failure_of(struct program_result *r, const char *const *words)
{
    sluice_run(r, words);
    EXPECT_EXIT(r, 2);
    char *end = strrchr(r->out, '\n');
    cr_assert(end);
    *end = '\0';
    const char *before = strrchr(r->out, '\n');
    json_t *o = json_loads(before ? before + 1 : r->out, 0, NULL);
    cr_assert_str_eq(json_string_at(o, "event"), "failed");
    cr_assert_str_eq(json_string_at(o, "code"), "bad_input");
    EXPECT_SAID(r->err, json_string_at(o, "message"));
    return o;
}

Test(sluice_failures, a_failure_is_data)
{
    static struct program_result r;
    char path[PATH_MAX];
    test_write_file(test_path(path, dirs.top, "texts.tsv"), "label\ttext\na\tx\nb\ty\tz\n");
    json_t *o = failure_of(&r, ARGS("train", "encoder", "--data", path, "--run-dir", dirs.run,
                                    "--output", dirs.output, "--json"));
    cr_expect_str_eq(json_string_at(o, "path"), path);
    cr_expect_eq(json_integer_at(o, "line"), 3);
    EXPECT_SAID(json_string_at(o, "reason"), "3 fields: expected 2");
    json_decref(o);
    o = failure_of(&r, ARGS("train", "--data", path, "--output", dirs.output, "--json"));
    cr_expect_eq(json_integer_at(o, "line"), 3);
    json_decref(o);
    o = failure_of(&r, ARGS("eval", dirs.output, "--json", "--colour", "7"));
    cr_expect_null(json_at(o, "path"));
    json_decref(o);
}
