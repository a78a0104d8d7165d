/* test_explain_http.c - explanations in every API, by occlusion and exact, and in the terminal. */
#include "base/buffer.h"
#include "sluice/explanation.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/sluicectl_cli.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <math.h>

#define TOPIC "topic" /* a linear model: its explanations are exact */

static struct ctl_target t;
static struct program_result made;

static void make_topic(void)
{
    char data[PATH_MAX], model[PATH_MAX];
    FILE *file = fopen(test_path(data, t.daemon.directory, "topic.tsv"), "we");
    cr_assert(file);
    for (int i = 0; i < 60; i++)
        cr_assert_geq(fprintf(file, "%s\t%s %d\n", i % 2 ? "good" : "bad",
                              i % 2 ? "a lovely day at the beach" : "a dreadful film about rain",
                              i),
                      0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(mkdir(test_path(model, t.daemon.store, TOPIC), 0700), 0);
    sluice_expect_success(&made, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                      "--output", test_path(model, t.daemon.store, TOPIC "/1")));
}

static void start(void)
{
    daemon_make_store(&t.daemon);
    tiny_classifiers_make(t.daemon.store);
    make_topic();
    daemon_serve(&t.daemon, (const char *const[]){"--default-classifier", PLAIN, NULL});
    ctl_reach(&t);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(explain_http, .init = start, .fini = stop);

/* ---- helpers --------------------------------------------------------------------------------- */

static json_t *post(const char *path, const char *body)
{
    return tei_post(&t.daemon, path, body);
}

static void expect_error(const char *path, const char *body, long status, const char *part)
{
    struct http_response answer = http_request(&t.daemon, "POST", path, body);
    cr_expect_eq(answer.status, status, "%s: %s", body, answer.body.data);
    cr_expect(strstr(answer.body.data, part), "%s: '%s' is not in %s", body, part,
              answer.body.data);
    http_response_release(&answer);
}

static double contribution_of(const json_t *words, const char *word)
{
    for (size_t i = 0; i < json_array_size(words); i++)
        if (strcmp(json_string_at(json_array_get(words, i), "word"), word) == 0)
            return json_number_at(json_array_get(words, i), "contribution");
    cr_assert(false, "'%s' is not among the words", word);
    return 0.0;
}

/* Words of the text at their places, the largest contributions first. */
static void expect_words(const json_t *words, const char *text, size_t count)
{
    double last = (double)INFINITY;
    cr_assert_eq(json_array_size(words), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *word = json_array_get(words, i);
        const char *own = json_string_at(word, "word");
        int64_t start = json_integer_at(word, "start"), stop = json_integer_at(word, "stop");
        double size = fabs(json_number_at(word, "contribution"));
        cr_assert_eq(stop - start, (int64_t)strlen(own));
        cr_assert_eq(memcmp(text + start, own, strlen(own)), 0, "%s", own);
        cr_assert_leq(size, last);
        last = size;
    }
}

static double margin_of(const struct in_process_classifier *c, const char *text, int label)
{
    struct classification v = in_process_classify(c, text);
    return sl_margin(c->model, v.logits, label);
}

/* ---- occlusion ------------------------------------------------------------------------------- */

Test(explain_http, occlusion_is_the_margin_without_the_word)
{
    static const char text[] = "ab cd efg";
    struct in_process_classifier plain = in_process_open(t.daemon.store, PLAIN);
    int best = in_process_classify(&plain, text).best;
    double margin = margin_of(&plain, text, best);
    json_t *answer = post("/predict", "{\"inputs\":\"ab cd efg\",\"sluice\":{\"explain\":9}}");
    const json_t *words = json_at(answer, "0/words");
    expect_words(words, text, 3);
    cr_assert_not(json_at(answer, "1/words"), "only of the most likely label");
    cr_expect_eq((float)contribution_of(words, "ab"),
                 (float)(margin - margin_of(&plain, "cd efg", best)));
    cr_expect_eq((float)contribution_of(words, "cd"),
                 (float)(margin - margin_of(&plain, "ab efg", best)));
    cr_expect_eq((float)contribution_of(words, "efg"),
                 (float)(margin - margin_of(&plain, "ab cd", best)));
    json_decref(answer);
    in_process_close(&plain);
}

Test(explain_http, the_same_alone_and_in_a_batch)
{
    static const char *const models[] = {PLAIN, MOOD, TOPIC};
    char path[64];
    for (size_t m = 0; m < COUNT(models); m++) {
        (void)snprintf(path, sizeof path, "/models/%s/predict", models[m]);
        json_t *alone = post(path, "{\"inputs\":\"lovely film ab\",\"sluice\":{\"explain\":3}}");
        json_t *batch = post(path, "{\"inputs\":[[\"x\"],[\"lovely film ab\"],[\"rain day\"]],"
                                   "\"sluice\":{\"explain\":3}}");
        cr_assert_eq(json_array_size(json_at(alone, "0/words")), 3);
        cr_assert(json_equal(json_at(alone, "0/words"), json_at(batch, "1/0/words")), "%s",
                  models[m]);
        cr_assert_eq(json_array_size(json_at(batch, "0/0/words")), 1);
        json_decref(alone);
        json_decref(batch);
    }
}

/* Admission: all room is given back, and what does not fit is refused with numbers. Texts without
 * a word are work, but not texts. */
Test(explain_http, room_is_given_back)
{
    static const char *const models[] = {"plain\",version=\"4\"", TOPIC "\",version=\"1\""};
    for (int i = 0; i < 3; i++) {
        static const char body[] = "{\"inputs\":[[\"ab cd\"],[\"e\"]],\"sluice\":{\"explain\":2}}";
        json_decref(post("/predict", body));
        json_decref(post("/models/" TOPIC "/predict", body));
    }
    for (size_t i = 0; i < COUNT(models); i++) {
        char metric[128];
        (void)snprintf(metric, sizeof metric, "sluice_admitted_tokens{model=\"%s}", models[i]);
        metric_wait(&t.daemon, metric, 0.0);
        (void)snprintf(metric, sizeof metric,
                       "sluice_classified_texts_total{model=\"%s,outcome=\"ok\"}", models[i]);
        cr_expect_eq(metric_value(&t.daemon, metric), 6.0, "%s", models[i]);
    }
    expect_error("/predict", "{\"inputs\":[[\"ab cd\"],[\"\"]],\"sluice\":{\"explain\":2}}", 400,
                 "'inputs[1]' is empty");
    metric_wait(&t.daemon, "sluice_admitted_tokens{model=\"plain\",version=\"4\"}", 0.0);
    metric_wait(&t.daemon, "sluice_sequences_waiting{model=\"plain\",version=\"4\"}", 0.0);
    expect_error("/predict", "{\"inputs\":\"a\",\"sluice\":{\"explain\":0}}", 422,
                 "sluice.explain");
    expect_error("/predict", "{\"inputs\":\"a\",\"sluice\":{\"explain\":65}}", 422,
                 "sluice.explain");
}

/* ---- exact ----------------------------------------------------------------------------------- */

Test(explain_http, a_linear_model_names_the_words_that_tell)
{
    static const char text[] = "It was a lovely day at the cinema, 3";
    json_t *answer =
        post("/models/" TOPIC "/predict", "{\"inputs\":\"It was a lovely day at the cinema, 3\","
                                          "\"sluice\":{\"explain\":64}}");
    cr_assert_str_eq(json_string_at(answer, "0/label"), "good");
    const json_t *words = json_at(answer, "0/words");
    expect_words(words, text, 10);
    cr_expect_gt(contribution_of(words, "lovely"), 0.0);
    cr_expect_gt(contribution_of(words, "lovely"), contribution_of(words, "It"));
    json_decref(answer);
}

/* ---- the other APIs -------------------------------------------------------------------------- */

Test(explain_http, every_api_explains)
{
    json_t *tei = post("/models/" TOPIC "/predict",
                       "{\"inputs\":\"a lovely film\",\"sluice\":{\"explain\":2}}");
    const json_t *words = json_at(tei, "0/words");
    json_t *hf = post("/hf/" TOPIC, "{\"inputs\":\"a lovely film\",\"sluice\":{\"explain\":2}}");
    cr_assert(json_equal(json_at(hf, "0/0/words"), words));
    json_decref(hf);
    json_t *oip =
        post("/v2/models/" TOPIC "/infer",
             "{\"parameters\":{\"explain\":2},\"inputs\":[{\"name\":\"text\",\"datatype\":"
             "\"BYTES\",\"shape\":[1],\"data\":[\"a lovely film\"]}]}");
    cr_assert_eq(json_array_size(json_at(oip, "outputs")), 6);
    cr_assert_str_eq(json_string_at(oip, "outputs/5/name"), "words");
    json_t *inside = json_from_text(json_string_at(oip, "outputs/5/data/0"));
    cr_assert(json_equal(inside, words));
    json_decref(inside);
    json_decref(oip);
    json_t *decision =
        post("/v1/decisions", "{\"model\":\"" TOPIC "\",\"input\":\"a lovely film\",\"questions\":"
                              "[{\"type\":\"predicate\",\"instructions\":\"bad\"}],"
                              "\"sluice\":{\"explain\":2}}");
    cr_assert_str_eq(json_string_at(decision, "sluice/label"), json_string_at(tei, "0/label"));
    cr_assert(json_equal(json_at(decision, "sluice/words"), words));
    json_decref(decision);
    json_decref(tei);
    expect_error("/v2/models/" TOPIC "/infer",
                 "{\"outputs\":[{\"name\":\"words\"}],\"inputs\":[{\"name\":\"text\",\"datatype\":"
                 "\"BYTES\",\"shape\":[1],\"data\":[\"a\"]}]}",
                 400, "say how many in 'parameters.explain'");
}

/* ---- the terminal ---------------------------------------------------------------------------- */

Test(explain_http, the_terminal_explains)
{
    char file[PATH_MAX], model[PATH_MAX];
    const struct program_result *r =
        CTL(&t, "classify", "--model", TOPIC, "--explain", "2", "a lovely day");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "\ta lovely day\t");
    EXPECT_SAID(r->out, "lovely:+");
    static struct program_result first;
    first = *r;
    r = CTL(&t, "classify", "--model", TOPIC, "--explain", "2", "--json", "a lovely day");
    EXPECT_EXIT(r, 0);
    json_t *one = json_from_text(r->out);
    expect_words(json_at(one, "words"), "a lovely day", 2);
    /* `sluice classify` prints the same, but for rounding in the score. */
    test_write_file(test_path(file, t.daemon.directory, "lines.txt"), "a lovely day\n");
    sluice_expect_success(&made, ARGS("classify", test_path(model, t.daemon.store, TOPIC "/1"),
                                      file, "--explain", "2"));
    cr_expect_str_eq(strstr(made.out, "\ta lovely day\t"), strstr(first.out, "\ta lovely day\t"));
    sluice_expect_success(&made, ARGS("classify", model, file, "--explain", "2", "--json"));
    json_t *offline = json_from_text(made.out);
    expect_words(json_at(offline, "words"), "a lovely day", 2);
    cr_expect_float_eq(contribution_of(json_at(offline, "words"), "lovely"),
                       contribution_of(json_at(one, "words"), "lovely"), 1e-5);
    json_decref(offline);
    json_decref(one);
    sluice_expect_success(&made, ARGS("classify", test_path(model, t.daemon.store, PLAIN "/4"),
                                      file, "--explain", "2"));
    EXPECT_SAID(made.out, "day:");
}
