/* test_pipelines_http.c - POST /hf/{name} responds as the pipelines of Hugging Face's transformers
 * did when golden/record_pretrained.py asked them. */
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/model_fixture.h"
#include "support/sluice_cli.h"
#include "support/sluicectl_cli.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define GOLDEN SL_SOURCE_DIR "/tests/golden/pretrained/"

static struct ctl_target t;

static const char *const models[] = {
    "bert_tagger",       "distilbert_tagger", "roberta_tagger",     "xlm_roberta_tagger",
    "electra_tagger",    "modernbert_tagger", "bert_masked",        "bert_untied_masked",
    "distilbert_masked", "roberta_masked",    "xlm_roberta_masked", "electra_masked",
    "modernbert_masked", "bert_nli"};

static void start(void)
{
    daemon_make_store(&t.daemon);
    tiny_classifiers_make(t.daemon.store);
    for (size_t i = 0; i < COUNT(models); i++)
        tiny_store_add_pretrained(t.daemon.store, models[i]);
    daemon_serve(&t.daemon, (const char *const[]){"--precision", "fp32", NULL});
    ctl_reach(&t);
}

/* The files of sentence-transformers make it a sparse encoder, as SPLADE's models are published. */
static void add_sparse_files(const char *directory, const char *strategy)
{
    char path[2 * PATH_MAX], pooling[128];
    (void)snprintf(path, sizeof path, "%s/modules.json", directory);
    test_write_file(path, "[{\"path\":\"\",\"type\":\"sentence_transformers.sparse_encoder.models."
                          "MLMTransformer\"},{\"path\":\"1_SpladePooling\",\"type\":"
                          "\"sentence_transformers.sparse_encoder.models.SpladePooling\"}]");
    (void)snprintf(path, sizeof path, "%s/1_SpladePooling", directory);
    cr_assert_eq(mkdir(path, 0777), 0);
    (void)snprintf(path, sizeof path, "%s/1_SpladePooling/config.json", directory);
    (void)snprintf(pooling, sizeof pooling,
                   "{\"pooling_strategy\":\"%s\",\"activation_function\":\"relu\"}", strategy);
    test_write_file(path, pooling);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(pipelines_http, .init = start, .fini = stop, .timeout = 120);

/* -- as recorded ------------------------------------------------------------------------------ */

// NOLINTBEGIN(misc-no-recursion): as deep as a response that was recorded

static void expect_same(const json_t *have, const json_t *want, const char *request);

static void expect_same_members(const json_t *have, const json_t *want, const char *request)
{
    const char *key;
    json_t *value;
    cr_assert_eq(json_object_size(have), json_object_size(want), "%s", request);
    json_object_foreach ((json_t *)(uintptr_t)want, key, value)
        expect_same(json_object_get(have, key), value, request);
}

/* Numbers may differ by the order of additions in fp32. */
static void expect_same(const json_t *have, const json_t *want, const char *request)
{
    cr_assert(have, "%s: a member is missing", request);
    if (json_is_real(want)) {
        const double wanted = json_real_value(want), bound = 1e-5 * fmax(1.0, fabs(wanted));
        cr_assert_float_eq(json_number_value(have), wanted, bound, "%s: %.9g, not %.9g", request,
                           json_number_value(have), wanted);
    } else if (json_is_object(want)) {
        expect_same_members(have, want, request);
    } else if (json_is_array(want)) {
        cr_assert_eq(json_array_size(have), json_array_size(want), "%s", request);
        for (size_t i = 0; i < json_array_size(want); i++)
            expect_same(json_array_get(have, i), json_array_get(want, i), request);
    } else {
        char *text = json_dumps(have, JSON_ENCODE_ANY);
        cr_assert(json_equal(have, want), "%s: %s", request, text);
        free(text);
    }
}

// NOLINTEND(misc-no-recursion)

static void check(const char *model, const json_t *recorded)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/hf/%s", model);
    json_t *body = json_pack("{s:O, s:O}", "inputs", json_at(recorded, "inputs"), "parameters",
                             json_at(recorded, "parameters"));
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *response = tei_post(&t.daemon, path, text);
    expect_same(response, json_at(recorded, "outputs"), text);
    json_decref(response);
    json_decref(body);
    free(text);
}

Test(pipelines_http, responses_are_those_of_transformers)
{
    for (size_t i = 0; i < COUNT(models); i++) {
        char path[PATH_MAX], *line = NULL;
        size_t room = 0;
        (void)snprintf(path, sizeof path, GOLDEN "%s/pipeline.jsonl", models[i]);
        FILE *file = fopen(path, "re");
        cr_assert(file, "%s", path);
        while (getline(&line, &room, file) > 0) {
            json_t *recorded = json_from_text(line);
            check(models[i], recorded);
            json_decref(recorded);
        }
        free(line);
        (void)fclose(file);
    }
}

/* -- labels of tokens ------------------------------------------------------------------------- */

#define TAGGER "bert_tagger"

/* The entities of texts in the Open Inference Protocol are JSON in strings. */
Test(pipelines_http, oip_gives_the_same_entities)
{
    json_t *want = tei_post(&t.daemon, "/hf/" TAGGER,
                            "{\"inputs\":[\"a bc\",\"d\"],\"parameters\":"
                            "{\"aggregation_strategy\":\"max\",\"ignore_labels\":[]}}");
    struct http_response r = http_request(
        &t.daemon, "POST", "/v2/models/" TAGGER "/infer",
        "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[2],\"data\":"
        "[\"a bc\",\"d\"]}],\"parameters\":{\"aggregation_strategy\":\"max\","
        "\"ignore_labels\":[]}}");
    cr_assert_eq(r.status, 200, "%s", r.body.data);
    json_t *o = json_from_response(&r);
    cr_assert_str_eq(json_string_at(o, "outputs/0/name"), "entities");
    cr_assert_eq(json_array_size(json_at(o, "outputs")), 3); /* depth and truncated */
    for (size_t i = 0; i < 2; i++) {
        json_t *have =
            json_from_text(json_string_value(json_array_get(json_at(o, "outputs/0/data"), i)));
        cr_assert(json_equal(have, json_array_get(want, i)), "%s", r.body.data);
        json_decref(have);
    }
    json_decref(o);
    json_decref(want);
    http_response_release(&r);
}

Test(pipelines_http, a_text_has_the_same_entities_alone_and_among_others)
{
    static const char *const texts[] = {"the a b", "xyz", "a bc def ghi a", "q r"};
    json_t *all = tei_post(&t.daemon, "/hf/" TAGGER,
                           "{\"inputs\":[\"the a b\",\"xyz\",\"a bc def ghi a\",\"q r\"]}");
    for (size_t i = 0; i < COUNT(texts); i++) {
        char body[64];
        (void)snprintf(body, sizeof body, "{\"inputs\":\"%s\"}", texts[i]);
        json_t *one = tei_post(&t.daemon, "/hf/" TAGGER, body);
        cr_assert(json_equal(one, json_array_get(all, i)), "%s", texts[i]);
        json_decref(one);
    }
    json_decref(all);
}

Test(pipelines_http, what_a_token_classifier_is)
{
    struct http_response r = http_request(&t.daemon, "GET", "/models/" TAGGER "/info", NULL);
    json_t *o = json_from_response(&r);
    cr_assert_str_eq(json_string_at(o, "model_type/token_classifier/id2label/2"), "I-PER");
    cr_assert_null(json_at(o, "model_type/token_classifier/problem_type"));
    json_decref(o);
    http_response_release(&r);
    r = http_request(&t.daemon, "GET", "/v1/models/" TAGGER, NULL);
    o = json_from_response(&r);
    cr_assert_str_eq(json_string_at(o, "sluice/task"), "token_classification");
    cr_assert_str_eq(json_string_at(o, "sluice/labels/1"), "B-PER");
    json_decref(o);
    http_response_release(&r);
    r = http_request(&t.daemon, "GET", "/v2/models/" TAGGER, NULL);
    o = json_from_response(&r);
    cr_assert_str_eq(json_string_at(o, "outputs/0/name"), "entities");
    cr_assert_str_eq(json_string_at(o, "outputs/0/datatype"), "BYTES");
    json_decref(o);
    http_response_release(&r);
}

/* -- masked tokens ---------------------------------------------------------------------------- */

#define FILLER "bert_masked"

/* The path may name a task, as that of Hugging Face's router. */
Test(pipelines_http, a_model_has_several_tasks)
{
    json_t *fills = tei_post(&t.daemon, "/hf/" FILLER "/pipeline/fill-mask",
                             "{\"inputs\":\"a [MASK]\",\"parameters\":{\"top_k\":1}}");
    cr_assert_eq(json_array_size(fills), 1);
    json_decref(fills);
    json_t *vectors = tei_post(&t.daemon, "/hf/" FILLER "/pipeline/feature-extraction",
                               "{\"inputs\":\"a [MASK]\"}");
    json_t *embeddings =
        tei_post(&t.daemon, "/models/" FILLER "/embed", "{\"inputs\":\"a [MASK]\"}");
    cr_assert(json_equal(vectors, embeddings));
    json_decref(vectors);
    json_decref(embeddings);
}

Test(pipelines_http, many_masks_take_several_batches)
{
    char body[2048] = "{\"inputs\":[", request[64];
    for (int i = 0; i < 40; i++)
        (void)snprintf(body + strlen(body), sizeof body - strlen(body), "%s\"[MASK] %c [MASK]\"",
                       i ? "," : "", 'a' + i % 26);
    (void)snprintf(body + strlen(body), sizeof body - strlen(body), "]}");
    json_t *all = tei_post(&t.daemon, "/hf/" FILLER, body);
    cr_assert_eq(json_array_size(all), 40);
    for (size_t i = 0; i < 26; i++) {
        (void)snprintf(request, sizeof request, "{\"inputs\":\"[MASK] %c [MASK]\"}",
                       (char)('a' + i));
        json_t *one = tei_post(&t.daemon, "/hf/" FILLER, request);
        cr_assert(json_equal(one, json_array_get(all, i)), "%s", request);
        json_decref(one);
    }
    json_decref(all);
}

/* Each token for a mask repeats the text: a small request could ask for gigabytes. */
Test(pipelines_http, the_fills_of_a_request_are_bounded)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"parameters\":{\"top_k\":57},\"inputs\":[");
    for (int i = 0; i < 60; i++) {
        sl_buffer_append_string(&body, i ? ",\"" : "\"");
        for (int k = 0; k < 28; k++)
            sl_buffer_append_string(&body, "[MASK]");
        sl_buffer_append_string(&body, "\"");
    }
    sl_buffer_append_string(&body, "]}");
    struct http_response answer = http_request(&t.daemon, "POST", "/hf/" FILLER, body.data);
    tei_expect_error(&answer, 422, "validation", "57 tokens for each mask make a response with");
    memcpy(strstr(body.data, "57"), " 5", 2);
    json_decref(tei_post(&t.daemon, "/hf/" FILLER, body.data));
    sl_buffer_release(&body);
}

/* -- embeddings of tokens --------------------------------------------------------------------- */

/* Their mean is the embedding of the text. */
Test(pipelines_http, embeddings_of_all_tokens)
{
    json_t *all =
        tei_post(&t.daemon, "/models/" FILLER "/embed_all", "{\"inputs\":[\"a b\",\"c\"]}");
    json_t *pooled = tei_post(&t.daemon, "/models/" FILLER "/embed",
                              "{\"inputs\":[\"a b\",\"c\"],\"normalize\":false}");
    cr_assert_eq(json_array_size(json_at(all, "0")), 4); /* with the special tokens */
    cr_assert_eq(json_array_size(json_at(all, "1")), 3);
    for (size_t text = 0; text < 2; text++)
        for (size_t i = 0; i < 24; i++) {
            const json_t *tokens = json_array_get(all, text);
            double sum = 0.0;
            for (size_t k = 0; k < json_array_size(tokens); k++)
                sum += json_number_value(json_array_get(json_array_get(tokens, k), i));
            cr_assert_float_eq(sum / (double)json_array_size(tokens),
                               json_number_value(json_array_get(json_array_get(pooled, text), i)),
                               1e-5);
        }
    json_decref(all);
    json_decref(pooled);
}

/* -- sparse embeddings ------------------------------------------------------------------------ */

/* By the logits of every token, which the model gives where masks are. */
static void expect_sparse(const json_t *have, const char *text)
{
    struct in_process_classifier c = in_process_open_in(t.daemon.store, FILLER, "fp32");
    struct sl_err err;
    int32_t ids[64];
    long count = sl_tokenizer_tokenize(sl_model_tokenizer(c.model),
                                       &(struct sl_encoding){.text = text,
                                                             .bytes = strlen(text),
                                                             .special = true,
                                                             .ids = ids,
                                                             .capacity = COUNT(ids)},
                                       &err);
    struct sl_classifier_item item = {
        .tokens = ids, .count = (int)count, .output = SL_OUTPUT_SPARSE};
    size_t at = 0;
    EXPECT_OK(sl_classifier_run(c.classifier, &item, 1, &err), err);
    for (int i = 0; i < sl_model_info(c.model)->vocab; i++) {
        if (item.embedding[i] == 0.0f)
            continue;
        const json_t *entry = json_array_get(have, at++);
        cr_assert_eq(json_integer_at(entry, "index"), i);
        cr_assert_eq((float)json_number_at(entry, "value"), item.embedding[i]);
    }
    cr_assert_eq(json_array_size(have), at);
    cr_assert_gt(at, 0);
    in_process_close(&c);
}

Test(pipelines_http, sparse_encoders_of_sentence_transformers)
{
    struct sl_err err;
    char from[64], directory[PATH_MAX + 64];
    for (int i = 0; i < 2; i++) {
        const char *strategy = i == 0 ? "max" : "sum";
        (void)snprintf(from, sizeof from, "%s/4", FILLER);
        (void)snprintf(directory, sizeof directory, "splade/%d", i + 1);
        tiny_store_copy(t.daemon.store, from, directory);
        (void)snprintf(directory, sizeof directory, "%s/splade/%d", t.daemon.store, i + 1);
        add_sparse_files(directory, strategy);
        struct sl_engine *engine = fixture_engine(NULL, 1);
        struct sl_model *m = sl_model_open(engine, directory, &err);
        if (i == 0)
            EXPECT_OK(m, err);
        else
            cr_assert(!m && strstr(err.text, "'pooling_strategy' is 'sum', which is not"), "%s",
                      err.text);
        cr_assert(!m || sl_model_info(m)->output_size[SL_OUTPUT_SPARSE] == 57);
        sl_model_close(m);
        sl_engine_destroy(engine);
    }
}

Test(pipelines_http, sparse_embeddings_are_those_of_tei)
{
    json_t *one = tei_post(&t.daemon, "/models/" FILLER "/embed_sparse", "{\"inputs\":\"a bc\"}");
    json_t *all = tei_post(&t.daemon, "/embed_sparse?model=" FILLER,
                           "{\"inputs\":[\"d\",\"a bc\",\"x y z\"],\"truncate\":true,"
                           "\"normalize\":true}");
    cr_assert_eq(json_array_size(one), 1);
    cr_assert_eq(json_array_size(all), 3);
    expect_sparse(json_at(one, "0"), "a bc");
    expect_sparse(json_at(all, "0"), "d");
    expect_sparse(json_at(all, "2"), "x y z");
    cr_assert(json_equal(json_at(one, "0"), json_at(all, "1")));
    json_decref(one);
    json_decref(all);
}

/* -- entailment ------------------------------------------------------------------------------- */

#define NLI "bert_nli"

/* By the pairs as they are classified, each text with its hypotheses. */
Test(pipelines_http, candidate_labels_are_scored_by_pairs)
{
    json_t *scored =
        tei_post(&t.daemon, "/hf/" NLI,
                 "{\"inputs\":\"a b\",\"parameters\":{\"candidate_labels\":[\"c\",\"d\"],"
                 "\"hypothesis_template\":\"it is {}\"}}");
    json_t *pairs = tei_post(&t.daemon, "/models/" NLI "/predict",
                             "{\"inputs\":[[\"a b\",\"it is c\"],[\"a b\",\"it is d\"]],"
                             "\"raw_scores\":true}");
    double logits[2] = {0};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            const json_t *label = json_array_get(json_array_get(pairs, i), k);
            if (strcmp(json_string_at(label, "label"), "ENTAILMENT") == 0)
                logits[i] = json_number_at(label, "score");
        }
    const bool first = logits[0] >= logits[1];
    cr_assert_str_eq(json_string_at(scored, "0/label"), first ? "c" : "d");
    cr_assert_float_eq(json_number_at(scored, "0/score"),
                       1.0 / (1.0 + exp(-fabs(logits[0] - logits[1]))), 1e-6);
    json_decref(scored);
    json_decref(pairs);
}

/* A template of 64 KiB once for each of 300 texts. */
Test(pipelines_http, the_bytes_of_pairs_are_bounded)
{
    struct sl_buffer body = {0};
    sl_buffer_append_string(&body, "{\"parameters\":{\"truncation\":true,\"candidate_labels\":"
                                   "[\"a\"],\"hypothesis_template\":\"{}");
    for (int i = 0; i < 1 << 13; i++)
        sl_buffer_append_string(&body, "aaaaaaaa");
    sl_buffer_append_string(&body, "\"},\"inputs\":[\"b\"");
    for (int i = 1; i < 300; i++)
        sl_buffer_append_string(&body, ",\"b\"");
    sl_buffer_append_string(&body, "]}");
    struct http_response answer = http_request(&t.daemon, "POST", "/hf/bert_nli", body.data);
    tei_expect_error(&answer, 422, "validation",
                     "each label with 19661400 bytes; at most 16777216");
    sl_buffer_release(&body);
}

Test(pipelines_http, oip_takes_pairs)
{
    json_t *want = tei_post(&t.daemon, "/models/" NLI "/predict",
                            "{\"inputs\":[[\"a\",\"b c\"],[\"d\",\"e\"]]}");
    static const char *const data[] = {"[[\"a\",\"b c\"],[\"d\",\"e\"]]",
                                       "[\"a\",\"b c\",\"d\",\"e\"]"};
    for (size_t i = 0; i < COUNT(data); i++) {
        char body[256];
        (void)snprintf(body, sizeof body,
                       "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[2,2],"
                       "\"data\":%s}],\"outputs\":[{\"name\":\"label\"}]}",
                       data[i]);
        struct http_response r = http_request(&t.daemon, "POST", "/v2/models/" NLI "/infer", body);
        cr_assert_eq(r.status, 200, "%s", r.body.data);
        json_t *o = json_from_response(&r);
        cr_assert_eq(json_array_size(json_at(o, "outputs/0/data")), 2);
        cr_assert_str_eq(json_string_at(o, "outputs/0/data/0"), json_string_at(want, "0/0/label"));
        cr_assert_str_eq(json_string_at(o, "outputs/0/data/1"), json_string_at(want, "1/0/label"));
        json_decref(o);
        http_response_release(&r);
    }
    json_decref(want);
    struct http_response r = http_request(&t.daemon, "POST", "/v2/models/" TAGGER "/infer",
                                          "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\","
                                          "\"shape\":[1,2],\"data\":[\"a\",\"b\"]}]}");
    cr_assert_eq(r.status, 400);
    cr_assert(
        strstr(r.body.data, "'text[0]' is a pair of texts, and 'bert_tagger@4' does not take"),
        "%s", r.body.data);
    http_response_release(&r);
}

Test(pipelines_http, models_say_what_they_can_do)
{
    static const struct {
        const char *model, *abilities;
        bool takes_pairs;
    } cases[] = {
        {NLI, "[\"classification\",\"zero_shot_classification\"]", true},
        {TAGGER, "[\"token_classification\"]", false},
        {FILLER, "[\"fill_mask\",\"embedding\",\"sparse_embedding\",\"token_embedding\"]", false}};

    static const char *const places[][3] = {{"/v1/models/", "", "sluice"},
                                            {"/models/", "/info", "sluice"},
                                            {"/v2/models/", "", "parameters"}};
    for (size_t i = 0; i < COUNT(cases) * COUNT(places); i++) {
        char path[128];
        const size_t at = i % COUNT(places), one = i / COUNT(places);
        (void)snprintf(path, sizeof path, "%s%s%s", places[at][0], cases[one].model, places[at][1]);
        struct http_response r = http_request(&t.daemon, "GET", path, NULL);
        json_t *o = json_from_response(&r), *want = json_from_text(cases[one].abilities);
        const json_t *facts = json_at(o, places[at][2]);
        cr_assert(json_equal(json_at(facts, "abilities"), want), "%s: %s", path, r.body.data);
        cr_assert_eq(json_is_true(json_at(facts, "takes_pairs")), cases[one].takes_pairs);
        json_decref(want);
        json_decref(o);
        http_response_release(&r);
    }
}

/* -- similarity ------------------------------------------------------------------------------- */

Test(pipelines_http, similarities_are_cosines_of_embeddings)
{
    static const char *const paths[] = {
        "/hf/" FILLER, "/hf/" FILLER "/pipeline/sentence-similarity",
        "/models/" FILLER "/similarity", "/similarity?model=" FILLER};
    json_t *vectors =
        tei_post(&t.daemon, "/models/" FILLER "/embed", "{\"inputs\":[\"a b\",\"c\",\"a b\"]}");
    double cosine = 0.0;
    for (size_t i = 0; i < 24; i++)
        cosine += json_number_value(json_array_get(json_at(vectors, "0"), i)) *
                  json_number_value(json_array_get(json_at(vectors, "1"), i));
    for (size_t i = 0; i < COUNT(paths); i++) {
        json_t *r =
            tei_post(&t.daemon, paths[i],
                     "{\"inputs\":{\"source_sentence\":\"a b\",\"sentences\":[\"c\",\"a b\"]}}");
        cr_assert_eq(json_array_size(r), 2);
        cr_assert_float_eq(json_number_at(r, "0"), cosine, 1e-6, "%s", paths[i]);
        cr_assert_float_eq(json_number_at(r, "1"), 1.0, 1e-6, "%s", paths[i]);
        json_decref(r);
    }
    json_decref(vectors);
}

/* Clients have the parameters of embeddings outside of `parameters`. */
Test(pipelines_http, features_have_their_parameters_beside_the_inputs)
{
    json_t *r = tei_post(&t.daemon, "/hf/" FILLER "/pipeline/feature-extraction",
                         "{\"inputs\":\"a b\",\"dimensions\":2,\"truncate\":true,"
                         "\"truncation_direction\":\"left\"}");
    json_t *want =
        tei_post(&t.daemon, "/models/" FILLER "/embed", "{\"inputs\":\"a b\",\"dimensions\":2}");
    cr_assert(json_equal(r, want));
    json_decref(r);
    json_decref(want);
}

/* -- terminal --------------------------------------------------------------------------------- */

static void expect_first_row(const char *out, const json_t *entity, const char *text)
{
    char row[256];
    (void)snprintf(row, sizeof row, "%s\t%.6g\t%s\t%s\n", json_string_at(entity, "entity_group"),
                   json_number_at(entity, "score"), json_string_at(entity, "word"), text);
    cr_assert_eq(strncmp(out, row, strlen(row)), 0, "%s: %s", row, out);
}

Test(pipelines_http, sluicectl_and_sluice_print_entities)
{
    static const char text[] = "The qu\xC3\xA9"
                               "bec (a.b)";
    static struct program_result out;
    char model[PATH_MAX];
    json_t *want = tei_post(&t.daemon, "/hf/" TAGGER,
                            "{\"inputs\":\"The qu\xC3\xA9"
                            "bec (a.b)\",\"parameters\":"
                            "{\"aggregation_strategy\":\"simple\"}}");
    cr_assert_gt(json_array_size(want), 0);
    const struct program_result *r = CTL(&t, "classify", "--model", TAGGER, text);
    EXPECT_EXIT(r, 0);
    expect_first_row(r->out, json_at(want, "0"), text);
    r = CTL(&t, "classify", "--json", "--model", TAGGER, text);
    EXPECT_EXIT(r, 0);
    json_t *object = json_from_text(r->out);
    cr_assert(json_equal(json_at(object, "entities/0/start"), json_at(want, "0/start")));
    json_decref(object);
    (void)snprintf(model, sizeof model, GOLDEN "%s", TAGGER);
    test_write_file(t.input, text);
    sluice_expect_success(&out, ARGS("classify", "--precision", "fp32", model, t.input));
    expect_first_row(out.out, json_at(want, "0"), text);
    object = sluice_expect_json(
        &out, ARGS("classify", "--json", "--aggregation", "none", model, t.input));
    cr_assert_eq(json_integer_at(object, "line"), 1);
    cr_assert_str_eq(json_string_at(object, "text"), text);
    cr_assert_geq(json_array_size(json_at(object, "entities")), json_array_size(want));
    json_decref(object);
    sluice_run(&out, ARGS("classify", "--aggregation", "mean", model, t.input));
    EXPECT_EXIT(&out, 2);
    EXPECT_SAID(out.err, "invalid --aggregation 'mean': expected none, simple");
    json_decref(want);
}

Test(pipelines_http, mistakes)
{
    static const struct {
        const char *path, *body, *type, *part;
        long status;
    } cases[] = {
        {"/hf/" TAGGER, "{\"inputs\":\"a\",\"parameters\":{\"aggregation_strategy\":\"mean\"}}",
         "validation", "'parameters.aggregation_strategy' must be", 422},
        {"/hf/" TAGGER, "{\"inputs\":\"a\",\"parameters\":{\"stride\":4}}", "validation",
         "Texts are not split", 422},
        {"/hf/" TAGGER, "{\"inputs\":{\"text\":\"a\",\"text_pair\":\"b\"}}", "validation",
         "does not take pairs", 422},
        {"/hf/" TAGGER, "{\"inputs\":\"a\",\"sluice\":{\"explain\":2}}", "validation",
         "it classifies tokens", 422},
        {"/hf/" FILLER, "{\"inputs\":[\"a [MASK]\",\"a\"]}", "validation",
         "'inputs[1]' has no mask token; write [MASK]", 422},
        {"/hf/" FILLER, "{\"inputs\":\"[MASK]\",\"parameters\":{\"targets\":[\"\"]}}", "validation",
         "no target that is a token", 422},
        {"/hf/" TAGGER "/pipeline/fill-mask", "{\"inputs\":\"a\"}", "validation",
         "'fill-mask' is no task of 'bert_tagger@4' for this request; its tasks are: "
         "token-classification",
         422},
        {"/hf/" TAGGER, "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"b\"]}}",
         "validation", "The request does not fit 'bert_tagger@4', whose tasks are", 422},
        {"/hf/" NLI,
         "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"b\"],"
         "\"hypothesis_template\":\"it is\"}}",
         "validation", "must have {} once", 422},
        {"/hf/" NLI,
         "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"b\"]},"
         "\"sluice\":{\"explain\":2}}",
         "validation", "'sluice.explain' is for single texts", 422},
        {"/hf/" NLI, "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":\" , \"}}", "empty",
         "'parameters.candidate_labels'", 400},
        {"/models/" TAGGER "/embed_all", "{\"inputs\":\"a\"}", "backend",
         "gives no embeddings of tokens; it classifies tokens", 424},
        {"/models/" TAGGER "/embed_sparse", "{\"inputs\":\"a\"}", "backend",
         "gives no sparse embeddings; it classifies tokens", 424},
        {"/models/" TAGGER "/predict", "{\"inputs\":\"a\"}", "backend",
         "is not a classifier; it classifies tokens: use /hf/", 424},
        {"/models/" TAGGER "/embed", "{\"inputs\":\"a\"}", "backend",
         "gives no embeddings; it classifies tokens", 424},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_response answer = http_request(&t.daemon, "POST", cases[i].path, cases[i].body);
        tei_expect_error(&answer, cases[i].status, cases[i].type, cases[i].part);
    }
}
