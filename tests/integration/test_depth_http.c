/* test_depth_http.c - how deep a classifier goes for each token, in every API and the terminal. */
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/sluicectl_cli.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

static struct ctl_target t;

static void start(void)
{
    daemon_make_store(&t.daemon);
    tiny_classifiers_make(t.daemon.store);
    daemon_serve(&t.daemon, (const char *const[]){"--default-classifier", MOOD, NULL});
    ctl_reach(&t);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(depth_http, .init = start, .fini = stop);

#define TEXT  "lovely film ab"
#define DEPTH "\"sluice\":{\"depth\":\"tokens\"}"

static json_t *post(const char *path, const char *body)
{
    return tei_post(&t.daemon, path, body);
}

static void expect_error(const char *path, const char *body, const char *part)
{
    struct http_response answer = http_request(&t.daemon, "POST", path, body);
    cr_expect(answer.status == 400 || answer.status == 422, "%s: %s", body, answer.body.data);
    cr_expect(strstr(answer.body.data, part), "'%s' is not in %s", part, answer.body.data);
    http_response_release(&answer);
}

/* Tokens are parts of the text, in order; as many gates are open as layers ran. */
static void expect_tokens(const json_t *tokens)
{
    int64_t last = 0;
    cr_assert_gt(json_array_size(tokens), 2);
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *token = json_array_get(tokens, i), *gates = json_at(token, "gates");
        const char *own = json_string_at(token, "token");
        const int64_t start = json_integer_at(token, "start");
        size_t open = 0;
        cr_assert_geq(start, last);
        cr_assert_eq(memcmp(&TEXT[start], own, strlen(own)), 0, "%s", own);
        last = json_integer_at(token, "stop");
        cr_assert_eq(last - start, (int64_t)strlen(own));
        for (size_t g = 0; g < json_array_size(gates); g++)
            open += json_number_value(json_array_get(gates, g)) != 0.0;
        cr_assert_eq(json_array_size(gates), 4);
        cr_assert_eq((int64_t)open, json_integer_at(token, "depth"), "%s", own);
    }
}

Test(depth_http, every_api_has_the_same)
{
    json_t *tei = post("/predict", "{\"inputs\":\"" TEXT "\"," DEPTH "}");
    const json_t *tokens = json_at(tei, "0/tokens");
    expect_tokens(tokens);
    cr_assert_not(json_at(tei, "1/tokens"), "only of the most likely label");
    json_t *batch = post("/predict", "{\"inputs\":[[\"ab\"],[\"" TEXT "\"],[\"a\"]]," DEPTH "}");
    cr_expect(json_equal(json_at(batch, "1/0/tokens"), tokens), "alone and in a batch");
    json_t *hf = post("/hf/" MOOD, "{\"inputs\":\"" TEXT "\"," DEPTH "}");
    cr_expect(json_equal(json_at(hf, "0/0/tokens"), tokens));
    json_t *oip = post("/v2/models/" MOOD "/infer",
                       "{\"outputs\":[{\"name\":\"tokens\"}],\"inputs\":[{\"name\":\"text\","
                       "\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"" TEXT "\"]}]}");
    json_t *inside = json_from_text(json_string_at(oip, "outputs/0/data/0"));
    cr_expect(json_equal(inside, tokens));
    json_t *decision = post("/v1/decisions", "{\"model\":\"" MOOD "\",\"input\":\"" TEXT "\","
                                             "\"questions\":[{\"type\":\"predicate\","
                                             "\"instructions\":\"positive\"}]," DEPTH "}");
    cr_expect(json_equal(json_at(decision, "sluice/tokens"), tokens));
    cr_expect_null(json_at(decision, "sluice/words"));
    json_decref(tei);
    json_decref(batch);
    json_decref(hf);
    json_decref(oip);
    json_decref(inside);
    json_decref(decision);
}

/* All layers of all tokens, those around the text included, are the usage's. */
Test(depth_http, a_model_without_gates_runs_all_layers)
{
    json_t *plain = post("/models/" PLAIN "/predict", "{\"inputs\":\"" TEXT "\"," DEPTH "}");
    const json_t *tokens = json_at(plain, "0/tokens");
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        cr_expect_eq(json_integer_at(json_array_get(tokens, i), "depth"), 4);
        cr_expect_null(json_at(json_array_get(tokens, i), "gates"));
    }
    cr_expect_gt(json_array_size(tokens), 0);
    json_decref(plain);
}

Test(depth_http, what_has_no_depths_is_refused)
{
    expect_error("/predict", "{\"inputs\":\"a\",\"sluice\":{\"depth\":\"layers\"}}",
                 "sluice.depth");
    expect_error("/v2/models/" MOOD "/infer",
                 "{\"outputs\":[{\"name\":\"tokens\"}],\"inputs\":[{\"name\":\"text\","
                 "\"datatype\":\"BYTES\",\"shape\":[1,2],\"data\":[[\"a\",\"b\"]]}]}",
                 "pair");
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"inputs\":[");
    for (int i = 0; i < 2000; i++)
        sl_buffer_printf(&body, "%s[\"abcdefghijabcdefghijabcdefghij\"]", i > 0 ? "," : "");
    sl_buffer_append_string(&body, "],\"truncate\":true," DEPTH "}");
    expect_error("/predict", body.data, "with 'sluice.depth' at most 52428 are accepted");
    sl_buffer_release(&body);
}

Test(depth_http, the_terminal_shows_them)
{
    const struct program_result *r = CTL(&t, "classify", "--model", MOOD, "--depth", TEXT);
    EXPECT_EXIT(r, 0);
    cr_expect(strstr(r->out, "\t" TEXT "\t"), "%s", r->out);
    const char *cell = strrchr(r->out, '\t');
    cr_expect(cell && strchr(cell, ':'), "%s", r->out);
    r = CTL(&t, "classify", "--model", MOOD, "--depth", "--json", TEXT);
    EXPECT_EXIT(r, 0);
    json_t *one = json_from_text(r->out);
    expect_tokens(json_at(one, "tokens"));
    json_decref(one);
}
