/* test_rerank_http.c - pairs of texts: classified as Text Embeddings Inference and Hugging Face ask
 * it, and ranked by a query. */
#include "base/json_writer.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/sluicectl_cli.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <math.h>

#define RANKER     "bert_ranker"
#define CLASSIFIER "bert_classifier"
#define ONE_TYPE   "roberta_classifier"

enum { CONTEXT = 32 }; /* of all three */

static struct ctl_target t;

static void start(void)
{
    daemon_make_store(&t.daemon);
    tiny_classifiers_make(t.daemon.store);
    tiny_store_add_pretrained(t.daemon.store, RANKER);
    tiny_store_add_pretrained(t.daemon.store, CLASSIFIER);
    tiny_store_add_pretrained(t.daemon.store, ONE_TYPE);
    daemon_serve(&t.daemon, (const char *const[]){"--default-classifier", MOOD, NULL});
    ctl_reach(&t);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(rerank_http, .init = start, .fini = stop);

/* ---- the engine's own answers ---------------------------------------------------------------- */

/* pair NULL: one text. Truncated to the context. */
static struct classification expected(const char *model, const char *text, const char *pair,
                                      enum sl_truncation side)
{
    struct sl_err err;
    struct in_process_classifier c = in_process_open(t.daemon.store, model);
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
        json_t *root = tei_post(&t.daemon, path, "{\"inputs\":[\"abc\",\"de f\"]}");
        expect_scores(root, models[i], "abc", "de f");
        json_decref(root);
        root =
            tei_post(&t.daemon, path, "{\"inputs\":[[\"abc\"],[\"abc\",\"de f\"],[\"\",\"x\"]]}");
        cr_assert_eq(json_array_size(root), 3);
        expect_scores(json_at(root, "0"), models[i], "abc", NULL);
        expect_scores(json_at(root, "1"), models[i], "abc", "de f");
        expect_scores(json_at(root, "2"), models[i], "", "x");
        json_decref(root);
        root = tei_post(&t.daemon, path, "{\"inputs\":[\"abc\",\"de f\",\"x\"]}"); /* texts */
        cr_assert_eq(json_array_size(root), 3);
        expect_scores(json_at(root, "1"), models[i], "de f", NULL);
        json_decref(root);
    }
}

Test(rerank_http, hugging_face_classifies_pairs)
{
    json_t *root = tei_post(&t.daemon, "/hf/" CLASSIFIER,
                            "{\"inputs\":{\"text\":\"abc\",\"text_pair\":\"de f\"}}");
    cr_assert_eq(json_array_size(root), 1);
    expect_scores(json_at(root, "0"), CLASSIFIER, "abc", "de f");
    json_decref(root);
    root = tei_post(&t.daemon, "/hf/" CLASSIFIER,
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
        http_request(&t.daemon, "POST", path, "{\"inputs\":[[\"" LONG "\",\"b c d e\"]]}");
    tei_expect_error(&answer, 422, "validation", "'inputs[0]' has 33 tokens");
    answer = http_request(&t.daemon, "POST", path,
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
    root = tei_post(&t.daemon, path,
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
        struct http_response answer = http_request(&t.daemon, "POST", cases[i].path, cases[i].body);
        tei_expect_error(&answer, cases[i].status, cases[i].type, cases[i].part);
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

#define QUERY "ab c"

enum { DOCUMENTS = 40 };

/* Texts of different lengths, of one letter to four words. */
static const char *document(int index)
{
    static const char *const words[] = {"a", "bcd", "ef g", "hi j klm"};
    static char text[64];
    (void)snprintf(text, sizeof text, "%s %c%s", words[index % 4], 'a' + index % 26,
                   words[index % 3]);
    return text;
}

/* The members of a request for the first documents, from `first` on. */
static void add_documents(struct sl_json_writer *json, const char *field, int first, int count)
{
    sl_json_add(json, "'query':%s,%s:[", QUERY, field);
    for (int i = first; i < first + count; i++)
        sl_json_add_string(json, document(i));
    sl_json_end_array(json);
}

static json_t *rerank(int first, int count, bool raw)
{
    struct sl_buffer body = {0};
    struct sl_json_writer json = {.out = &body};
    sl_json_begin_object(&json);
    add_documents(&json, "texts", first, count);
    sl_json_add(&json, "'raw_scores':%i,'return_text':true}", raw);
    json_t *root = tei_post(&t.daemon, "/models/" RANKER "/rerank", body.data);
    sl_buffer_release(&body);
    cr_assert_eq(json_array_size(root), (size_t)count);
    return root;
}

Test(rerank_http, scores_have_the_same_bits_alone_and_among_others)
{
    json_t *all = rerank(0, DOCUMENTS, true), *probabilities = rerank(0, DOCUMENTS, false);
    bool seen[DOCUMENTS] = {false};
    double last = HUGE_VAL;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        const json_t *one = json_array_get(all, i), *other = json_array_get(probabilities, i);
        const int index = (int)json_integer_at(one, "index");
        const double score = json_number_at(one, "score");
        const char *text = document(index);
        json_t *alone = rerank(index, 1, true);
        struct classification v = expected(RANKER, QUERY, text, SL_TRUNCATE_RIGHT);
        cr_assert_not(seen[index]);
        seen[index] = true;
        cr_assert_str_eq(json_string_at(one, "text"), text);
        cr_assert_leq(score, last);
        cr_assert_eq(json_number_at(alone, "0/score"), score, "%s", text);
        cr_assert_eq((float)score, v.logits[0], "%s", text);
        cr_assert_eq(json_integer_at(other, "index"), index);
        cr_assert_eq((float)json_number_at(other, "score"), v.probs[0], "%s", text);
        last = score;
        json_decref(alone);
    }
    json_decref(all);
    json_decref(probabilities);
}

Test(rerank_http, every_way_to_name_a_reranker)
{
    static const char *const paths[] = {"/rerank",
                                        "/rerank?model=" RANKER,
                                        "/models/" RANKER "/rerank",
                                        "/models/" RANKER "@4/rerank",
                                        "/models/" RANKER,
                                        "/invocations?model=" RANKER};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct http_response answer =
            http_request(&t.daemon, "POST", paths[i],
                         "{\"query\":\"ab\",\"texts\":[\"c\",\"d\"],\"truncate\":null}");
        cr_assert_eq(answer.status, 200, "%s", answer.body.data);
        cr_assert_str_eq(http_response_header(&answer, "x-sluice-model"), RANKER "@4");
        json_t *root = json_from_response(&answer);
        cr_assert_eq(json_array_size(root), 2);
        cr_assert_null(json_at(root, "0/text"));
        json_decref(root);
        http_response_release(&answer);
    }
}

static json_t *post(const char *path, const char *body)
{
    return json_request(&t.daemon, "POST", path, body);
}

static void expect_relevance(const json_t *result, const char *query, const char *text)
{
    struct classification v = expected(RANKER, query, text, SL_TRUNCATE_RIGHT);
    cr_assert_eq((float)json_number_at(result, "relevance_score"), v.probs[0], "%s", text);
}

Test(rerank_http, jina_ranks_texts_and_objects)
{
    static const char *const texts[] = {"c d", "ef", "g"};
    json_t *root = post("/v1/rerank", "{\"model\":\"" RANKER "\",\"query\":\"" QUERY
                                      "\",\"documents\":[\"c d\",{\"text\":\"ef\"},\"g\"]}");
    cr_assert_str_eq(json_string_at(root, "model"), RANKER "@4");
    cr_assert_eq(json_integer_at(root, "usage/total_tokens"), 3 * (3 + 3) + 5);
    cr_assert_eq(json_integer_at(root, "usage/prompt_tokens"), 3 * (3 + 3) + 5);
    cr_assert_eq(json_array_size(json_at(root, "results")), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *result = json_array_get(json_at(root, "results"), i);
        const char *text = texts[json_integer_at(result, "index")];
        cr_assert_str_eq(json_string_at(result, "document/text"), text);
        expect_relevance(result, QUERY, text);
    }
    const int64_t best = json_integer_at(root, "results/0/index");
    json_decref(root);
    root = post("/v1/rerank",
                "{\"model\":\"" RANKER "@4\",\"query\":\"" QUERY
                "\",\"documents\":[\"c d\",\"ef\",\"g\"],\"top_n\":1,\"return_documents\":false}");
    cr_assert_eq(json_array_size(json_at(root, "results")), 1);
    cr_assert_eq(json_integer_at(root, "results/0/index"), best);
    cr_assert_null(json_at(root, "results/0/document"));
    json_decref(root);
}

Test(rerank_http, cohere_ranks_documents_up_to_so_many_tokens)
{
    json_t *root = post("/v2/rerank", "{\"model\":\"" RANKER "\",\"query\":\"" QUERY
                                      "\",\"documents\":[\"c d\",\"ef g\"],\"top_n\":9}");
    cr_assert_gt(strlen(json_string_at(root, "id")), 0);
    cr_assert_str_eq(json_string_at(root, "meta/api_version/version"), "2");
    cr_assert_eq(json_integer_at(root, "meta/billed_units/search_units"), 1);
    cr_assert_eq(json_array_size(json_at(root, "results")), 2);
    cr_assert_null(json_at(root, "results/0/document"));
    json_decref(root);
    root = post("/v2/rerank", "{\"model\":\"" RANKER "\",\"query\":\"" QUERY
                              "\",\"documents\":[\"ef g\"],\"max_tokens_per_doc\":2}");
    expect_relevance(json_at(root, "results/0"), QUERY, "ef");
    json_decref(root);
}

/* TEI only on request. */
Test(rerank_http, long_documents_are_cut)
{
    struct http_response answer = http_request(
        &t.daemon, "POST", "/rerank", "{\"query\":\"ab\",\"texts\":[\"c\",\"" LONG " a b c\"]}");
    tei_expect_error(&answer, 422, "validation", "'texts[1]' has 34 tokens");
    json_t *root = tei_post(&t.daemon, "/rerank",
                            "{\"query\":\"ab\",\"texts\":[\"" LONG
                            " a b c\"],\"truncate\":true,\"raw_scores\":true}");
    struct classification v = expected(RANKER, "ab", LONG " a b c", SL_TRUNCATE_RIGHT);
    cr_assert_eq((float)json_number_at(root, "0/score"), v.logits[0]);
    json_decref(root);
    root = post("/v1/rerank",
                "{\"model\":\"" RANKER "\",\"query\":\"ab\",\"documents\":[\"" LONG " a b c\"]}");
    expect_relevance(json_at(root, "results/0"), "ab", LONG " a b c");
    json_decref(root);
}

Test(rerank_http, the_info_names_a_reranker)
{
    struct http_response answer = http_request(&t.daemon, "GET", "/models/" RANKER "/info", NULL);
    json_t *root = json_from_response(&answer);
    cr_assert_str_eq(json_string_at(root, "model_type/reranker/id2label/0"), "LABEL_0");
    cr_assert_eq(json_integer_at(root, "model_type/reranker/label2id/LABEL_0"), 0);
    cr_assert_null(json_at(root, "model_type/classifier"));
    json_decref(root);
    http_response_release(&answer);
    answer = http_request(&t.daemon, "GET", "/models/" CLASSIFIER "/info", NULL);
    root = json_from_response(&answer);
    cr_assert(json_at(root, "model_type/classifier"));
    json_decref(root);
    http_response_release(&answer);
}

Test(rerank_http, mistakes_are_named_in_the_format_of_each_api)
{
    static const struct {
        const char *path, *body, *part;
        long status;
    } cases[] = {
        {"/models/" CLASSIFIER "/rerank", "{\"query\":\"a\",\"texts\":[\"b\"]}",
         "\"error\":\"The model '" CLASSIFIER
         "' is not a reranker; it classifies texts: use /predict",
         424},
        {"/models/" TINY_MODEL "/rerank", "{\"query\":\"a\",\"texts\":[\"b\"]}",
         "is not a reranker; it completes texts", 424},
        {"/rerank", "{\"query\":\"\",\"texts\":[\"b\"]}", "'query' is empty", 400},
        {"/rerank", "{\"query\":\" \",\"texts\":[\"b\",\"\"]}", "'texts[1]' is empty", 400},
        {"/rerank", "{\"query\":\"a\",\"texts\":[]}", "empty array", 400},
        {"/rerank", "{\"query\":\"a\",\"texts\":\"b\"}", "an array of strings, not", 422},
        {"/rerank", "{\"query\":\"a\",\"texts\":[{\"text\":\"b\"}]}", "'texts[0]' must be a string",
         422},
        {"/rerank", "{\"texts\":[\"b\"]}", "'query' is required", 422},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"b\"],\"model\":\"x\"}", "/models/{name}/", 422},
        {"/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"]}", "'model' is required", 400},
        {"/v1/rerank", "{\"model\":\"" MOOD "\",\"query\":\"a\",\"documents\":[\"b\"]}",
         "\"code\":\"not_a_reranker\"", 400},
        {"/v1/rerank", "{\"model\":\"none\",\"query\":\"a\",\"documents\":[\"b\"]}",
         "\"code\":\"model_not_found\"", 404},
        {"/v1/rerank", "{\"model\":\"none\",\"query\":\"a\",\"documents\":[\"b\"]}",
         "},\"detail\":\"The model 'none' does not exist", 404},
        {"/v1/rerank",
         "{\"model\":\"" RANKER "\",\"query\":\"a\",\"documents\":[\"b\"],\"top_n\":0}",
         "'top_n' must be", 400},
        {"/v1/rerank",
         "{\"model\":\"" RANKER "\",\"query\":\"a\",\"documents\":[{\"image\":\"b\"}]}",
         "documents[0].image", 400},
        {"/v2/rerank", "{\"model\":\"" MOOD "\",\"query\":\"a\",\"documents\":[\"b\"]}",
         "\"error\":\"The model '" MOOD "' is not a reranker", 400},
        {"/v2/rerank",
         "{\"model\":\"" RANKER "\",\"query\":\"a\",\"documents\":[\"b\"],\"size\":1}",
         "\"error\":\"Unknown parameter 'size'", 400},
        {"/v1/embeddings", "{\"model\":\"" RANKER "\",\"input\":\"a\"}",
         "it ranks texts by a query: use /rerank", 400},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_response answer = http_request(&t.daemon, "POST", cases[i].path, cases[i].body);
        cr_expect_eq(answer.status, cases[i].status, "%s %s: %ld %s", cases[i].path, cases[i].body,
                     answer.status, answer.body.data);
        cr_expect(strstr(answer.body.data, cases[i].part), "%s %s: '%s' is not in %s",
                  cases[i].path, cases[i].body, cases[i].part, answer.body.data);
        http_response_release(&answer);
    }
}

static void expect_refused(int query_bytes, int texts, long status, const char *part)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"query\":\"");
    for (int i = 0; i < query_bytes; i++)
        sl_buffer_append_string(&body, "a");
    sl_buffer_append_string(&body, "\",\"truncate\":true,\"texts\":[\"a\"");
    for (int i = 1; i < texts; i++)
        sl_buffer_append_string(&body, ",\"a\"");
    sl_buffer_append_string(&body, "]}");
    struct http_response answer = http_request(&t.daemon, "POST", "/rerank", body.data);
    tei_expect_error(&answer, status, "validation", part);
    sl_buffer_release(&body);
}

Test(rerank_http, the_size_of_a_request_is_bounded)
{
    expect_refused(1, 2049, 422, "'texts' holds 2049 texts; at most 2048");
    expect_refused(16 << 10, 1025, 422, "'query' has 16384 bytes; at most 1024 texts");
}

/* ---- sluicectl ------------------------------------------------------------------------------- */

/* More lines than one request has: what the requests return is one ranking. */
Test(rerank_http, sluicectl_ranks_lines)
{
    enum { LINES = 100 };
    struct sl_buffer lines = {0};
    double last = 1.0;
    for (int i = 0; i < LINES; i++)
        sl_buffer_printf(&lines, "%s\n\n", document(i));
    test_write_file(t.input, lines.data);
    sl_buffer_release(&lines);
    const struct program_result *r = CTL(&t, "rerank", "--model", RANKER, QUERY, "-");
    EXPECT_EXIT(r, 0);
    int seen = 0;
    for (char *at = (char *)(uintptr_t)r->out; *at; seen++) {
        const double score = strtod(at, &at);
        char *end = strchr(at, '\n');
        cr_assert_eq(*at, '\t');
        *end = '\0';
        struct classification v = expected(RANKER, QUERY, at + 1, SL_TRUNCATE_RIGHT);
        cr_assert_float_eq(score, (double)v.probs[0], 1e-5, "%s", at);
        cr_assert_leq(score, last);
        last = score;
        at = end + 1;
    }
    cr_assert_eq(seen, LINES);
}

Test(rerank_http, sluicectl_reports_lines_that_are_rejected)
{
    test_write_file(t.input, "c d\n" LONG " a b c\nef\n");
    const struct program_result *r = CTL(&t, "rerank", "--json", "--model", RANKER, QUERY, t.input);
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "line 2: 'texts[1]' has 35 tokens");
    char *second = strchr(r->out, '\n');
    *second = '\0';
    json_t *one = json_from_text(r->out), *other = json_from_text(second + 1);
    const bool first = strcmp(json_string_at(one, "text"), "ef") == 0;
    struct classification v = expected(RANKER, QUERY, first ? "ef" : "c d", SL_TRUNCATE_RIGHT);
    cr_assert_eq((float)json_number_at(one, "score"), v.probs[0]);
    cr_assert_str_eq(json_string_at(other, "text"), first ? "c d" : "ef");
    json_decref(one);
    json_decref(other);
    r = CTL(&t, "rerank", "--truncate", "right", "--model", RANKER, QUERY, t.input);
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "\t" LONG " a b c\n");
}

Test(rerank_http, mistakes_of_sluicectl)
{
    const struct program_result *r = CTL(&t, "rerank", "--model", MOOD, QUERY, "-");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'mood@4' is not a reranker: use `sluicectl classify`");
    r = CTL(&t, "rerank", "--model", TINY_MODEL, QUERY, "-");
    EXPECT_SAID(r->err, "use `sluicectl complete`");
    r = CTL(&t, "rerank", QUERY, "-");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "missing --model");
    r = CTL(&t, "rerank", "--model", RANKER, QUERY);
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "an argument is missing; usage: sluicectl rerank");
    r = CTL(&t, "rerank", "--model", RANKER, QUERY, "/nowhere");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "cannot read '/nowhere'");
    r = CTL(&t, "rerank", "--model", RANKER, "", "-");
    EXPECT_EXIT(r, 0); /* no lines, no request */
    test_write_file(t.input, "a\n");
    r = CTL(&t, "rerank", "--model", RANKER, "", "-");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'query' is empty");
    r = CTL(&t, "rerank", "--model", RANKER, "\xff", "-");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "the query is not UTF-8");
    r = CTL(&t, "classify", "--model", RANKER, "a");
    EXPECT_EXIT(r, 0);
}
