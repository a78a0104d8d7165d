/* test_rerank_http.c - pairs of texts: classified as Text Embeddings Inference and Hugging Face ask
 * it, and ranked by a query. */
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <math.h>

#define RANKER     "bert_ranker"
#define CLASSIFIER "bert_classifier"
#define ONE_TYPE   "roberta_classifier"

enum { CONTEXT = 32 }; /* of all three */

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_store_add_pretrained(d.store, RANKER);
    tiny_store_add_pretrained(d.store, CLASSIFIER);
    tiny_store_add_pretrained(d.store, ONE_TYPE);
    daemon_serve(&d, (const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(rerank_http, .init = start, .fini = stop);

/* ---- the engine's own answers ---------------------------------------------------------------- */

/* pair NULL: one text. Truncated to the context. */
static struct classification expected(const char *model, const char *text, const char *pair,
                                      enum sl_truncation side)
{
    struct sl_err err;
    struct in_process_classifier c = in_process_open(d.store, model);
    int32_t ids[CONTEXT], types[CONTEXT];
    const struct sl_encoding encoding = {.text = text,
                                         .bytes = strlen(text),
                                         .pair = pair,
                                         .pair_bytes = pair ? strlen(pair) : 0,
                                         .special = true,
                                         .max_tokens = CONTEXT,
                                         .side = side,
                                         .ids = ids,
                                         .types = types,
                                         .capacity = CONTEXT};
    long count = sl_tokenizer_tokenize(sl_model_tokenizer(c.model), &encoding, &err);
    cr_assert(count > 0 && count <= CONTEXT, "%s", err.text);
    struct sl_classifier_item item = {.tokens = ids, .types = types, .count = (int)count};
    struct classification v = {.classes = sl_model_info(c.model)->classes};
    EXPECT_OK(sl_classifier_run(c.classifier, &item, 1, &err), err);
    memcpy(v.logits, item.logits, (size_t)v.classes * sizeof *v.logits);
    sl_model_scores(c.model, v.logits, v.probs);
    in_process_close(&c);
    return v;
}

static void expect_scores(const json_t *list, const char *model, const char *text, const char *pair)
{
    struct classification v = expected(model, text, pair, SL_TRUNCATE_RIGHT);
    float sum = 0.0f, want = 0.0f;
    cr_assert_eq(json_array_size(list), (size_t)v.classes);
    float best = v.probs[0];
    for (int i = 0; i < v.classes; i++) {
        best = fmaxf(best, v.probs[i]);
        want += v.probs[i];
        sum += (float)json_number_at(json_array_get(list, (size_t)i), "score");
    }
    cr_assert_eq((float)json_number_at(list, "0/score"), best, "%s of %s", model, text);
    cr_assert_float_eq(sum, want, 1e-6);
}

/* ---- pairs ---------------------------------------------------------------------------------- */

Test(rerank_http, tei_classifies_pairs)
{
    static const char *const models[] = {CLASSIFIER, ONE_TYPE, RANKER};
    for (size_t i = 0; i < COUNT(models); i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "/models/%s/predict", models[i]);
        json_t *root = tei_post(&d, path, "{\"inputs\":[\"abc\",\"de f\"]}");
        expect_scores(root, models[i], "abc", "de f");
        json_decref(root);
        root = tei_post(&d, path, "{\"inputs\":[[\"abc\"],[\"abc\",\"de f\"],[\"\",\"x\"]]}");
        cr_assert_eq(json_array_size(root), 3);
        expect_scores(json_at(root, "0"), models[i], "abc", NULL);
        expect_scores(json_at(root, "1"), models[i], "abc", "de f");
        expect_scores(json_at(root, "2"), models[i], "", "x");
        json_decref(root);
        root = tei_post(&d, path, "{\"inputs\":[\"abc\",\"de f\",\"x\"]}"); /* texts */
        cr_assert_eq(json_array_size(root), 3);
        expect_scores(json_at(root, "1"), models[i], "de f", NULL);
        json_decref(root);
    }
}

Test(rerank_http, hugging_face_classifies_pairs)
{
    json_t *root =
        tei_post(&d, "/hf/" CLASSIFIER, "{\"inputs\":{\"text\":\"abc\",\"text_pair\":\"de f\"}}");
    cr_assert_eq(json_array_size(root), 1);
    expect_scores(json_at(root, "0"), CLASSIFIER, "abc", "de f");
    json_decref(root);
    root = tei_post(&d, "/hf/" CLASSIFIER,
                    "{\"inputs\":[{\"text\":\"abc\",\"text_pair\":\"de f\"},\"x\"]}");
    expect_scores(json_at(root, "0"), CLASSIFIER, "abc", "de f");
    expect_scores(json_at(root, "1"), CLASSIFIER, "x", NULL);
    json_decref(root);
}

#define LONG "a b c d e f g h i j k l m n o p q r s t u v w x y z"

/* The longer text is cut, on the side that the request names. */
Test(rerank_http, long_pairs_are_truncated_or_rejected)
{
    static const char *const path = "/models/" CLASSIFIER "/predict";
    struct http_response answer =
        http_request(&d, "POST", path, "{\"inputs\":[[\"" LONG "\",\"b c d e\"]]}");
    tei_expect_error(&answer, 422, "validation", "'inputs[0]' has 33 tokens");
    answer = http_request(&d, "POST", path,
                          "{\"inputs\":[[\"" LONG "\",\"b c d e\"]],\"truncate\":true}");
    cr_assert_eq(answer.status, 200, "%s", answer.body.data);
    cr_assert_str_eq(http_response_header(&answer, "x-sluice-truncated"), "1");
    cr_assert_str_eq(http_response_header(&answer, "x-sluice-tokens-given"), "33");
    cr_assert_str_eq(http_response_header(&answer, "x-compute-tokens"), "32");
    json_t *root = json_from_response(&answer);
    expect_scores(json_at(root, "0"), CLASSIFIER, LONG, "b c d e");
    json_decref(root);
    http_response_release(&answer);
    struct classification v = expected(CLASSIFIER, LONG, LONG, SL_TRUNCATE_LEFT);
    root = tei_post(&d, path,
                    "{\"inputs\":[\"" LONG "\",\"" LONG "\"],\"truncate\":true,"
                    "\"truncation_direction\":\"Left\",\"raw_scores\":true}");
    float best = fmaxf(v.logits[0], fmaxf(v.logits[1], v.logits[2]));
    cr_assert_eq((float)json_number_at(root, "0/score"), best);
    json_decref(root);
}

Test(rerank_http, mistakes_with_pairs)
{
    static const struct {
        const char *path, *body, *type, *part;
        long status;
    } cases[] = {
        {"/models/" CLASSIFIER "/predict", "{\"inputs\":[\"a\",\"b\"],\"sluice\":{\"explain\":3}}",
         "validation", "'sluice.explain' is for single texts", 422},
        {"/models/" CLASSIFIER "/predict", "{\"inputs\":[\"\",\" \"]}", "empty",
         "'inputs' is empty", 400},
        {"/hf/" MOOD, "{\"inputs\":[\"a\",{\"text\":\"a\",\"text_pair\":\"b\"}]}", "validation",
         "'inputs[1]' is a pair of texts, and '" MOOD "@4' does not take pairs.", 422},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_response answer = http_request(&d, "POST", cases[i].path, cases[i].body);
        tei_expect_error(&answer, cases[i].status, cases[i].type, cases[i].part);
    }
}
