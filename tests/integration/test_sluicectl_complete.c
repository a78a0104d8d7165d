/* test_sluicectl_complete.c - `sluicectl complete` as a process, with a real daemon. */
#include "support/daemon.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"
#include "support/tiny_store.h"

Test(sluicectl_complete, completes)
{
    static struct ctl_target d;
    char text[128] = "";
    ctl_serve(&d);
    const struct program_result *r =
        CTL(&d, "complete", "abc", "--max-tokens", "20", "--seed", "-5");
    EXPECT_EXIT(r, 0);
    cr_assert_lt(strlen(r->out), sizeof text);
    memcpy(text, r->out, strlen(r->out));
    cr_assert_geq(strlen(text), 20, "20 tokens are 20 characters: '%s'", text);

    r = CTL(&d, "complete", "--max-tokens=20", "--seed=-5", "--stream", "--usage", "--", "abc");
    EXPECT_EXIT(r, 0);
    cr_assert_str_eq(r->out, text, "the stream says '%s', the whole answer '%s'", r->out, text);
    EXPECT_SAID(r->err, "[3 prompt tokens, 20 completion tokens; ");

    test_write_file(d.input, "abc");
    r = CTL(&d, "complete", "--max-tokens", "20", "--seed", "-5");
    cr_assert_str_eq(r->out, text, "from standard input '%s', not '%s'", r->out, text);
    r = CTL(&d, "complete", "-", "--max-tokens", "20", "--seed", "-5");
    cr_assert_str_eq(r->out, text, "of `-` came '%s', not '%s'", r->out, text);

    r = CTL(&d, "complete", "abc", "--max-tokens", "20", "--seed", "-6");
    cr_assert_str_neq(r->out, text, "another seed, another text");

    char stop[2] = {text[10 + strcspn(text + 10, TINY_TEXT)], '\0'};
    r = CTL(&d, "complete", "abc", "--max-tokens", "20", "--seed", "-5", "--stop", stop);
    cr_assert_eq(strlen(r->out), strcspn(text, stop), "'%s' does not end before '%s' of '%s'",
                 r->out, stop, text);
    daemon_stop(&d.daemon);
}

/* A line of each token: layers, a tab, and what it says; together they are the text. */
Test(sluicectl_complete, shows_depths)
{
    static struct ctl_target d;
    char text[128] = "";
    ctl_serve(&d);
    const struct program_result *r = CTL(&d, "complete", "abc", "--max-tokens", "5", "--seed", "3");
    cr_assert_lt(strlen(r->out), sizeof text);
    memcpy(text, r->out, strlen(r->out));
    r = CTL(&d, "complete", "abc", "--max-tokens", "5", "--seed", "3", "--depth");
    EXPECT_EXIT(r, 0);
    size_t at = 0;
    int lines = 0;
    for (const char *line = r->out; *line; line = strchr(line, '\n') + 1, lines++) {
        const char *tab = line + strspn(line, "0123456789");
        cr_assert(tab > line && *tab == '\t', "%s", r->out);
        const size_t bytes = strcspn(tab + 1, "\n");
        cr_assert_eq(strncmp(text + at, tab + 1, bytes), 0, "'%s' is not '%s'", r->out, text);
        at += bytes;
    }
    cr_assert_eq(at, strlen(text));
    cr_assert_eq(lines, 5);
    daemon_stop(&d.daemon);
}

Test(sluicectl_complete, completes_as_json)
{
    static struct ctl_target d;
    ctl_serve(&d);
    const struct program_result *r = CTL(&d, "complete", "abc", "--max-tokens", "7", "--json");
    EXPECT_EXIT(r, 0);
    json_t *answer = json_from_text(r->out);
    cr_assert_eq(json_integer_at(json_object_get(answer, "usage"), "completion_tokens"), 7);
    json_decref(answer);

    r = CTL(&d, "complete", "abc", "--max-tokens", "7", "--json", "--stream");
    EXPECT_EXIT(r, 0);
    int64_t tokens = 0;
    char line[4096];
    for (const char *at = r->out; *at; at += strcspn(at, "\n") + 1) {
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        answer = json_from_text(line);
        const json_t *usage = json_object_get(answer, "usage");
        tokens += json_is_object(usage) ? json_integer_at(usage, "completion_tokens") : 0;
        json_decref(answer);
    }
    cr_assert_eq(tokens, 7, "the events of a stream: %s", r->out);
    daemon_stop(&d.daemon);
}

Test(sluicectl_complete, a_stream_that_fails_fails_as_json_too)
{
    static struct ctl_target d = {0};
    DAEMON_START(&d.daemon, "--max-sequences", "4", "--request-timeout", "1");
    ctl_reach(&d);
    const struct program_result *r =
        CTL(&d, "complete", "abc", "--max-tokens", "1000000", "--json", "--stream");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "deadline_exceeded");
    daemon_stop(&d.daemon);
}

Test(sluicectl_complete, completes_empty_prompts_and_unknown_characters)
{
    static struct ctl_target d;
    ctl_serve(&d);
    const struct program_result *r = CTL(&d, "complete", "--max-tokens", "3", "--usage");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->err, ", 3 completion tokens");
    r = CTL(&d, "complete", "", "--max-tokens", "3", "--usage");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->err, ", 3 completion tokens");
    r = CTL(&d, "complete", "five %", "--max-tokens", "3", "--replace", "--usage");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->err, "[6 prompt tokens, 3 completion tokens");
    daemon_stop(&d.daemon);
}
