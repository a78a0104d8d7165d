/* test_translation_http.c - a model that translates, served: POST /v1/completions and
 * `sluicectl translate` give what `sluice translate` gives. */
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"

#include <string.h>

static struct workspace w;
static struct ctl_target t;
static struct program_result r;
static char model[PATH_MAX], pairs[PATH_MAX];

static void start(void)
{
    sluice_setup(&w);
    daemon_make_store(&t.daemon);
    test_write_file(test_path(pairs, w.top, "pairs.tsv"),
                    "one dog\tein Hund\none cat\teine Katze\ntwo dogs\tzwei Hunde\n"
                    "two cats, two dogs\tzwei Katzen, zwei Hunde\nthree dogs\tdrei Hunde\n"
                    "three cats\tdrei Katzen\n");
    sluice_expect_success(
        &r, ARGS("train", "vanilla", "--task", "translation", "--data", pairs, "--validation",
                 pairs, "--cased", "--vocab-size", "100", "--width", "32", "--depth", "1",
                 "--heads", "2", "--ffn-width", "64", "--context-length", "16", "--dropout", "0",
                 "--batch-size", "6", "--learning-rate", "0.01", "--epochs", "120", "--run-dir",
                 w.run, "--output", test_path(model, t.daemon.store, "german/1")));
    daemon_serve(&t.daemon, (const char *const[]){NULL});
    ctl_reach(&t);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
    workspace_remove(&w);
}

TestSuite(translation_http, .init = start, .fini = stop);

#define GERMAN(rest) "{\"model\":\"german\"," rest "}"

static void expect_error(const char *body, int status, const char *part)
{
    struct http_response answer = http_request(&t.daemon, "POST", "/v1/completions", body);
    cr_expect_eq(answer.status, status, "%s: %ld %s", body, answer.status, answer.body.data);
    EXPECT_SAID(answer.body.data, part);
    http_response_release(&answer);
}

static json_t *translate(const char *body)
{
    return json_request(&t.daemon, "POST", "/v1/completions", body);
}

Test(translation_http, prompts_are_translated_in_ragged_batches)
{
    static const char *const expected[] = {"zwei Katzen, zwei Hunde", "", "ein Hund",
                                           "drei Katzen"};
    json_t *root =
        translate(GERMAN("\"prompt\":[\"two cats, two dogs\",\"\",\"one dog\",\"three cats\"]"));
    for (int i = 0; i < 4; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "choices/%d/text", i);
        cr_expect_str_eq(json_string_at(root, path), expected[i]);
        (void)snprintf(path, sizeof path, "choices/%d/finish_reason", i);
        cr_expect_str_eq(json_string_at(root, path), "stop");
    }
    json_decref(root);
    root = translate(GERMAN("\"prompt\":\"two cats, two dogs\",\"max_tokens\":2"));
    cr_expect_str_eq(json_string_at(root, "choices/0/finish_reason"), "length");
    json_decref(root);
}

Test(translation_http, streams_end_with_the_translation)
{
    struct http_response answer =
        http_request(&t.daemon, "POST", "/v1/completions",
                     GERMAN("\"prompt\":\"two cats, two dogs\",\"stream\":true"));
    cr_expect_eq(answer.status, 200);
    EXPECT_SAID(answer.body.data, "\"text\":\"zwei Katzen, zwei Hunde\"");
    EXPECT_SAID(answer.body.data, "data: [DONE]");
    http_response_release(&answer);
}

Test(translation_http, long_texts_are_rejected_or_truncated)
{
    expect_error(GERMAN("\"prompt\":\"one one one one one one one one one one one one one one one "
                        "one one one one one\""),
                 400, "to use the first 16");
    json_t *root = translate(
        GERMAN("\"truncate\":true,\"prompt\":\"one one one one one one one one one one one one one "
               "one one one one one one one\""));
    cr_expect_eq(json_integer_at(root, "usage/prompt_tokens"), 16);
    json_decref(root);
}

Test(translation_http, what_translations_do_not_have_is_named)
{
    expect_error(GERMAN("\"prompt\":\"one dog\",\"echo\":true"), 400, "echo");
    expect_error(GERMAN("\"prompt\":\"one dog\",\"logprobs\":1"), 400, "logprobs");
    struct http_response answer =
        http_request(&t.daemon, "POST", "/v1/chat/completions",
                     GERMAN("\"messages\":[{\"role\":\"user\",\"content\":\"one dog\"}]"));
    cr_expect_eq(answer.status, 400, "%s", answer.body.data);
    http_response_release(&answer);
    answer = http_request(&t.daemon, "POST", "/models/german/predict", "{\"inputs\":\"one dog\"}");
    cr_expect_eq(answer.status / 100, 4, "%s", answer.body.data);
    EXPECT_SAID(answer.body.data, "translate");
    http_response_release(&answer);
}

Test(translation_http, the_model_says_what_it_does)
{
    struct http_response answer = http_request(&t.daemon, "GET", "/v1/models/german", NULL);
    EXPECT_SAID(answer.body.data, "\"task\":\"translation\"");
    EXPECT_SAID(answer.body.data, "\"abilities\":[\"translation\"]");
    http_response_release(&answer);
    answer = http_request(&t.daemon, "GET", "/info?model=german", NULL);
    EXPECT_SAID(answer.body.data, "\"model_type\":{\"translation\":{}}");
    http_response_release(&answer);
}

Test(translation_http, terminals_translate_lines)
{
    const struct program_result *said = CTL(&t, "translate", "two cats, two dogs", "one dog");
    cr_expect_eq(said->exit_code, 0, "%s", said->err);
    cr_expect_str_eq(said->out, "zwei Katzen, zwei Hunde\nein Hund\n");
    said = CTL(&t, "translate", "--truncate", "left", "one dog");
    cr_expect_eq(said->exit_code, 2);
    EXPECT_SAID(said->err, "expected right or model");
    said = CTL(&t, "translate", "--json", "one dog");
    cr_expect_str_eq(said->out, "{\"text\":\"one dog\",\"translation\":\"ein Hund\"}\n");
}
