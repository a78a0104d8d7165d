/* test_pretrained_http.c - models that other programs wrote, in the store of a running daemon. */
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <signal.h>

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_store_add_pretrained(d.store, "bert_masked");
    tiny_store_add_pretrained(d.store, "gguf_bert");
    tiny_store_import(d.store, "prompts");
    daemon_serve(&d, (const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(pretrained_http, .init = start, .fini = stop);

/* From a directory and from a GGUF file. */
Test(pretrained_http, an_encoder_gives_embeddings)
{
    static const struct {
        const char *body;
        size_t width;
    } cases[] = {{"{\"model\":\"bert_masked\",\"input\":[\"a b c\",\"d\"]}", 24},
                 {"{\"model\":\"gguf_bert\",\"input\":[\"a b c\",\"d\"]}", 32}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_response r = http_request(&d, "POST", "/v1/embeddings", cases[i].body);
        cr_assert_eq(r.status, 200, "%s", r.body.data);
        json_t *o = json_from_response(&r);
        cr_expect_eq(json_array_size(json_at(o, "data/1/embedding")), cases[i].width, "%s",
                     r.body.data);
        json_decref(o);
        http_response_release(&r);
    }
}

/* It has no manifest. */
Test(pretrained_http, a_new_one_is_found_at_a_signal)
{
    tiny_store_add_pretrained(d.store, "distilbert_classifier");
    cr_assert_eq(kill(d.pid, SIGHUP), 0);
    metric_wait(&d, "sluice_model_ready{model=\"distilbert_classifier\",version=\"4\"}", 1);
    struct http_response r = http_request(&d, "POST", "/models/distilbert_classifier/predict",
                                          "{\"inputs\":[[\"a b\"],[\"c\"]]}");
    cr_assert_eq(r.status, 200, "%s", r.body.data);
    json_t *o = json_from_response(&r);
    cr_expect_eq(json_array_size(json_at(o, "0")), 3, "%s", r.body.data);
    json_decref(o);
    http_response_release(&r);
}

/* ---- prompts --------------------------------------------------------------------------------- */

/* The response to a body at a path of the encoder with prompts, as JSON. */
static json_t *ask(const char *path, const char *body)
{
    return json_request(&d, "POST", path, body);
}

/* Where the prompt is named, and where it is part of the text. */
Test(pretrained_http, a_prompt_comes_before_each_text)
{
    static const struct {
        const char *path, *named, *written;
    } cases[] = {
        {"/models/prompts/embed",
         "{\"inputs\":[\"uick\",\"\xC3\xA9t\xC3\xA9\"],\"prompt_name\":\"query\"}",
         "{\"inputs\":[\"find: quick\",\"find: q\xC3\xA9t\xC3\xA9\"],"
         "\"prompt_name\":\"none\"}"},
        {"/models/prompts/embed", "{\"inputs\":\"fox\"}",
         "{\"inputs\":\"passage: fox\",\"prompt_name\":\"none\"}"},
        {"/models/prompts/embed_all", "{\"inputs\":\"uick\",\"prompt_name\":\"query\"}",
         "{\"inputs\":\"find: quick\",\"prompt_name\":\"none\"}"},
        {"/models/prompts/tokenize", "{\"inputs\":\"uick\",\"prompt_name\":\"query\"}",
         "{\"inputs\":\"find: quick\",\"prompt_name\":\"none\"}"},
        {"/models/prompts/similarity",
         "{\"inputs\":{\"source_sentence\":\"uick\",\"sentences\":[\"a\",\"b\"]},"
         "\"parameters\":{\"prompt_name\":\"query\"}}",
         "{\"inputs\":{\"source_sentence\":\"find: quick\",\"sentences\":[\"find: qa\",\"find: "
         "qb\"]},"
         "\"parameters\":{\"prompt_name\":\"none\"}}"},
        {"/hf/prompts", "{\"inputs\":\"uick\",\"prompt_name\":\"query\"}",
         "{\"inputs\":\"find: quick\",\"parameters\":{\"prompt_name\":\"none\"}}"},
        {"/v1/embeddings", "{\"model\":\"prompts\",\"input\":\"uick\",\"prompt_name\":\"query\"}",
         "{\"model\":\"prompts\",\"input\":\"find: quick\",\"prompt_name\":\"none\"}"},
        {"/v2/models/prompts/infer",
         "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1],"
         "\"data\":[\"uick\"]}],"
         "\"parameters\":{\"prompt_name\":\"query\"}}",
         "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[1],"
         "\"data\":[\"find: quick\"]}],"
         "\"parameters\":{\"prompt_name\":\"none\"}}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *named = ask(cases[i].path, cases[i].named);
        json_t *written = ask(cases[i].path, cases[i].written);
        cr_expect(json_equal(named, written), "%s %s", cases[i].path, cases[i].named);
        json_decref(named);
        json_decref(written);
    }
}

/* Token ids are taken as they are, and a blank text stays blank. */
Test(pretrained_http, a_prompt_is_for_texts)
{
    json_t *ids = ask("/models/prompts/embed", "{\"inputs\":[[2,5,3]]}");
    json_t *text = ask("/models/prompts/embed", "{\"inputs\":[\"a\"],\"prompt_name\":\"none\"}");
    cr_expect(json_equal(ids, text));
    json_decref(ids);
    json_decref(text);
    json_t *model =
        ask("/models/prompts/embed", "{\"inputs\":[\" \",\"a\"],\"blank_texts\":\"empty\"}");
    cr_expect_eq(json_number_at(model, "0/0"), 0.0);
    json_decref(model);
}

Test(pretrained_http, a_model_says_its_prompts)
{
    struct http_response r = http_request(&d, "GET", "/v1/models/prompts", NULL);
    json_t *o = json_from_response(&r);
    cr_expect_str_eq(json_string_at(o, "sluice/prompts/3"), "query");
    cr_expect_str_eq(json_string_at(o, "sluice/default_prompt_name"), "passage");
    json_decref(o);
    http_response_release(&r);
}

/* In the words of Text Embeddings Inference. */
Test(pretrained_http, a_prompt_that_there_is_not_is_an_error)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *why;
    } cases[] = {
        {"/models/prompts/embed", "{\"inputs\":\"a\",\"prompt_name\":\"x\"}", 422,
         "`prompt_name` is set to `x` but it was not found in the Sentence Transformers prompts of "
         "'prompts@4'. Available prompts: 'document', 'none', 'passage', 'query'."},
        {"/models/prompts/embed", "{\"inputs\":[[5]],\"prompt_name\":\"query\"}", 422,
         "'prompt_name' is for embeddings of texts, not of token ids."},
        {"/models/prompts/tokenize", "{\"inputs\":\"a\",\"prompt_name\":\"x\"}", 422, "Available"},
        {"/models/bert_masked/embed", "{\"inputs\":\"a\",\"prompt_name\":\"x\"}", 422,
         "`prompt_name` is set to `x` but no prompts were found in the Sentence Transformers "
         "configuration of 'bert_masked@4'."},
        {"/hf/bert_masked", "{\"inputs\":\"a [MASK]\",\"parameters\":{\"prompt_name\":\"x\"}}", 422,
         "not for masked tokens"},
        {"/v1/embeddings", "{\"model\":\"prompts\",\"input\":\"a\",\"prompt_name\":\"x\"}", 400,
         "Available prompts"},
        {"/hf/mood", "{\"inputs\":\"a\",\"parameters\":{\"prompt_name\":\"x\"}}", 422,
         "no prompts were found"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_response r = http_request(&d, "POST", cases[i].path, cases[i].body);
        cr_expect_eq(r.status, cases[i].status, "%s: %ld", cases[i].body, r.status);
        cr_expect(strstr(r.body.data, cases[i].why), "%s: %s", cases[i].body, r.body.data);
        http_response_release(&r);
    }
}
