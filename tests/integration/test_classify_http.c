/* test_classify_http.c - what sluiced answers about texts as Text Embeddings Inference and Hugging
 * Face ask it: every shape, every mistake, from outside. */
#include "base/buffer.h"
#include "core/limits.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/raw_socket.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "tokenizer/tokenizer_trainer.h"

#include <math.h>

static struct daemon d;

static void start_with(const char *const *options)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    daemon_serve(&d, options);
}

static void start(void)
{
    start_with((const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(classify_http, .init = start, .fini = stop);

/* ---- helpers -------------------------------------------------------------------------------- */

static json_t *posted(const char *path, const char *body)
{
    return tei_post(&d, path, body);
}

/* The list holds every class with its score, the highest first. */
static void expect_scores(const json_t *list, const float *values, int classes,
                          const char *const *labels)
{
    cr_assert_eq(json_array_size(list), (size_t)classes);
    float last = INFINITY;
    int seen = 0;
    for (size_t i = 0; i < (size_t)classes; i++) {
        const json_t *one = json_array_get(list, i);
        float score = (float)json_number_at(one, "score");
        cr_assert_eq(json_object_size(one), 2);
        cr_assert_leq(score, last);
        last = score;
        for (int k = 0; k < classes; k++)
            if (strcmp(json_string_at(one, "label"), labels[k]) == 0) {
                cr_assert_eq(score, values[k], "%s: %.9g, not %.9g", labels[k], (double)score,
                             (double)values[k]);
                seen |= 1 << k;
            }
    }
    cr_assert_eq(seen, (1 << classes) - 1);
}

static void expect_mood(const json_t *list, const struct in_process_classifier *oracle,
                        const char *text)
{
    struct classification v = in_process_classify(oracle, text);
    expect_scores(list, v.probs, v.classes, mood_labels);
}

/* ---- shapes --------------------------------------------------------------------------------- */

Test(classify_http, one_text_stands_alone_and_an_array_in_an_array)
{
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    static const char *const singles[] = {
        "{\"inputs\":\"Hello\"}",
        "{\"inputs\":[\"Hello\"]}",
        "{\"inputs\":\"Hello\",\"raw_scores\":false,\"truncate\":null}",
        "{\"inputs\":\"Hello\",\"truncation_direction\":\"Right\"}",
    };
    for (size_t i = 0; i < sizeof singles / sizeof singles[0]; i++) {
        json_t *root = posted("/predict", singles[i]);
        expect_mood(root, &mood, "Hello");
        json_decref(root);
    }
    json_t *root = posted("/predict", "{\"inputs\":[[\"Hello\"],[\"World?\"]]}");
    cr_assert_eq(json_array_size(root), 2);
    expect_mood(json_at(root, "0"), &mood, "Hello");
    expect_mood(json_at(root, "1"), &mood, "World?");
    json_decref(root);
    root = posted("/predict", "{\"inputs\":[[\"Hello\"]]}");
    cr_assert_eq(json_array_size(root), 1);
    expect_mood(json_at(root, "0"), &mood, "Hello");
    json_decref(root);
    in_process_close(&mood);
}

Test(classify_http, raw_scores_are_the_logits)
{
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    struct classification v = in_process_classify(&mood, "Hello");
    json_t *root = posted("/predict", "{\"inputs\":\"Hello\",\"raw_scores\":true}");
    expect_scores(root, v.logits, v.classes, mood_labels);
    json_decref(root);
    in_process_close(&mood);
}

Test(classify_http, every_way_to_name_a_classifier)
{
    static const struct {
        const char *path, *header, *model;
    } cases[] = {
        {"/predict", NULL, MOOD},
        {"/", NULL, MOOD},
        {"/invocations", NULL, MOOD},
        {"/models/mood/predict", NULL, MOOD},
        {"/models/m%6Fod@4/predict", NULL, MOOD},
        {"/models/plain/predict", NULL, PLAIN},
        {"/predict?model=plain", NULL, PLAIN},
        {"/predict?model=pl%61in%404", NULL, PLAIN},
        {"/predict", "X-Model: plain", PLAIN},
        {"/predict", "X-Model: \t plain \t ", PLAIN},
        {"/predict?model=mood", "X-Model: plain", MOOD},
        {"/models/plain/predict", "X-Model: mood", PLAIN},
        {"/models/plain/predict?model=%zz", "X-Model: 100%", PLAIN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char id[32];
        struct curl_slist *headers =
            cases[i].header ? curl_slist_append(NULL, cases[i].header) : NULL;
        struct http_response answer =
            http_request_with(&d, "POST", cases[i].path, "{\"inputs\":\"hello\"}", headers);
        (void)snprintf(id, sizeof id, "%s@4", cases[i].model);
        cr_assert_eq(answer.status, 200, "%s: %s", cases[i].path, answer.body.data);
        cr_assert_str_eq(http_response_header(&answer, "x-sluice-model"), id);
        curl_slist_free_all(headers);
        http_response_release(&answer);
    }
}

Test(classify_http, an_unused_name_is_not_read)
{
    static const char *const paths[] = {"/health?model=%zz", "/ping?model=%", "/metrics?model=%00",
                                        "/v2/health/live?model=%zz", "/v2/models/mood?model=%zz"};
    struct curl_slist *headers = curl_slist_append(NULL, "X-Model: 100%");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct http_response answer =
            http_request_with(&d, "GET", paths[i], NULL, i % 2 ? headers : NULL);
        cr_assert_eq(answer.status, 200, "%s: %s", paths[i], answer.body.data);
        http_response_release(&answer);
    }
    curl_slist_free_all(headers);
}

Test(classify_http, headers_report_times_tokens_and_depth)
{
    static const char *const times[] = {"x-compute-time", "x-total-time", "x-tokenization-time",
                                        "x-queue-time", "x-inference-time"};
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    struct classification one = in_process_classify(&mood, "Hello"),
                          two = in_process_classify(&mood, "W\xE2\x82\xAC");
    struct http_response answer =
        http_request(&d, "POST", "/predict", "{\"inputs\":[[\"Hello\"],[\"W\\u20ac\"]]}");
    cr_assert_eq(answer.status, 200);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        const char *value = http_response_header(&answer, times[i]);
        cr_assert(value && value[strspn(value, "0123456789")] == '\0', "%s", times[i]);
    }
    cr_assert_str_eq(http_response_header(&answer, "x-compute-type"), "cpu");
    cr_assert_str_eq(http_response_header(&answer, "x-compute-characters"), "7");
    cr_assert_str_eq(http_response_header(&answer, "x-compute-tokens"), "7");
    cr_assert_null(http_response_header(&answer, "x-sluice-truncated"));
    cr_assert_null(http_response_header(&answer, "x-sluice-tokens-given"));
    char depth[32], saved[32];
    double share =
        (double)(one.layers_used + two.layers_used) / (double)(one.layers_full + two.layers_full);
    (void)snprintf(depth, sizeof depth, "%.4f", 4 * share);
    (void)snprintf(saved, sizeof saved, "%.4f", 1 - share);
    cr_assert_lt(share, 1, "no gate is closed: the model is of no use here");
    cr_assert_str_eq(http_response_header(&answer, "x-sluice-depth-mean"), depth);
    (void)snprintf(depth, sizeof depth, "%.2f,%.2f", one.depth, two.depth);
    cr_assert_str_eq(http_response_header(&answer, "x-sluice-depth"), depth);
    cr_assert_neq(strtod(depth, NULL), strtod(strchr(depth, ',') + 1, NULL));
    cr_assert_str_eq(http_response_header(&answer, "x-sluice-layer-ops-skipped"), saved);
    http_response_release(&answer);
    in_process_close(&mood);
}

/* As many as one request may have; more is refused. */
Test(classify_http, two_thousand_texts_in_one_call)
{
    enum { TEXTS = 2048 };

    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    struct sl_buffer body = {0};
    char text[16];
    for (int extra = 0; extra < 2; extra++) {
        sl_buffer_clear(&body);
        sl_buffer_append_string(&body, "{\"inputs\":");
        for (int i = 0; i < TEXTS + extra; i++)
            sl_buffer_printf(&body, "%s[\"a%cb%.*s\"]", i ? "," : "[", 'A' + i % 26, i % 9,
                             "xyzxyzxyz");
        sl_buffer_append_string(&body, "]}");
        struct http_response answer = http_request(&d, "POST", "/predict", body.data);
        if (extra) {
            tei_expect_error(&answer, 422, "validation", "2049 texts; at most 2048 are accepted");
            continue;
        }
        json_t *root = json_from_response(&answer);
        cr_assert_eq(json_array_size(root), TEXTS);
        for (int i = 0; i < TEXTS; i++) {
            (void)snprintf(text, sizeof text, "a%cb%.*s", 'A' + i % 26, i % 9, "xyzxyzxyz");
            expect_mood(json_array_get(root, (size_t)i), &mood, text);
        }
        json_decref(root);
        http_response_release(&answer);
    }
    sl_buffer_release(&body);
    in_process_close(&mood);
    cr_assert_eq(tei_texts_by_outcome(&d, "mood", "ok"), TEXTS);
    cr_assert_gt(metric_value(&d, "sluice_batch_size_sum{model=\"mood\",version=\"4\"}"),
                 TEXTS - 1);
    cr_assert_gt(metric_value(&d, "sluice_layer_ops_skipped_ratio{model=\"mood\",version=\"4\"}"),
                 0);
    cr_assert_gt(
        metric_value(&d, "sluice_batch_duration_seconds_count{model=\"mood\",version=\"4\"}"), 0);
    cr_assert_eq(metric_value(&d, "sluice_sequences_waiting{model=\"mood\",version=\"4\"}"), 0);
}

/* ---- texts that do not fit ------------------------------------------------------------------ */

Test(classify_http, a_text_longer_than_the_context_is_rejected_or_truncated)
{
    enum { LONG = MOOD_CONTEXT + 9 };

    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    char text[LONG + 1], body[256];
    for (int i = 0; i < LONG; i++)
        text[i] = (char)('a' + i * 7 % 26);
    text[LONG] = '\0';
    (void)snprintf(body, sizeof body, "{\"inputs\":[[\"ok\"],[\"%s\"]]}", text);
    struct http_response answer = http_request(&d, "POST", "/predict", body);
    tei_expect_error(&answer, 422, "validation",
                     "'inputs[1]' has 57 tokens; the context of 'mood@4' has 48");
    static const char *const directions[] = {"Right", "Left", "right", "left"};
    for (int i = 0; i < 4; i++) {
        bool left = i % 2;
        (void)snprintf(body, sizeof body,
                       "{\"inputs\":[[\"ok\"],[\"%s\"]],\"truncate\":true,"
                       "\"truncation_direction\":\"%s\"}",
                       text, directions[i]);
        answer = http_request(&d, "POST", "/predict", body);
        cr_assert_eq(answer.status, 200, "%s", answer.body.data);
        cr_assert_str_eq(http_response_header(&answer, "x-sluice-truncated"), "1");
        cr_assert_str_eq(http_response_header(&answer, "x-sluice-tokens-given"), "2,57");
        cr_assert_str_eq(http_response_header(&answer, "x-compute-tokens"), "50");
        json_t *root = json_from_response(&answer);
        char kept[MOOD_CONTEXT + 1];
        (void)snprintf(kept, sizeof kept, "%s", text + (left ? LONG - MOOD_CONTEXT : 0));
        expect_mood(json_at(root, "1"), &mood, kept);
        json_decref(root);
        http_response_release(&answer);
    }
    in_process_close(&mood);
}

/* [CLS] and [SEP] stay at the ends of what is left. */
Test(classify_http, special_tokens_survive_a_cut)
{
    enum { LETTERS = 30, CLS = 2, SEP = 3, KEPT = PLAIN_CONTEXT - 2 };

    struct in_process_classifier plain = in_process_open(d.store, PLAIN);
    char text[LETTERS + 1], body[256];
    int32_t all[LETTERS], ids[PLAIN_CONTEXT];
    struct sl_err err;
    for (int i = 0; i < LETTERS; i++)
        text[i] = (char)('a' + i * 5 % 26);
    text[LETTERS] = '\0';
    long count = sl_tokenizer_encode(sl_model_tokenizer(plain.model), text, LETTERS,
                                     SL_UNKNOWN_FAIL, all, LETTERS, &err);
    cr_assert_eq(count, LETTERS);
    for (int left = 0; left < 2; left++) {
        (void)snprintf(body, sizeof body,
                       "{\"inputs\":\"%s\",\"truncate\":true,\"truncation_direction\":\"%s\"}",
                       text, left ? "Left" : "Right");
        json_t *root = posted("/models/plain/predict", body);
        ids[0] = CLS;
        memcpy(ids + 1, all + (left ? LETTERS - KEPT : 0), KEPT * sizeof *ids);
        ids[PLAIN_CONTEXT - 1] = SEP;
        struct classification v = in_process_classify_tokens(&plain, ids, PLAIN_CONTEXT);
        expect_scores(root, v.probs, v.classes, plain_labels);
        json_decref(root);
    }
    in_process_close(&plain);
}

Test(classify_http, unknown_characters_are_reported_or_replaced)
{
    struct http_response answer = http_request(&d, "POST", "/predict", "{\"inputs\":\"a\\u4e2d\"}");
    cr_assert(strstr(answer.body.data, "U+4E2D"), "%s", answer.body.data);
    tei_expect_error(&answer, 422, "tokenizer", "'inputs' cannot be tokenized by 'mood@4'");
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    json_t *root =
        posted("/predict", "{\"inputs\":\"a\\u4e2d\",\"unknown_characters\":\"replace\"}");
    expect_mood(root, &mood, "a?");
    json_decref(root);
    in_process_close(&mood);
}

/* ---- numbers that are not finite ------------------------------------------------------------ */

Test(classify_http, a_text_that_breaks_the_numbers_fails_its_call_alone)
{
    struct http_response answer =
        http_request(&d, "POST", "/models/plain/predict", "{\"inputs\":\"ab!\"}");
    tei_expect_error(&answer, 424, "backend", "NaN or infinity");
    answer = http_request(&d, "POST", "/models/plain/predict",
                          "{\"inputs\":[[\"ab\"],[\"c!\"],[\"d\"]]}");
    tei_expect_error(&answer, 424, "backend", "text 1 of this request");
    json_decref(posted("/models/plain/predict", "{\"inputs\":\"ab\"}"));
    cr_assert_eq(tei_texts_by_outcome(&d, "plain", "error"), 2);
    cr_assert_eq(tei_texts_by_outcome(&d, "plain", "ok"), 3);
    metric_wait(&d, "sluice_requests_in_flight", 0);
    cr_assert_eq(
        metric_value(&d,
                     "sluice_requests_total{endpoint=\"/models/{name}/predict\",model=\"plain\","
                     "version=\"4\",code=\"424\",reason=\"error\"}"),
        2);
}

/* ---- mistakes ------------------------------------------------------------------------------- */

/* The server's own bound is far below what the reader of JSON takes, and is the one reported. */
Test(classify_http, too_many_texts_are_rejected_with_the_limit)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"inputs\":[");
    for (int i = 0; i <= SV_CLIENT_BATCH_MAX; i++)
        sl_buffer_append_string(&body, i ? ",[\"a\"]" : "[\"a\"]");
    sl_buffer_append_string(&body, "]}");
    struct http_response answer = http_request(&d, "POST", "/predict", body.data);
    tei_expect_error(&answer, 422, "validation", "holds 65537 texts; at most 2048 are accepted");
    sl_buffer_release(&body);
}

Test(classify_http, errors_have_the_format_of_tei)
{
    static const struct {
        const char *path, *body, *type, *part;
        long status;
    } cases[] = {
        {"/predict", "{\"inputs\":[\"a\",\"b\"]}", "validation", "does not take pairs. To", 422},
        {"/predict", "{\"inputs\":[[\"a\"],[\"b\",\"c\"]]}", "validation", "is a pair", 422},
        {"/predict", "{\"inputs\":[[\"a\"],\"b\"]}", "validation", "not \"b\"", 422},
        {"/predict", "{\"inputs\":[[\"good\"],[3],[\"bad\"]]}", "validation",
         "'inputs[1][0]' must be a string, not 3", 422},
        {"/predict", "{\"inputs\":[[]]}", "empty", "'inputs[0]' is an empty array", 400},
        {"/predict", "{\"inputs\":[]}", "empty", "empty array", 400},
        {"/predict", "{\"inputs\":\"\"}", "empty", "no tokens", 400},
        {"/models/plain/predict", "{\"inputs\":\"\"}", "empty", "no tokens", 400},
        {"/models/plain/predict", "{\"inputs\":\" \\t \"}", "empty", "no tokens", 400},
        {"/hf/plain", "{\"inputs\":[\"a\",\" \"]}", "empty", "'inputs[1]' is empty", 400},
        {"/hf/mood", "{\"inputs\":[\"a\",1]}", "validation", "'inputs[1]' must be a string", 422},
        {"/predict", "{\"inputs\":[[\"a\"],[\"\"]]}", "empty", "'inputs[1]' is empty", 400},
        {"/predict", "{\"inputs\":3}", "validation", "not 3", 422},
        {"/predict", "{\"inputs\":null}", "validation", "'inputs' is required", 422},
        {"/predict", "{}", "validation", "'inputs' is required", 422},
        {"/predict", "{\"inputs\":\"a\\u0000\"}", "validation", "U+0000", 422},
        {"/predict", "{\"inputs\":\"a\",\"raw_scores\":1}", "validation", "true or false", 422},
        {"/predict", "{\"inputs\":\"a\",\"truncation_direction\":\"Up\"}", "validation",
         "\"Right\" or \"Left\"", 422},
        {"/predict", "{\"inputs\":\"a\",\"unknown_characters\":\"x\"}", "validation",
         "\"error\" or \"replace\"", 422},
        {"/predict", "{\"input\":\"a\"}", "validation", "required; there is only 'input'", 422},
        {"/predict", "{\"inputs\":\"a\",\"model\":\"plain\"}", "validation", "/models/{name}/",
         422},
        {"/tokenize", "{\"inputs\":\"a\",\"model\":\"plain\"}", "validation", "?model= or", 422},
        {"/decode", "{\"ids\":[1],\"model\":\"plain\"}", "validation", "X-Model", 422},
        {"/predict", "{", "validation", "not valid JSON", 422},
        {"/models/none/predict", "{\"inputs\":\"a\"}", "not_found", "'none' does not exist", 404},
        {"/models/none/predict", "{", "not_found", "'none' does not exist", 404},
        {"/models/none/tokenize", "{", "not_found", "'none' does not exist", 404},
        {"/predict?model=none", "{", "not_found", "'none' does not exist", 404},
        {"/decode?model=none", "{", "not_found", "'none' does not exist", 404},
        {"/models/none@1/predict", "{", "not_found", "does not exist; loaded models: mood", 404},
        {"/models/mood@9/predict", "{\"inputs\":\"a\"}", "not_found",
         "'mood@9' does not exist; version 4 of 'mood' is loaded", 404},
        {"/models/tiny/predict", "{\"inputs\":\"a\"}", "backend", "is not a classifier", 424},
        {"/predict?model=%ff", "{\"inputs\":\"a\"}", "validation", "Invalid model name", 422},
        {"/predict?model=", "{\"inputs\":\"a\"}", "validation", "Invalid model name", 422},
        {"/tokenize?model=%zz", "{\"inputs\":\"a\"}", "validation", "Invalid model name", 422},
        {"/hf/none", "{\"inputs\":\"a\"}", "not_found", "'none' does not exist", 404},
        {"/hf/mood", "{\"inputs\":\"a\",\"parameters\":{\"truncation_direction\":\"up\"}}",
         "validation", "'parameters.truncation_direction' must be", 422},
        {"/hf/mood", "{\"inputs\":\"\\u4e2d\"}", "tokenizer", "\"replace\" in 'parameters'", 422},
        {"/hf/mood", "{\"inputs\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
         "validation", "Set \"truncate\": true in 'parameters'", 422},
        {"/models/mood/nothing", "{}", "not_found", "No such endpoint", 404},
        {"/tokenize", "{\"inputs\":[]}", "empty", "empty array", 400},
        {"/tokenize", "{\"inputs\":[\"a\",\"\\u4e2d\"]}", "tokenizer",
         "'inputs[1]' cannot be tokenized", 422},
        {"/tokenize", "{\"inputs\":[\"a\",\"\\u4e2d\"]}", "tokenizer", "Set \"unknown_characters\"",
         422},
        {"/decode", "{\"ids\":[9999]}", "tokenizer", "'ids[0]' is the token id 9999", 422},
        {"/decode", "{\"ids\":[[1],[2,9999]]}", "tokenizer", "'ids[1][1]' is the token id 9999",
         422},
        {"/decode", "{\"ids\":\"a\"}", "validation", "array of token ids", 422},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_response answer = http_request(&d, "POST", cases[i].path, cases[i].body);
        tei_expect_error(&answer, cases[i].status, cases[i].type, cases[i].part);
    }
    struct http_response answer = http_request(&d, "GET", "/predict", NULL);
    cr_assert_str_eq(http_response_header(&answer, "allow"), "POST");
    tei_expect_error(&answer, 405, "validation", "accepts POST, not GET");
    cr_assert_eq(metric_value(&d, "sluice_admitted_tokens{model=\"mood\",version=\"4\"}"), 0);
}

Test(classify_http, completions_are_not_for_classifiers)
{
    struct http_response answer = http_complete(&d, "{\"model\":\"mood\",\"prompt\":\"a\"}");
    cr_assert_eq(answer.status, 400);
    cr_assert(strstr(answer.body.data, "use /predict"), "%s", answer.body.data);
    http_response_release(&answer);
    answer = http_complete(&d, "{\"model\":\"tiny\",\"prompt\":\"a\",\"max_tokens\":2}");
    cr_assert_eq(answer.status, 200);
    http_response_release(&answer);
}

Test(classify_http, models_list_classifiers_with_their_labels)
{
    struct http_response answer = http_request(&d, "GET", "/v1/models/mood", NULL);
    json_t *root = json_from_response(&answer);
    cr_assert_str_eq(json_string_at(root, "sluice/task"), "classification");
    for (size_t i = 0; i < MOOD_CLASSES; i++)
        cr_assert_str_eq(json_string_value(json_array_get(json_at(root, "sluice/labels"), i)),
                         mood_labels[i]);
    json_decref(root);
    http_response_release(&answer);
    answer = http_request(&d, "GET", "/v1/models", NULL);
    root = json_from_response(&answer);
    cr_assert_eq(json_array_size(json_at(root, "data")), 3);
    json_decref(root);
    http_response_release(&answer);
}

/* ---- what a model is ------------------------------------------------------------------------ */

Test(classify_http, info_reports_the_limits)
{
    static const char *const paths[] = {"/info", "/models/mood/info", "/info?model=mood"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct http_response answer = http_request(&d, "GET", paths[i], NULL);
        cr_assert_eq(answer.status, 200, "%s", answer.body.data);
        json_t *root = json_from_response(&answer);
        cr_assert_str_eq(json_string_at(root, "model_id"), "mood@4");
        cr_assert_str_eq(json_string_at(root, "served_model_name"), "mood");
        cr_assert_eq(strlen(json_string_at(root, "model_sha")), 64);
        cr_assert_str_eq(json_string_at(root, "model_type/classifier/id2label/2"), "positive");
        cr_assert_eq(json_number_at(root, "model_type/classifier/label2id/positive"), 2);
        cr_assert_eq(json_number_at(root, "max_input_length"), MOOD_CONTEXT);
        cr_assert_eq(json_number_at(root, "max_batch_tokens"), 4096);
        cr_assert_eq(json_number_at(root, "max_batch_requests"), 256);
        cr_assert_eq(json_number_at(root, "max_client_batch_size"), 2048);
        cr_assert_eq(json_number_at(root, "max_concurrent_requests"), 8192 + 256);
        cr_assert_eq(json_number_at(root, "sluice/max_body_bytes"), 2097152);
        cr_assert(json_is_false(json_at(root, "auto_truncate")));
        json_decref(root);
        http_response_release(&answer);
    }
}

/* ---- Hugging Face --------------------------------------------------------------------------- */

Test(classify_http, the_alias_for_hugging_face_always_nests)
{
    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    struct classification v = in_process_classify(&mood, "Hello");
    json_t *root = posted("/hf/mood", "{\"inputs\":\"Hello\"}");
    cr_assert_eq(json_array_size(root), 1);
    expect_scores(json_at(root, "0"), v.probs, v.classes, mood_labels);
    json_decref(root);
    root = posted("/hf/mood", "{\"inputs\":[\"Hello\",\"x\"],\"parameters\":{\"top_k\":1}}");
    cr_assert_eq(json_array_size(root), 2);
    cr_assert_eq(json_array_size(json_at(root, "1")), 1);
    cr_assert_str_eq(json_string_at(root, "0/0/label"), mood_labels[v.best]);
    json_decref(root);
    root = posted("/hf/mood",
                  "{\"inputs\":\"Hello\",\"parameters\":{\"function_to_apply\":\"none\"}}");
    expect_scores(json_at(root, "0"), v.logits, v.classes, mood_labels);
    json_decref(root);
    root = posted("/hf/mood",
                  "{\"inputs\":\"Hello\",\"parameters\":{\"function_to_apply\":\"sigmoid\"}}");
    cr_assert_float_eq(json_number_at(root, "0/0/score"), 1 / (1 + exp(-(double)v.logits[v.best])),
                       1e-6);
    json_decref(root);
    struct http_response answer = http_request(
        &d, "POST", "/hf/mood", "{\"inputs\":\"a\",\"parameters\":{\"function_to_apply\":\"x\"}}");
    tei_expect_error(&answer, 422, "validation", "\"softmax\", \"sigmoid\" or \"none\"");
    in_process_close(&mood);
}

/* ---- health --------------------------------------------------------------------------------- */

Test(classify_http, health_is_empty_and_good)
{
    static const char *const paths[] = {"/health", "/ping"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct http_response answer = http_request(&d, "GET", paths[i], NULL);
        cr_assert_eq(answer.status, 200);
        cr_assert_eq(answer.body.bytes, 0);
        http_response_release(&answer);
    }
}

/* ---- other daemons -------------------------------------------------------------------------- */

Test(classify_daemon, without_a_default_the_error_lists_the_models)
{
    start_with((const char *const[]){"--log-format", "text", NULL});
    struct http_response answer = http_request(&d, "POST", "/predict", "{\"inputs\":\"a\"}");
    tei_expect_error(
        &answer, 422, "validation",
        "several are loaded: mood, plain. Name the model in the path (/models/{name}/");
    answer = http_request(&d, "POST", "/predict?model=mood", "{\"inputs\":\"a\"}");
    cr_assert_eq(answer.status, 200);
    http_response_release(&answer);
    stop();
}

Test(classify_daemon, without_a_classifier_predict_fails_and_tokenize_uses_the_only_model)
{
    DAEMON_START(&d, "--log-format", "text", "--max-sequences", "3", "--max-queue-size", "5");
    struct http_response answer = http_request(&d, "POST", "/predict", "{\"inputs\":\"a\"}");
    tei_expect_error(&answer, 404, "not_found", "No classifier is loaded. Train one");
    json_decref(posted("/tokenize", "{\"inputs\":\"ab\"}"));
    answer = http_request(&d, "GET", "/info", NULL);
    cr_assert_eq(answer.status, 200);
    json_t *root = json_from_response(&answer);
    cr_assert(json_is_object(json_at(root, "model_type/completion")));
    cr_assert_eq(json_number_at(root, "max_batch_requests"), 3, "its own executor's limits");
    cr_assert_eq(json_number_at(root, "max_concurrent_requests"), 3 + 5);
    json_decref(root);
    http_response_release(&answer);
    stop();
}

/* Headers have an end: with too many texts they have only the mean. */
Test(classify_daemon, depths_in_headers_are_bounded)
{
    struct sl_buffer body = {0};
    start_with((const char *const[]){"--max-client-batch-size", "1000", NULL});
    for (int count = 256; count <= 257; count++) {
        sl_buffer_clear(&body);
        for (int i = 0; i < count; i++)
            sl_buffer_append_string(&body, i ? ",[\"a\"]" : "{\"inputs\":[[\"a\"]");
        sl_buffer_append_string(&body, "]}");
        struct http_response answer = http_request(&d, "POST", "/models/mood/predict", body.data);
        cr_assert_eq(answer.status, 200, "%s", answer.body.data);
        const char *depths = http_response_header(&answer, "x-sluice-depth");
        int reported = depths != NULL;
        for (const char *comma = depths; comma && (comma = strchr(comma, ',')); comma++)
            reported++;
        cr_assert_eq(reported, count > 256 ? 0 : count);
        cr_assert(http_response_header(&answer, "x-sluice-depth-mean"));
        http_response_release(&answer);
    }
    sl_buffer_release(&body);
    stop();
}

static const char mood_running[] = "sluice_sequences_running{model=\"mood\",version=\"4\"}";

/* Texts of 48 characters for `mood`, in one request. */
static void write_long(struct sl_buffer *body, int texts)
{
    for (int i = 0; i < texts; i++)
        sl_buffer_printf(body, "%s[\"%048d\"]", i ? "," : "{\"inputs\":[", 0);
    sl_buffer_append_string(body, "],\"unknown_characters\":\"replace\"}");
}

/* A call's texts are admitted together or not at all: what was refused leaves no trace. */
Test(classify_daemon, a_full_queue_rejects_whole_requests)
{
    enum { CALLS = 12, TEXTS = 64 };

    struct sl_buffer body = {0}, request = {0};
    int fds[CALLS], good = 0, refused = 0;
    start_with((const char *const[]){"--classify-max-batch-size", "16", "--classify-max-queue-size",
                                     "48", "--max-client-batch-size", "64", NULL});
    write_long(&body, TEXTS);
    sl_buffer_printf(&request,
                     "POST /models/mood/predict HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s",
                     body.bytes, body.data);
    for (int i = 0; i < CALLS; i++) {
        fds[i] = raw_connect(&d);
        raw_send(fds[i], request.data);
    }
    for (int i = 0; i < CALLS; i++) {
        struct sl_buffer got = {0};
        (void)raw_read_until(fds[i], &got, "never there"); /* to the end */
        cr_assert(got.data);
        bool is_good = strstr(got.data, "200 OK"), is_refused = strstr(got.data, "429 ");
        cr_assert(is_good || is_refused, "%s", got.data);
        cr_assert(is_good ||
                      (strstr(got.data, "Retry-After: ") && strstr(got.data, "retry-after-ms: ") &&
                       strstr(got.data, "\"error_type\":\"overloaded\"")),
                  "%s", got.data);
        good += is_good;
        refused += is_refused;
        sl_buffer_release(&got);
        (void)close(fds[i]);
    }
    cr_assert_gt(good, 0);
    cr_assert_gt(refused, 0, "the queue was never full");
    cr_assert_eq(tei_texts_by_outcome(&d, "mood", "ok"), good * TEXTS);
    cr_assert_eq(metric_value(&d, "sluice_queue_full_total{model=\"mood\",version=\"4\"}"),
                 refused);
    sl_buffer_clear(&body);
    for (int i = 0; i <= TEXTS; i++)
        sl_buffer_append_string(&body, i ? ",[\"a\"]" : "{\"inputs\":[[\"a\"]");
    sl_buffer_append_string(&body, "]}");
    struct http_response answer = http_request(&d, "POST", "/models/mood/predict", body.data);
    tei_expect_error(&answer, 422, "validation", "at most 64 are accepted");
    sl_buffer_release(&body);
    sl_buffer_release(&request);
    stop();
}

/* What is refused for want of room is refused before its texts are read; what tokenizing refuses
 * gives its room back. */
Test(classify_daemon, an_overloaded_daemon_reads_no_texts)
{
    enum { TEXTS = 1024 };
    struct sl_buffer body = {0}, request = {0};
    start_with((const char *const[]){"--classify-max-batch-size", "16", "--classify-max-queue-size",
                                     "1008", "--max-client-batch-size", "1024", "--isa", "ref",
                                     NULL});
    write_long(&body, TEXTS);
    sl_buffer_printf(
        &request, "POST /models/mood/predict HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
        body.bytes, body.data);
    int fd = raw_connect(&d);
    raw_send(fd, request.data);
    metric_wait(&d, mood_running, 16);
    sl_buffer_clear(&body);
    for (int i = 0; i < TEXTS; i++)
        sl_buffer_append_string(&body, i ? ",[\"\u4e2d\"]" : "{\"inputs\":[[\"\u4e2d\"]");
    sl_buffer_append_string(&body, "]}");
    struct http_response answer = http_request(&d, "POST", "/models/mood/predict", body.data);
    cr_assert(http_response_header(&answer, "retry-after-ms"));
    tei_expect_error(&answer, 429, "overloaded", "The queue of 'mood@4' is full");
    answer = http_request(&d, "POST", "/v1/decisions", "{\"model\":\"mood\" and no JSON");
    cr_assert_eq(answer.status, 429, "%ld %s", answer.status, answer.body.data);
    http_response_release(&answer);
    (void)close(fd);
    metric_wait(&d, "sluice_sequences_waiting{model=\"mood\",version=\"4\"}", 0);
    metric_wait(&d, mood_running, 0);
    metric_wait(&d,
                "sluice_requests_total{endpoint=\"/models/{name}/predict\",model=\"mood\","
                "version=\"4\",code=\"499\",reason=\"cancelled\"}",
                1);
    for (int i = 0; i < 2; i++) {
        answer = http_request(&d, "POST", "/models/mood/predict", body.data);
        tei_expect_error(&answer, 422, "tokenizer", "'inputs[0]' cannot be tokenized");
    }
    cr_assert_eq(metric_value(&d, "sluice_queue_full_total{model=\"mood\",version=\"4\"}"), 2);
    sl_buffer_release(&body);
    sl_buffer_release(&request);
    stop();
}

static bool is_late(const char *path, const char *body, const struct curl_slist *headers)
{
    struct http_response answer = http_request_with(&d, "POST", path, body, headers);
    bool late = answer.status == 504 && strstr(answer.body.data, "\"overloaded\"");
    http_response_release(&answer);
    return late;
}

/* The Open Inference Protocol's timeout is in microseconds; the nearer of it and the header counts,
 * and 0 is none. A batch of this many texts takes longer than 100 ms. */
static void expect_timeouts(int texts)
{
    static const struct {
        const char *header;
        long long timeout_us;
        long status;
    } cases[] = {
        {NULL, 50000, 504},
        {"X-Request-Timeout-Ms: 60000", 50000, 504},
        {"X-Request-Timeout-Ms: 50", 60000000, 504},
        {NULL, 60000000, 200},
        {NULL, 0, 200},
    };
    struct sl_buffer body = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct curl_slist *headers =
            cases[i].header ? curl_slist_append(NULL, cases[i].header) : NULL;
        int count = cases[i].status == 200 ? 1 : texts;
        sl_buffer_clear(&body);
        sl_buffer_printf(
            &body,
            "{\"parameters\":{\"timeout\":%lld,\"unknown_characters\":\"replace\"},"
            "\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[%d],\"data\":[",
            cases[i].timeout_us, count);
        for (int k = 0; k < count; k++)
            sl_buffer_printf(&body, "%s\"%048d\"", k ? "," : "", 0);
        sl_buffer_append_string(&body, "]}]}");
        struct http_response answer =
            http_request_with(&d, "POST", "/v2/models/mood/infer", body.data, headers);
        cr_assert_eq(answer.status, cases[i].status, "case %zu: %ld %.200s", i, answer.status,
                     answer.body.data);
        http_response_release(&answer);
        curl_slist_free_all(headers);
        metric_wait(&d, mood_running, 0);
    }
    sl_buffer_release(&body);
}

/* A batch is not interrupted, but no request waits for its end in vain: not the call in it, and not
 * another model's that waits for its turn. How long a batch must be to see that depends on the
 * machine. */
Test(classify_daemon, a_deadline_is_kept_while_a_batch_runs)
{
    struct sl_buffer body = {0};
    start_with((const char *const[]){"--max-client-batch-size", "4096", "--classify-max-batch-size",
                                     "4096", "--classify-max-batch-tokens", "65536", "--isa", "ref",
                                     NULL});
    struct curl_slist *soon = curl_slist_append(NULL, "X-Request-Timeout-Ms: 50");
    bool kept = false;
    double answered = 0;
    int texts = TEST_SANITIZED ? 2 : 16;
    while (!kept && texts < 4096) {
        texts *= 4;
        answered = tei_texts_by_outcome(&d, "plain", "ok"); /* while batches were too short */
        sl_buffer_clear(&body);
        write_long(&body, texts);
        kept = is_late("/models/mood/predict", body.data, soon) &&
               is_late("/models/plain/predict", "{\"inputs\":\"a\"}", soon) &&
               metric_value(&d, mood_running) > 0;
        metric_wait(&d, mood_running, 0);
    }
    cr_assert(kept, "answers came when the batch was over");
    expect_timeouts(texts);
    cr_assert_eq(tei_texts_by_outcome(&d, "plain", "ok"), answered);
    curl_slist_free_all(soon);
    sl_buffer_release(&body);
    stop();
}

enum { MANY_LABELS = 2048, MANY_TEXTS = SV_SCORES_MAX / MANY_LABELS };

/* <store>/many/4, over bytes, with as many labels as make an answer long. */
static void make_many(void)
{
    static char names[MANY_LABELS][16];
    static const char *labels[MANY_LABELS];
    for (int i = 0; i < MANY_LABELS; i++) {
        (void)snprintf(names[i], sizeof names[i], "%04d", i);
        labels[i] = names[i];
    }
    tiny_labelled_make(d.store, "many", labels, MANY_LABELS);
}

/* An answer is written at once, while other connections of its thread wait. */
Test(classify_daemon, many_texts_of_many_labels_are_too_much_at_a_time)
{
    struct sl_buffer body = {0};
    daemon_make_store(&d);
    make_many();
    daemon_serve(&d, (const char *const[]){NULL});
    struct http_response info = http_request(&d, "GET", "/models/many/info", NULL);
    cr_assert(strstr(info.body.data, "\"max_client_batch_size\":128,"), "%s", info.body.data);
    http_response_release(&info);
    for (int texts = MANY_TEXTS; texts <= MANY_TEXTS + 1; texts++) {
        sl_buffer_clear(&body);
        for (int i = 0; i < texts; i++)
            sl_buffer_append_string(&body, i ? ",[\"a\"]" : "{\"inputs\":[[\"a\"]");
        sl_buffer_append_string(&body, "]}");
        struct http_response answer = http_request(&d, "POST", "/models/many/predict", body.data);
        if (texts > MANY_TEXTS) {
            tei_expect_error(&answer, 422, "validation",
                             "'inputs' holds 129 texts and 'many@4' has 2048 labels; at most 128");
            break;
        }
        cr_assert_eq(answer.status, 200, "%.200s", answer.body.data);
        http_response_release(&answer);
    }
    sl_buffer_release(&body);
    stop();
}
