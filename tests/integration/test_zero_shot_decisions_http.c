/* test_zero_shot_decisions_http.c - POST /v1/decisions with a model that has a label for entailment
 * gives the scores of zero-shot classification in /hf/{name}. */
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <stdio.h>
#include <string.h>

#define NLI    "bert_nli"
#define INPUT  "{\"model\":\"" NLI "\",\"input\":\"a b\",\"questions\":"
#define CHOICE "\"type\":\"choice\",\"instructions\":\"Which?\",\"choices\":"

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_store_add_pretrained(d.store, NLI);
    daemon_serve(&d, (const char *const[]){"--precision", "fp32", NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(zero_shot_decisions_http, .init = start, .fini = stop, .timeout = 120);

/* That of zero-shot classification, by which labels are ranked. */
static double score_of(const json_t *ranked, const char *label)
{
    for (size_t i = 0; i < json_array_size(ranked); i++)
        if (strcmp(json_string_at(json_array_get(ranked, i), "label"), label) == 0)
            return json_number_at(json_array_get(ranked, i), "score");
    cr_assert_fail("no label %s", label);
    return 0.0;
}

Test(zero_shot_decisions_http, answers_are_scores_of_candidate_labels)
{
    json_t *decision =
        tei_post(&d, "/v1/decisions",
                 INPUT "[{" CHOICE "[{\"value\":\"c\"},{\"value\":\"d e\"},{\"value\":true}]},"
                       "{\"type\":\"predicate\",\"instructions\":\"d e\"},"
                       "{\"type\":\"score\",\"name\":\"much\",\"instructions\":\"?\","
                       "\"levels\":[{\"label\":\"d e\"},{\"label\":\"c\"}]}]}");
    json_t *among =
        tei_post(&d, "/hf/" NLI,
                 "{\"inputs\":\"a b\",\"parameters\":{\"candidate_labels\":[\"c\",\"d e\","
                 "\"true\"]}}");
    json_t *alone = tei_post(
        &d, "/hf/" NLI, "{\"inputs\":\"a b\",\"parameters\":{\"candidate_labels\":[\"d e\"]}}");
    json_t *levels =
        tei_post(&d, "/hf/" NLI,
                 "{\"inputs\":\"a b\",\"parameters\":{\"candidate_labels\":[\"c\",\"d e\"]}}");
    const json_t *probs = json_at(decision, "answers/0/probabilities");
    cr_assert_eq(json_number_at(probs, "0/probability"), score_of(among, "c"));
    cr_assert_eq(json_number_at(probs, "1/probability"), score_of(among, "d e"));
    cr_assert_eq(json_number_at(probs, "2/probability"), score_of(among, "true"));
    cr_assert(json_is_true(json_at(probs, "2/value")));
    cr_assert_eq(json_number_at(decision, "answers/0/confidence"),
                 json_number_at(among, "0/score"));
    cr_assert_eq(json_number_at(decision, "answers/1/probability"), score_of(alone, "d e"));
    cr_assert_float_eq(json_number_at(decision, "answers/2/score"), score_of(levels, "c"), 1e-6);
    cr_assert_str_eq(json_string_at(decision, "answers/2/name"), "much");
    json_decref(decision);
    json_decref(among);
    json_decref(alone);
    json_decref(levels);
}

Test(zero_shot_decisions_http, templates_name_the_hypothesis)
{
    json_t *decision = tei_post(&d, "/v1/decisions",
                                INPUT "[{" CHOICE "[{\"value\":\"x\"},{\"value\":\"y\"}]}],"
                                      "\"sluice\":{\"hypothesis_template\":\"it is {} .\"}}");
    json_t *ranked = tei_post(&d, "/hf/" NLI,
                              "{\"inputs\":\"a b\",\"parameters\":{\"candidate_labels\":[\"x\","
                              "\"y\"],\"hypothesis_template\":\"it is {} .\"}}");
    cr_assert_str_eq(json_string_at(decision, "answers/0/choice"),
                     json_string_at(ranked, "0/label"));
    cr_assert_eq(json_number_at(decision, "answers/0/confidence"),
                 json_number_at(ranked, "0/score"));
    json_decref(decision);
    json_decref(ranked);
}

/* 9 questions of 255 choices are more pairs than a request may have. */
static void make_many_choices(struct sl_buffer *body)
{
    sl_buffer_append_string(body, INPUT "[");
    for (int i = 0; i < 9; i++) {
        sl_buffer_append_string(body, i == 0 ? "{" CHOICE "[" : "]},{" CHOICE "[");
        for (int k = 0; k < 255; k++)
            sl_buffer_append_string(body, k == 0 ? "{\"value\":\"c\"}" : ",{\"value\":\"c\"}");
    }
    sl_buffer_append_string(body, "]}]}");
}

Test(zero_shot_decisions_http, mistakes)
{
    static const struct {
        const char *body, *part;
    } cases[] = {
        {INPUT "[{" CHOICE "[{\"value\":\"x\"},{\"value\":\"x\"}]}]}",
         "'questions[0].choices[1].value' repeats \\\"x\\\"; choices must differ"},
        {INPUT "[{\"type\":\"score\",\"instructions\":\"?\",\"levels\":[{\"label\":\"x\"},"
               "{\"label\":\"x\"}]}]}",
         "'questions[0].levels[1].label' repeats \\\"x\\\"; levels must differ"},
        {INPUT "[{\"type\":\"predicate\",\"instructions\":\"x\"}],"
               "\"sluice\":{\"hypothesis_template\":\"it is\"}}",
         "'sluice.hypothesis_template' must have {} once"},
        {INPUT "[{\"type\":\"predicate\",\"instructions\":\"x\"}],\"sluice\":{\"explain\":2}}",
         "'sluice.explain' is for single texts"},
        {"{\"model\":\"mood\",\"input\":\"a\",\"questions\":[{\"type\":\"predicate\","
         "\"instructions\":\"good\"}],\"sluice\":{\"hypothesis_template\":\"it is {}\"}}",
         "'sluice.hypothesis_template' is for models with a label for entailment; 'mood@4' is a "
         "classifier and can choose only between its own labels: "},
    };
    struct sl_buffer body = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_response answer = http_request(&d, "POST", "/v1/decisions", cases[i].body);
        cr_expect_eq(answer.status, 400, "%s", cases[i].body);
        EXPECT_SAID(answer.body.data, cases[i].part);
        http_response_release(&answer);
    }
    make_many_choices(&body);
    struct http_response answer = http_request(&d, "POST", "/v1/decisions", body.data);
    cr_expect_eq(answer.status, 400);
    EXPECT_SAID(answer.body.data, "'questions' holds 2295 texts; at most 2048");
    http_response_release(&answer);
    sl_buffer_release(&body);
}
