/* test_sluicectl_classify.c - `sluicectl classify` and its benchmark as processes, with a real
 * daemon. */
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <fcntl.h>
#include <stdlib.h>

Test(sluicectl_classify, classifies)
{
    static struct ctl_target d;
    ctl_serve_classifiers(&d);
    struct in_process_classifier mood = in_process_open(d.daemon.store, MOOD);
    struct classification v = in_process_classify(&mood, "Hello");
    const struct program_result *r = CTL(&d, "classify", "--json", "Hello", "World?");
    EXPECT_EXIT(r, 0);
    char *second = strchr(r->out, '\n');
    cr_assert(second && strchr(second + 1, '\n'), "two lines, not '%s'", r->out);
    *second = '\0';
    json_t *one = json_from_text(r->out),
           *label = json_array_get(json_object_get(one, "labels"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(one, "text")), "Hello");
    cr_assert_str_eq(json_string_value(json_object_get(label, "label")), mood_labels[v.best]);
    cr_assert_eq((float)json_number_at(label, "score"), v.probs[v.best]);
    cr_assert_float_eq(json_number_at(one, "depth"), v.depth, 1e-4);
    cr_assert_eq(json_integer_at(one, "tokens_cut"), 0);
    json_decref(one);

    test_write_file(d.input, "Hello\n\nWorld?\r\nlast");
    r = CTL(&d, "classify", "--top", "3");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "\tHello\n");
    EXPECT_SAID(r->out, "\tWorld?\n");
    EXPECT_SAID(r->out, "\tlast\n");
    EXPECT_SAID(r->out, "positive");
    r = CTL(&d, "classify", "-");
    EXPECT_SAID(r->out, "\tlast\n");
    r = CTL(&d, "classify", "-", "--replace", "ab");
    EXPECT_SAID(r->out, "\t-\n");

    r = CTL(&d, "classify", "--model", "plain", "ab");
    EXPECT_EXIT(r, 0);
    cr_assert(strstr(r->out, "true") || strstr(r->out, "false"), "%s", r->out);
    in_process_close(&mood);
    daemon_stop(&d.daemon);
}

/* Label, score and text; of a score six digits that count, whatever its size. */
static void expect_row(const char *row, const struct classification *v, const char *text)
{
    char score[32], end[64];
    const char *label = mood_labels[v->best];
    (void)snprintf(score, sizeof score, "%.6g", (double)v->probs[v->best]);
    (void)snprintf(end, sizeof end, "\t%s\t%s\n", score, text);
    cr_assert_eq(strncmp(row, label, strlen(label)), 0, "'%s' does not begin with '%s'", row,
                 label);
    cr_assert_eq(strncmp(row + strlen(label), end, strlen(end)), 0, "'%s' lacks '%s'", row, end);
}

/* What sluicectl says on this terminal, which is then closed. */
static void read_terminal(int terminal, const char *const *args, char *said, size_t room)
{
    char name[64];
    size_t count = 0;
    cr_assert(grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    cr_assert_eq(ptsname_r(terminal, name, sizeof name), 0);
    int out = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    cr_assert_geq(out, 0);
    cr_assert_eq(program_wait(program_start("sluicectl", args, (const int[]){-1, out, -1})), 0);
    (void)close(out);
    for (ssize_t got = 1; got > 0; count += got > 0 ? (size_t)got : 0)
        got = read(terminal, said + count, room - 1 - count);
    said[count] = '\0';
    (void)close(terminal);
}

Test(sluicectl_classify, prints_rows_for_programs)
{
    static struct ctl_target d;
    ctl_serve_classifiers(&d);
    struct in_process_classifier mood = in_process_open(d.daemon.store, MOOD);
    struct classification v = in_process_classify(&mood, "Hello"),
                          w = in_process_classify(&mood, "a\nb");
    const struct program_result *r = CTL(&d, "classify", "Hello", "a\nb", "--replace");
    EXPECT_EXIT(r, 0);
    expect_row(r->out, &v, "Hello");
    expect_row(strchr(r->out, '\n') + 1, &w, "a b");
    cr_assert_str_eq(r->err, "");
    in_process_close(&mood);
    daemon_stop(&d.daemon);
}

Test(sluicectl_classify, prints_a_table_for_people)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        cr_skip_test("no pseudo-terminals here");
    static struct ctl_target d;
    char said[4096];
    ctl_serve_classifiers(&d);
    read_terminal(terminal, ARGS("--url", d.url, "classify", "--top", "2", "Hello"), said,
                  sizeof said);
    EXPECT_SAID(said, "SCORE   DEPTH  TEXT\r\n");
    EXPECT_SAID(said, "  Hello\r\n");
    daemon_stop(&d.daemon);
}

/* Lines of this many bytes and more are classified, each once and in order. */
static void expect_lines_in_order(struct ctl_target *d, int lines, int bytes)
{
    struct sl_buffer in = {0};
    char text[16];
    for (int i = 0; i < lines; i++)
        sl_buffer_printf(&in, "a%cb%cc%0*d\n", 'a' + i % 26, 'A' + i / 26, bytes, 0);
    test_write_file(d->input, in.data);
    const struct program_result *r = CTL(d, "classify", "--replace", "--truncate=model");
    EXPECT_EXIT(r, 0);
    const char *at = r->out;
    for (int i = 0; i < lines; i++) {
        (void)snprintf(text, sizeof text, "\ta%cb%cc0", 'a' + i % 26, 'A' + i / 26);
        cr_assert((at = strstr(at, text)), "line %d is not there, or not in its place", i);
    }
    sl_buffer_release(&in);
}

Test(sluicectl_classify, classifies_more_lines_than_fit_into_a_request)
{
    static struct ctl_target d;
    ctl_serve_classifiers(&d);
    expect_lines_in_order(&d, 150, 1);
    daemon_stop(&d.daemon);
}

Test(sluicectl_classify, classifies_as_many_lines_at_a_time_as_the_daemon_takes)
{
    static const char items[] =
        "sluice_classified_texts_total{model=\"mood\",version=\"4\",outcome=\"ok\"}";
    static struct ctl_target d;
    char text[1200] = "";
    ctl_serve_classifiers_with(&d, "5", "1024");
    expect_lines_in_order(&d, 32, 1);
    expect_lines_in_order(&d, 32, 200);
    cr_assert_eq(metric_value(&d.daemon, items), 64);
    memset(text, 'a', sizeof text - 1);
    const struct program_result *r = CTL(&d, "classify", "--truncate=model", "ab", text);
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->out, "\tab\n");
    EXPECT_SAID(r->err, "at most 1024 are accepted");

    test_write_file(d.input, "a\nab\n\n\xff\nabc\n");
    r = CTL(&d, "classify");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->out, "\tab\n");
    EXPECT_SAID(r->out, "\tabc\n");
    cr_assert_str_eq(r->err, "sluicectl: line 4 is not UTF-8\n");
    daemon_stop(&d.daemon);
}

/* A request is counted after the last byte of its answer, which its client may read before that. */
static double count_requests(const struct ctl_target *d, const char *series)
{
    metric_wait(&d->daemon, "sluice_requests_in_flight", 0);
    return metric_value(&d->daemon, series);
}

/* 64 lines of 26 tokens are more than this daemon holds; 8 are not. */
Test(sluicectl_classify, asks_about_fewer_lines_when_the_daemon_holds_no_more)
{
    static const char requests[] = "http_requests_total{handler=\"/v2/models/{name}/infer\","
                                   "method=\"POST\",status=\"%d\"}";
    static struct ctl_target d;
    char good[128], bad[128];
    daemon_make_store(&d.daemon);
    tiny_classifiers_make(d.daemon.store);
    daemon_serve(&d.daemon, (const char *const[]){"--default-classifier", MOOD,
                                                  "--max-admitted-tokens", "256", NULL});
    ctl_reach(&d);
    expect_lines_in_order(&d, 70, 21);
    (void)snprintf(good, sizeof good, requests, 200);
    (void)snprintf(bad, sizeof bad, requests, 400);
    cr_assert_eq(count_requests(&d, good), 9);
    cr_assert_eq(count_requests(&d, bad), 3);
    const struct program_result *r = CTL(&d, "classify", "--model", "tiny", "a", "b", "c");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "is not a classifier; it completes texts: ");
    cr_assert_str_eq(r->out, "");
    daemon_stop(&d.daemon);
}

Test(sluicectl_classify, tells_why_a_text_cannot_be_classified)
{
    static struct ctl_target d;
    ctl_serve_classifiers(&d);
    const struct program_result *r = CTL(&d, "classify", "--model", "tiny", "a");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "is not a classifier; it completes texts: ");
    r = CTL(&d, "classify", "--model", "none", "a");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'none' does not exist; loaded models: mood, plain, tiny.");
    r = CTL(&d, "classify", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "has 56 tokens");
    EXPECT_SAID(r->err, "(400 context_length_exceeded, ");
    EXPECT_SAID(r->err, ")\nsluicectl: use --truncate=SIDE to cut texts that are too long\n");
    r = CTL(&d, "classify", "--truncate=left",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    EXPECT_EXIT(r, 0);
    cr_assert_str_eq(r->err, "sluicectl: 1 of 1 texts were truncated\n");
    r = CTL(&d, "classify", "--truncate=middle", "a");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "invalid --truncate 'middle': expected left, right or model");
    r = CTL(&d, "classify", "\xE4\xB8\xAD");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "U+4E2D");
    EXPECT_SAID(r->err, "sluicectl: use --replace ");
    r = CTL(&d, "classify", "--replace", "\xE4\xB8\xAD");
    EXPECT_EXIT(r, 0);
    daemon_stop(&d.daemon);
}

/* Every third of these lines is not in the vocabulary. The others come out of one good answer for
 * each request's worth of lines, and not of one for each line. */
Test(sluicectl_classify, what_cannot_be_classified_does_not_keep_the_rest_from_it)
{
    static const char answers[] = "http_requests_total{handler=\"/v2/models/{name}/infer\","
                                  "method=\"POST\",status=\"200\"}";
    static struct ctl_target d;
    struct sl_buffer in = {0};
    char line[64];
    ctl_serve_classifiers(&d);
    for (int i = 1; i <= 100; i++)
        sl_buffer_printf(&in, i % 3 == 0 ? "%%\n" : "line%c%c\n", 'a' + i / 10, 'a' + i % 10);
    test_write_file(d.input, in.data);
    const struct program_result *r = CTL(&d, "classify");
    EXPECT_EXIT(r, 2);
    const char *out = r->out, *err = r->err;
    for (int i = 1; i <= 100; i++) {
        const char **at = i % 3 == 0 ? &err : &out;
        if (i % 3 == 0)
            (void)snprintf(line, sizeof line,
                           "sluicectl: line %d cannot be tokenized by 'mood@4': ", i);
        else
            (void)snprintf(line, sizeof line, "\tline%c%c\n", 'a' + i / 10, 'a' + i % 10);
        cr_assert((*at = strstr(*at, line)), "'%s' is not there, or not in its place", line);
    }
    cr_assert(!strstr(r->err, "Set \"unknown_characters\""), "%s", r->err);
    cr_assert_eq(count_requests(&d, answers), 2, "64 lines at a time");
    sl_buffer_release(&in);

    r = CTL(&d, "classify", "ab", "", "abc");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->out, "\tab\n");
    EXPECT_SAID(r->out, "\tabc\n");
    EXPECT_SAID(r->err, "sluicectl: text 2 is empty: it has no tokens. (400");
    daemon_stop(&d.daemon);
}

/* What is passed over is not kept: such a line may be longer than there is memory. */
Test(sluicectl_classify, a_line_of_any_length_does_not_keep_the_rest_from_it)
{
    enum { LONG_BYTES = (TEST_SANITIZED ? 3 : 300) << 20 };

    static struct ctl_target d;
    char path[PATH_MAX], little[PATH_MAX], script[PATH_MAX + 64];
    ctl_serve_classifiers(&d);
    FILE *file = fopen(d.input, "we");
    cr_assert(file);
    cr_assert_eq(ftruncate(fileno(file), LONG_BYTES), 0); /* zeros that take no place */
    cr_assert_eq(fseek(file, LONG_BYTES, SEEK_SET), 0);
    cr_assert_geq(fputs("\nab\r\nabc", file), 0);
    cr_assert_eq(fclose(file), 0);
    (void)snprintf(script, sizeof script, "#!/bin/sh\n%s\nexec '%s' \"$@\"\n",
                   TEST_SANITIZED ? "" : "ulimit -v 300000", program_path(path, "sluicectl"));
    test_write_file(test_path(little, d.daemon.directory, "little"), script);
    cr_assert_eq(chmod(little, 0700), 0);
    const struct program_result *r = &d.result;
    program_run(&d.result, little, d.input, ARGS("--url", d.url, "classify"));
    EXPECT_EXIT(r, 2);
    cr_assert_str_eq(r->err, "sluicectl: line 1 is longer than 1 MiB\n");
    EXPECT_SAID(r->out, "\tab\n");
    EXPECT_SAID(r->out, "\tabc\n");
    daemon_stop(&d.daemon);
}

Test(sluicectl_classify, benchmarks_classification)
{
    static struct ctl_target d;
    char file[PATH_MAX], missing[PATH_MAX];
    ctl_serve_classifiers(&d);
    test_write_file(test_path(file, d.daemon.directory, "texts"), "Hello\nWorld?\n\nab\n");
    const struct program_result *r = CTL(&d, "bench", "--classify", file, "--connections", "8",
                                         "--texts", "3", "--requests", "40", "--json");
    EXPECT_EXIT(r, 0);
    json_t *bench = json_from_text(r->out);
    cr_assert_eq(json_integer_at(bench, "requests"), 40);
    cr_assert_eq(json_integer_at(bench, "texts"), 120);
    cr_assert_eq(json_integer_at(bench, "tokens"), 40L * (5 + 6 + 2));
    cr_assert_eq(json_integer_at(bench, "failed"), 0);
    cr_assert_gt(json_number_at(bench, "texts_per_second"), 0);
    cr_assert_gt(json_number_at(bench, "layer_ops_skipped"), 0);
    cr_assert_gt(json_number_at(json_object_get(bench, "latency_ms"), "p99"), 0);
    json_decref(bench);
    cr_assert_eq(metric_value(&d.daemon,
                              "sluice_classified_texts_total{model=\"mood\",version=\"4\","
                              "outcome=\"ok\"}"),
                 (40 + 8) * 3, "with the warm-up");
    r = CTL(&d, "bench", "--classify", file, "--connections", "2", "--seconds", "0.2");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, " texts/s, ");
    r = CTL(&d, "bench", "--classify", test_path(missing, d.daemon.directory, "nothing"));
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "nothing");
    test_write_file(file, "Hello\n \n");
    r = CTL(&d, "bench", "--model", "plain", "--classify", file, "--texts", "2");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "no tokens");
    EXPECT_SAID(r->err, "if it is about a text, `sluicectl classify - < FILE` reports the lines");
    daemon_stop(&d.daemon);
}
