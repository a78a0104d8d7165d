/* test_embed_http.c - embeddings over HTTP, as Text Embeddings Inference, OpenAI and the Open
 * Inference Protocol have them: every shape, every mistake, from outside. */
#include "base/buffer.h"
#include "core/limits.h"
#include "sluice/classifier.h"
#include "sluice/sluice.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/sluicectl_cli.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <math.h>

enum { WIDTH = 32 }; /* of tiny_store_make_base */

#define TEXT "a text without labels"

static struct ctl_target t;

static void start(void)
{
    daemon_make_store(&t.daemon);
    tiny_classifiers_make(t.daemon.store);
    tiny_store_make_base(t.daemon.store);
    daemon_serve(&t.daemon, (const char *const[]){"--default-classifier", MOOD, NULL});
    ctl_reach(&t);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(embed_http, .init = start, .fini = stop);

/* ---- helpers --------------------------------------------------------------------------------- */

static json_t *post(const char *path, const char *body)
{
    return json_request(&t.daemon, "POST", path, body);
}

static void expect_error(const char *path, const char *body, long status, const char *part)
{
    struct http_response answer = http_request(&t.daemon, "POST", path, body);
    cr_expect_eq(answer.status, status, "%s: %s", body, answer.body.data);
    cr_expect(strstr(answer.body.data, part), "%s: '%s' is not in %s", body, part,
              answer.body.data);
    http_response_release(&answer);
}

/* The engine's own answer. */
static void embed_in_process(const char *text, bool normalize, float *out)
{
    struct sl_err err;
    char path[PATH_MAX];
    int32_t ids[64];
    double squares = 0.0;
    const struct sl_classifier_options options = {.max_batch_size = 1, .max_batch_tokens = 64};
    struct sl_engine *engine = sl_engine_create(&(struct sl_engine_options){0}, &err);
    struct sl_model *model = sl_model_open(engine, test_path(path, t.daemon.store, "base/1"), &err);
    EXPECT_OK(model, err);
    struct sl_classifier *embedder = sl_classifier_create(model, &options, &err);
    EXPECT_OK(embedder, err);
    const struct sl_encoding encoding = {
        .text = text, .bytes = strlen(text), .special = true, .ids = ids, .capacity = 64};
    long count = sl_tokenizer_tokenize(sl_model_tokenizer(model), &encoding, &err);
    struct sl_classifier_item item = {.tokens = ids, .count = (int)count};
    EXPECT_OK(sl_classifier_run(embedder, &item, 1, &err), err);
    for (int i = 0; i < WIDTH; i++)
        squares += (double)item.embedding[i] * (double)item.embedding[i];
    for (int i = 0; i < WIDTH; i++)
        out[i] = normalize ? (float)((double)item.embedding[i] / sqrt(squares)) : item.embedding[i];
    sl_classifier_destroy(embedder);
    sl_model_close(model);
    sl_engine_destroy(engine);
}

static void expect_numbers(const json_t *array, const float *expected, int count)
{
    cr_assert_eq(json_array_size(array), (size_t)count);
    for (int i = 0; i < count; i++)
        cr_assert_eq((float)json_number_value(json_array_get(array, (size_t)i)), expected[i],
                     "number %d", i);
}

/* ---- Text Embeddings Inference --------------------------------------------------------------- */

Test(embed_http, tei_nests_the_embedding_of_a_single_text)
{
    float expected[WIDTH];
    embed_in_process(TEXT, true, expected);
    static const char *const paths[] = {
        "/embed",       "/models/base/embed", "/models/base@1/embed", "/embed?model=base",
        "/?model=base", "/models/base"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        json_t *one = post(paths[i], "{\"inputs\":\"" TEXT "\"}");
        cr_assert_eq(json_array_size(one), 1);
        expect_numbers(json_at(one, "0"), expected, WIDTH);
        json_decref(one);
    }
    json_t *two = post("/embed", "{\"inputs\":[\"" TEXT "\",\"line 3\"],\"truncate\":null,"
                                 "\"truncation_direction\":\"Right\",\"prompt_name\":null}");
    cr_assert_eq(json_array_size(two), 2);
    expect_numbers(json_at(two, "0"), expected, WIDTH);
    json_decref(two);
    embed_in_process(TEXT, false, expected);
    json_t *raw = post("/embed", "{\"inputs\":\"" TEXT "\",\"normalize\":false}");
    expect_numbers(json_at(raw, "0"), expected, WIDTH);
    json_decref(raw);
}

Test(embed_http, fewer_dimensions_are_normalized_again)
{
    json_t *few = post("/embed", "{\"inputs\":\"" TEXT "\",\"dimensions\":3}");
    double squares = 0.0;
    cr_assert_eq(json_array_size(json_at(few, "0")), 3);
    for (size_t i = 0; i < 3; i++)
        squares += pow(json_number_value(json_array_get(json_at(few, "0"), i)), 2.0);
    cr_expect_float_eq(squares, 1.0, 1e-6);
    json_decref(few);
    expect_error("/embed", "{\"inputs\":\"a\",\"dimensions\":33}", 422,
                 "'dimensions' is 33; the embeddings of 'base@1' have 32.");
    expect_error("/embed", "{\"inputs\":\"a\",\"dimensions\":0}", 422, "dimensions");
}

Test(embed_http, token_ids_are_embedded_as_they_are)
{
    json_t *tokens = post("/models/base/tokenize", "{\"inputs\":\"" TEXT "\"}");
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"inputs\":[[");
    for (size_t i = 0; i < json_array_size(json_at(tokens, "0")); i++)
        sl_buffer_printf(&body, "%s%lld", i ? "," : "",
                         (long long)json_integer_at(json_array_get(json_at(tokens, "0"), i), "id"));
    sl_buffer_append_string(&body, "]]}");
    float expected[WIDTH];
    embed_in_process(TEXT, true, expected);
    json_t *one = post("/embed", body.data);
    sl_buffer_release(&body);
    expect_numbers(json_at(one, "0"), expected, WIDTH);
    json_decref(one);
    json_decref(tokens);
    expect_error("/embed", "{\"inputs\":[[1,99999]]}", 422, "'inputs[0][1]' is the token id 99999");
    expect_error("/embed", "{\"inputs\":[[]]}", 400, "'inputs[0]' is an empty array");
}

/* As Hugging Face's clients ask for the features of texts. */
Test(embed_http, hugging_face_gets_a_list_of_vectors)
{
    json_t *tei = post("/embed", "{\"inputs\":[\"" TEXT "\",\"b\"]}");
    json_t *hf =
        post("/hf/base", "{\"inputs\":[\"" TEXT "\",\"b\"],\"options\":{\"use_cache\":true}}");
    cr_assert(json_equal(tei, hf));
    json_decref(hf);
    json_decref(tei);
    tei = post("/embed", "{\"inputs\":\"" TEXT "\",\"normalize\":false}");
    hf = post("/hf/base", "{\"inputs\":\"" TEXT "\",\"normalize\":false}");
    cr_assert(json_equal(tei, hf));
    json_decref(hf);
    hf = post("/hf/base", "{\"inputs\":\"" TEXT "\",\"parameters\":{\"normalize\":false}}");
    cr_assert(json_equal(tei, hf));
    json_decref(hf);
    json_decref(tei);
    expect_error("/hf/base", "{\"inputs\":\"a\",\"sluice\":{\"explain\":1}}", 422,
                 "gives embeddings");
}

Test(embed_http, blank_texts_may_be_vectors_of_zero)
{
    static const char *const bodies[][2] = {
        {"/embed", "{\"inputs\":[\"\",\"b\"],\"blank_texts\":\"empty\"}"},
        {"/hf/base", "{\"inputs\":[\" \",\"b\"],\"parameters\":{\"blank_texts\":\"empty\"}}"}};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        json_t *root = post(bodies[i][0], bodies[i][1]);
        const json_t *blank = json_array_get(root, 0), *text = json_array_get(root, 1);
        double sum = 0;
        for (size_t k = 0; k < WIDTH; k++) {
            cr_assert_eq(json_number_value(json_array_get(blank, k)), 0);
            sum += fabs(json_number_value(json_array_get(text, k)));
        }
        cr_assert_gt(sum, 0);
        json_decref(root);
    }
}

/* What OpenAI's clients send at most; more numbers than are written at once. */
Test(embed_http, two_thousand_texts_in_one_request)
{
    enum { TEXTS = 2048 };

    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"model\":\"base\",\"input\":[\"b\"");
    for (int i = 1; i < TEXTS; i++)
        sl_buffer_append_string(&body, i % 7 == 0 ? ",\"b\"" : ",\"a text\"");
    sl_buffer_append_string(&body, "]}");
    cr_assert_gt(TEXTS * WIDTH, SV_EMBEDDED_SLICE);
    json_t *root = post("/v1/embeddings", body.data), *data = json_object_get(root, "data");
    cr_assert_eq(json_array_size(data), TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        const json_t *one = json_array_get(data, i);
        cr_assert_eq(json_integer_at(one, "index"), (int64_t)i);
        cr_assert_eq(json_equal(json_object_get(one, "embedding"),
                                json_object_get(json_array_get(data, 0), "embedding")),
                     i % 7 == 0);
    }
    json_decref(root);
    body.bytes -= 2;
    sl_buffer_append_string(&body, ",\"one more\"]}");
    expect_error("/v1/embeddings", body.data, 400,
                 "'input' holds 2049 texts; at most 2048 are accepted");
    sl_buffer_release(&body);
}

Test(embed_http, tei_errors)
{
    struct http_response answer =
        http_request(&t.daemon, "POST", "/models/mood/embed", "{\"inputs\":\"a\"}");
    tei_expect_error(&answer, 424, "backend",
                     "The model 'mood' gives no embeddings; it classifies texts");
    expect_error("/models/tiny/embed", "{\"inputs\":\"a\"}", 424, "it completes texts");
    expect_error("/models/none/embed", "{\"inputs\":\"a\"}", 404, "does not exist");
    expect_error("/models/tiny", "{\"inputs\":\"a\"}", 424,
                 "does not classify, rank or embed texts; it completes texts");
    expect_error("/embed", "{\"inputs\":\"\"}", 400, "'inputs' is empty");
    expect_error("/embed", "{\"inputs\":[\"a\",\"\"]}", 400, "'inputs[1]' is empty");
    expect_error("/embed", "{\"inputs\":{}}", 422, "'inputs' must be a string");
    expect_error("/embed", "{}", 422, "'inputs' is required");
    expect_error("/embed", "{\"inputs\":\"a\",\"prompt_name\":\"query\"}", 422,
                 "no prompts were found");
    expect_error("/v1/completions", "{\"model\":\"base\",\"prompt\":\"a\"}", 400,
                 "completes no texts; it gives embeddings: use /v1/embeddings");
    expect_error("/models/base/predict", "{\"inputs\":\"a\"}", 424, "it gives embeddings");
}

/* A text that is too long is rejected, or cut on request. */
Test(embed_http, long_texts_and_headers)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"truncate\":true,\"inputs\":[\"a\",\"");
    for (int i = 0; i < 80; i++)
        sl_buffer_append_string(&body, "line ");
    sl_buffer_append_string(&body, "\"]}");
    struct http_response answer = http_request(&t.daemon, "POST", "/embed", body.data);
    cr_assert_eq(answer.status, 200, "%s", answer.body.data);
    cr_expect_str_eq(http_response_header(&answer, "x-sluice-truncated"), "1");
    cr_expect_str_eq(http_response_header(&answer, "x-sluice-model"), "base@1");
    cr_expect(http_response_header(&answer, "x-compute-tokens"));
    cr_expect(http_response_header(&answer, "x-inference-time"));
    http_response_release(&answer);
    memcpy(strstr(body.data, "true"), "null", 4);
    expect_error("/embed", body.data, 422, "the context of 'base@1' has 64");
    sl_buffer_release(&body);
    cr_expect_gt(metric_sum(&t.daemon, "sluice_classified_texts_total", "model=\"base\""), 0.0);
}

/* ---- OpenAI ---------------------------------------------------------------------------------- */

Test(embed_http, openai_lists_embeddings_with_usage)
{
    float expected[WIDTH];
    embed_in_process(TEXT, true, expected);
    json_t *list = post("/v1/embeddings",
                        "{\"model\":\"base\",\"input\":[\"line 3\",\"" TEXT "\"],\"user\":\"u\"}");
    cr_assert_str_eq(json_string_at(list, "object"), "list");
    cr_assert_str_eq(json_string_at(list, "model"), "base@1");
    cr_assert_eq(json_array_size(json_at(list, "data")), 2);
    cr_assert_str_eq(json_string_at(list, "data/1/object"), "embedding");
    cr_assert_eq(json_integer_at(list, "data/1/index"), 1);
    expect_numbers(json_at(list, "data/1/embedding"), expected, WIDTH);
    cr_assert_gt(json_integer_at(list, "usage/prompt_tokens"), 5);
    cr_assert_eq(json_integer_at(list, "usage/prompt_tokens"),
                 json_integer_at(list, "usage/total_tokens"));
    json_decref(list);
}

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = strchr(digits, c);
    cr_assert(c && found);
    return (int)(found - digits);
}

Test(embed_http, openai_base64_is_little_endian_fp32)
{
    float expected[WIDTH], got[WIDTH];
    unsigned char bytes[WIDTH * 4 + 3];
    embed_in_process(TEXT, true, expected);
    json_t *list = post("/v1/embeddings", "{\"model\":\"base\",\"input\":\"" TEXT
                                          "\",\"encoding_format\":\"base64\"}");
    const char *text = json_string_at(list, "data/0/embedding");
    cr_assert_eq(strlen(text), (WIDTH * 4 + 2) / 3 * 4);
    for (size_t i = 0, at = 0; text[i] && text[i + 2] != '='; i += 4, at += 3) {
        int bits = digit(text[i]) << 18 | digit(text[i + 1]) << 12 | digit(text[i + 2]) << 6 |
                   (text[i + 3] == '=' ? 0 : digit(text[i + 3]));
        bytes[at] = (unsigned char)(bits >> 16);
        bytes[at + 1] = (unsigned char)(bits >> 8);
        bytes[at + 2] = (unsigned char)bits;
    }
    memcpy(got, bytes, sizeof got);
    cr_expect_arr_eq(got, expected, sizeof got);
    json_decref(list);
}

Test(embed_http, openai_errors)
{
    expect_error("/v1/embeddings", "{\"model\":\"mood\",\"input\":\"a\"}", 400,
                 "\"code\":\"no_embeddings\"");
    expect_error("/v1/embeddings", "{\"model\":\"none\",\"input\":\"a\"}", 404,
                 "\"code\":\"model_not_found\"");
    expect_error("/v1/embeddings", "{\"input\":\"a\"}", 400, "\"param\":\"model\"");
    expect_error("/v1/embeddings", "{\"model\":\"\",\"input\":\"a\"}", 400, "\"param\":\"model\"");
    expect_error("/v1/embeddings", "{\"model\":\"base\",\"input\":\"\"}", 400,
                 "\"param\":\"input\"");
    expect_error("/v1/embeddings", "{\"model\":\"base\",\"input\":\"a\",\"dimensions\":40}", 400,
                 "\"param\":\"dimensions\"");
    expect_error("/v1/embeddings",
                 "{\"model\":\"base\",\"input\":\"a\",\"encoding_format\":\"hex\"}", 400,
                 "\"param\":\"encoding_format\"");
    expect_error("/v1/embeddings", "{\"model\":\"base\",\"input\":[]}", 400, "\"param\":\"input\"");
    expect_error("/v1/embeddings", "{\"model\":\"base\",\"input\":[5,6]}", 400,
                 "'input' is token ids.");
    expect_error("/v1/embeddings", "{\"model\":\"base\",\"input\":[[5,6],[7]]}", 400,
                 "from LangChain with check_embedding_ctx_length=False; /embed takes");
}

/* ---- Open Inference Protocol ----------------------------------------------------------------- */

#define INPUT(data)                                                                                \
    "\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"" data "\"]}]"

Test(embed_http, oip_gives_a_tensor)
{
    float expected[WIDTH];
    embed_in_process(TEXT, true, expected);
    json_t *all = post("/v2/models/base/infer", "{" INPUT(TEXT) "}");
    cr_assert_eq(json_array_size(json_at(all, "outputs")), 3);
    cr_assert_str_eq(json_string_at(all, "outputs/0/name"), "embedding");
    cr_assert_str_eq(json_string_at(all, "outputs/0/datatype"), "FP32");
    cr_assert_eq(json_integer_at(all, "outputs/0/shape/0"), 1);
    cr_assert_eq(json_integer_at(all, "outputs/0/shape/1"), WIDTH);
    expect_numbers(json_at(all, "outputs/0/data"), expected, WIDTH);
    json_decref(all);
    json_t *about = NULL;
    struct http_response answer = http_request(&t.daemon, "GET", "/v2/models/base", NULL);
    about = json_from_response(&answer);
    cr_assert_str_eq(json_string_at(about, "outputs/0/name"), "embedding");
    cr_assert_eq(json_integer_at(about, "outputs/0/shape/1"), WIDTH);
    cr_assert_str_eq(json_string_at(about, "inputs/0/datatype"), "BYTES");
    json_decref(about);
    http_response_release(&answer);
    expect_error("/v2/models/base/infer", "{" INPUT("a") ",\"outputs\":[{\"name\":\"probs\"}]}",
                 400, "the outputs of 'base@1' are: embedding, depth, truncated.");
    expect_error("/v2/models/mood/infer", "{" INPUT("a") ",\"outputs\":[{\"name\":\"embedding\"}]}",
                 400, "the outputs of 'mood@4' are: label, probs, logits, depth, truncated.");
    expect_error("/v2/models/tiny/infer", "{" INPUT("a") "}", 400, "it completes texts");
}

Test(embed_http, oip_binary_tensors)
{
    float expected[WIDTH], got[WIDTH];
    embed_in_process(TEXT, false, expected);
    struct http_response answer = http_request(
        &t.daemon, "POST", "/v2/models/base/infer",
        "{" INPUT(
            TEXT) ",\"parameters\":{\"normalize\":false},"
                  "\"outputs\":[{\"name\":\"embedding\",\"parameters\":{\"binary_data\":true}}]}");
    cr_assert_eq(answer.status, 200, "%s", answer.body.data);
    const char *length = http_response_header(&answer, "Inference-Header-Content-Length");
    cr_assert(length);
    size_t json_bytes = (size_t)strtoul(length, NULL, 10);
    cr_assert_eq(answer.body.bytes - json_bytes, sizeof got);
    memcpy(got, answer.body.data + json_bytes, sizeof got);
    cr_expect_arr_eq(got, expected, sizeof got);
    http_response_release(&answer);
}

Test(embed_http, models_and_info_say_what_the_model_gives)
{
    struct http_response answer = http_request(&t.daemon, "GET", "/v1/models/base", NULL);
    json_t *about = json_from_response(&answer);
    cr_assert_str_eq(json_string_at(about, "sluice/task"), "embedding");
    cr_assert_str_eq(json_string_at(about, "sluice/pooling"), "mean");
    cr_assert_eq(json_integer_at(about, "sluice/dimensions"), WIDTH);
    json_decref(about);
    http_response_release(&answer);
    answer = http_request(&t.daemon, "GET", "/models/base/info", NULL);
    about = json_from_response(&answer);
    cr_assert_str_eq(json_string_at(about, "model_type/embedding/pooling"), "mean");
    json_decref(about);
    http_response_release(&answer);
}

/* ---- sluicectl ------------------------------------------------------------------------------- */

Test(embed_http, sluicectl_embeds)
{
    float expected[WIDTH];
    embed_in_process(TEXT, true, expected);
    const struct program_result *r = CTL(&t, "embed", "--json", TEXT);
    EXPECT_EXIT(r, 0);
    json_t *one = json_from_text(r->out);
    cr_assert_str_eq(json_string_at(one, "text"), TEXT);
    expect_numbers(json_at(one, "embedding"), expected, WIDTH);
    cr_assert_eq(json_integer_at(one, "tokens_cut"), 0);
    json_decref(one);
    test_write_file(t.input, TEXT "\n\nline 7\n");
    r = CTL(&t, "embed", "--model", "base");
    EXPECT_EXIT(r, 0);
    char *at = (char *)(uintptr_t)r->out;
    for (int i = 0; i < WIDTH; i++)
        cr_assert_eq(strtof(at, &at), expected[i], "number %d", i);
    cr_assert_eq(strncmp(at, "\t" TEXT "\n", sizeof TEXT + 1), 0, "%s", at);
    EXPECT_SAID(r->out, "\tline 7\n");
    r = CTL(&t, "embed", "--model", MOOD, "a");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'mood@4' gives no embeddings: use `sluicectl classify`");
    r = CTL(&t, "embed", "--model", "tiny", "a");
    EXPECT_SAID(r->err, "use `sluicectl complete`");
    r = CTL(&t, "classify", "--model", "base", "a");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'base@1' gives embeddings: use `sluicectl embed`");
}

/* The same numbers without the daemon. */
Test(embed_http, sluice_embeds)
{
    static struct program_result r;
    float expected[WIDTH];
    char model[PATH_MAX];
    embed_in_process(TEXT, true, expected);
    (void)test_path(model, t.daemon.store, "base/1");
    test_write_file(t.input, TEXT "\n\nline\t7\n");
    sluice_expect_success(&r, ARGS("embed", model, t.input));
    char *at = r.out;
    for (int i = 0; i < WIDTH; i++)
        cr_assert_eq(strtof(at, &at), expected[i], "number %d", i);
    cr_assert_eq(strncmp(at, "\t" TEXT "\n", sizeof TEXT + 1), 0, "%s", at);
    EXPECT_SAID(r.out, "\tline 7\n");
    embed_in_process(TEXT, false, expected);
    test_write_file(t.input, TEXT "\n");
    sluice_expect_success(&r, ARGS("embed", model, t.input, "--json", "--raw"));
    json_t *one = json_from_text(r.out);
    expect_numbers(json_at(one, "embedding"), expected, WIDTH);
    cr_assert_eq(json_integer_at(one, "line"), 1);
    json_decref(one);
    sluice_run(&r, ARGS("embed", test_path(model, t.daemon.store, "mood/4"), t.input));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "use `sluice classify`");
}

Test(embed_http, load_tests_count_texts)
{
    FILE *texts = fopen(t.input, "we");
    cr_assert(texts && fputs(TEXT "\nanother\n", texts) >= 0 && fclose(texts) == 0);
    const struct program_result *r = CTL(&t, "bench", "--embed", t.input, "--requests", "10",
                                         "--connections", "3", "--texts", "2", "--json");
    EXPECT_EXIT(r, 0);
    json_t *o = json_from_text(r->out);
    cr_expect_str_eq(json_string_value(json_object_get(o, "bench")), "embeddings");
    cr_expect_str_eq(json_string_value(json_object_get(o, "model")), "base");
    cr_expect_eq(json_integer_at(o, "texts"), 20);
    cr_expect_eq(json_integer_at(o, "failed"), 0);
    json_decref(o);
    r = CTL(&t, "bench", "--embed", t.input, "--classify", t.input);
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "give --classify or --embed, not both");
}

/* ---- a daemon without classifiers ------------------------------------------------------------ */

Test(embed_root, embeds_where_nothing_classifies)
{
    struct daemon d;
    daemon_make_store(&d);
    tiny_store_make_base(d.store);
    daemon_serve(&d, (const char *const[]){NULL});
    struct http_response answer = http_request(&d, "POST", "/", "{\"inputs\":\"" TEXT "\"}");
    cr_assert_eq(answer.status, 200, "%s", answer.body.data);
    json_t *root = json_from_response(&answer);
    cr_expect_eq(json_array_size(json_at(root, "0")), WIDTH);
    json_decref(root);
    http_response_release(&answer);
    daemon_stop(&d);
}
