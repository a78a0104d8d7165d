/* test_multi_label_http.c - a classifier that gives texts several labels, or none, in every API, in
 * sluicectl, and from a job. */
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/sluice_cli.h"
#include "support/sluicectl_cli.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/topic_texts.h"

#include <math.h>
#include <sys/stat.h>

#define TOPICS "topics"

static struct ctl_target t;
static struct program_result made;

static void start_without_topics(void)
{
    char state[PATH_MAX];
    daemon_make_store(&t.daemon);
    daemon_serve(&t.daemon, ARGS("--state", test_path(state, t.daemon.directory, "state")));
}

static void start(void)
{
    char data[PATH_MAX], model[PATH_MAX];
    daemon_make_store(&t.daemon);
    topic_texts_write(test_path(data, t.daemon.directory, "topics.tsv"));
    cr_assert_eq(mkdir(test_path(model, t.daemon.store, TOPICS), 0700), 0);
    sluice_expect_success(&made, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                      "--label-separator", "|", "--output",
                                      test_path(model, t.daemon.store, TOPICS "/1")));
    daemon_serve(&t.daemon, ARGS("--default-classifier", TOPICS));
    ctl_reach(&t);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(multi_label_http, .init = start, .fini = stop);

static json_t *get(const char *path)
{
    return json_request(&t.daemon, "GET", path, NULL);
}

static json_t *post(const char *path, const char *body)
{
    return tei_post(&t.daemon, path, body);
}

static double score_of(const json_t *scores, const char *label)
{
    for (size_t i = 0; i < json_array_size(scores); i++)
        if (strcmp(json_string_at(json_array_get(scores, i), "label"), label) == 0)
            return json_number_at(json_array_get(scores, i), "score");
    cr_assert(false, "no label '%s'", label);
    return 0.0;
}

/* ---- the APIs -------------------------------------------------------------------------------- */

/* All labels, the most probable first; each has a probability of its own. */
static void predict_has_independent_scores(void)
{
    json_t *both = post("/predict", "{\"inputs\":\"today stock goal 7\"}"),
           *none = post("/predict", "{\"inputs\":\"perhaps again\"}"),
           *logits = post("/predict", "{\"inputs\":\"perhaps again\",\"raw_scores\":true}");
    cr_assert_eq(json_array_size(both), 3);
    cr_expect_gt(score_of(both, "money"), 0.5);
    cr_expect_gt(score_of(both, "sport"), 0.5);
    cr_expect_str_eq(json_string_at(both, "2/label"), "politics");
    cr_expect_lt(score_of(both, "politics"), 0.5);
    for (int i = 0; i < 3; i++) {
        const char *label = json_string_at(json_array_get(none, (size_t)i), "label");
        cr_expect_lt(score_of(none, label), 0.5);
        cr_expect_float_eq(score_of(none, label), 1.0 / (1.0 + exp(-score_of(logits, label))),
                           1e-5);
    }
    json_decref(both);
    json_decref(none);
    json_decref(logits);
}

static void hugging_face_chooses_the_function(void)
{
    static const struct {
        const char *parameters;
        bool sums_to_one;
    } cases[] = {{"", false},
                 {",\"parameters\":{\"function_to_apply\":\"sigmoid\"}", false},
                 {",\"parameters\":{\"function_to_apply\":\"softmax\"}", true}};

    for (int i = 0; i < 3; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, "{\"inputs\":\"today stock goal 7\"%s}",
                       cases[i].parameters);
        json_t *answer = post("/hf/" TOPICS, body);
        const json_t *scores = json_array_get(answer, 0);
        double sum =
            score_of(scores, "money") + score_of(scores, "politics") + score_of(scores, "sport");
        cr_expect(cases[i].sums_to_one == (fabs(sum - 1.0) < 1e-5), "%s: %g", body, sum);
        json_decref(answer);
    }
}

static void inference_protocol_joins_the_predicted_labels(void)
{
    json_t *o =
        post("/v2/models/" TOPICS "/infer",
             "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[3],\"data\":"
             "[\"today stock goal 7\",\"perhaps again\",\"again vote 3\"]}],"
             "\"outputs\":[{\"name\":\"label\"},{\"name\":\"probs\"},"
             "{\"name\":\"logits\",\"parameters\":{\"classification\":1}}]}");
    cr_expect_str_eq(json_string_at(o, "outputs/0/data/0"), "money|sport");
    cr_expect_str_eq(json_string_at(o, "outputs/0/data/1"), "");
    cr_expect_str_eq(json_string_at(o, "outputs/0/data/2"), "politics");
    cr_expect_eq(json_array_size(json_at(o, "outputs/0/shape")), 1);
    cr_expect_gt(json_number_at(o, "outputs/1/data/0") + json_number_at(o, "outputs/1/data/2"),
                 1.0);
    EXPECT_SAID(json_string_at(o, "outputs/2/data/2"), ":1:politics");
    json_decref(o);
}

/* A predicate is its label's own probability; of choices, exactly one is right. */
static void decisions_about_independent_labels(void)
{
    json_t *o = post("/v1/decisions",
                     "{\"model\":\"" TOPICS "\",\"input\":\"today stock goal 7\",\"questions\":["
                     "{\"type\":\"predicate\",\"instructions\":\"money\"},"
                     "{\"type\":\"predicate\",\"instructions\":\"sport\"},"
                     "{\"type\":\"choice\",\"instructions\":\"Which?\","
                     "\"choices\":[{\"value\":\"money\"},{\"value\":"
                     "\"sport\"}]}]}"),
           *scores = post("/predict", "{\"inputs\":\"today stock goal 7\"}");
    const double money = score_of(scores, "money"), sport = score_of(scores, "sport");
    cr_expect_float_eq(json_number_at(o, "answers/0/probability"), money, 1e-5);
    cr_expect_float_eq(json_number_at(o, "answers/1/probability"), sport, 1e-5);
    const double only_money = money * (1.0 - sport), only_sport = sport * (1.0 - money);
    cr_expect_float_eq(json_number_at(o, "answers/2/probabilities/0/probability"),
                       only_money / (only_money + only_sport), 1e-3);
    json_decref(o);
    json_decref(scores);
}

/* What moved the most probable label is the words of that label, not what the others have less. */
static void explanations_are_of_the_label_alone(void)
{
    json_t *o = post("/predict", "{\"inputs\":\"today vote 7\",\"sluice\":{\"explain\":2}}");
    cr_expect_str_eq(json_string_at(o, "0/label"), "politics");
    cr_expect_str_eq(json_string_at(o, "0/words/0/word"), "vote");
    cr_expect_gt(json_number_at(o, "0/words/0/contribution"), 0.0);
    cr_expect(!json_at(o, "1/words"));
    json_decref(o);
}

static void models_say_their_problem_type(void)
{
    json_t *info = get("/info"), *model = get("/v2/models/" TOPICS),
           *details = get("/v1/models/" TOPICS);
    static const char several[] = "multi_label_classification";
    cr_expect_str_eq(json_string_at(info, "model_type/classifier/problem_type"), several);
    cr_expect_str_eq(json_string_at(model, "parameters/problem_type"), several);
    cr_expect_str_eq(json_string_at(details, "sluice/problem_type"), several);
    json_decref(info);
    json_decref(model);
    json_decref(details);
}

/* ---- sluicectl ------------------------------------------------------------------------------- */

static void sluicectl_prints_the_predicted_labels(void)
{
    CTL(&t, "classify", "--model", TOPICS, "today stock goal 7", "perhaps again");
    EXPECT_EXIT(&t.result, 0);
    EXPECT_SAID(t.result.out, "money\t0.");
    EXPECT_SAID(t.result.out, "sport\t0.");
    EXPECT_SAID(t.result.out, "\n\t0.");
    EXPECT_SAID(t.result.out, "\tperhaps again\n");
    cr_expect(!strstr(t.result.out, "politics"), "%s", t.result.out);
    CTL(&t, "classify", "--model", TOPICS, "--top", "3", "today stock goal 7");
    EXPECT_SAID(t.result.out, "politics\t0.");
    CTL(&t, "classify", "--model", TOPICS, "--json", "perhaps again");
    EXPECT_SAID(t.result.out, "\"labels\":[],");
}

/* ---- one model for all of them --------------------------------------------------------------- */

/* Training it takes longer than all the rest. */
Test(multi_label_http, every_api_knows_independent_labels)
{
    predict_has_independent_scores();
    hugging_face_chooses_the_function();
    inference_protocol_joins_the_predicted_labels();
    decisions_about_independent_labels();
    explanations_are_of_the_label_alone();
    models_say_their_problem_type();
    sluicectl_prints_the_predicted_labels();
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void refuse(const char *body, const char *part)
{
    struct http_response response = job_post(&t.daemon, body, NULL);
    cr_expect_eq(response.status, 400, "%s", response.body.data);
    EXPECT_SAID(response.body.data, part);
    http_response_release(&response);
}

Test(multi_label_http, a_job_trains_on_several_labels, .init = start_without_topics)
{
    char data[PATH_MAX], text[1 << 14], file[JOB_ID_MAX], body[JOB_BODY_MAX], id[JOB_ID_MAX];
    topic_texts_write(test_path(data, t.daemon.directory, "topics.tsv"));
    test_read_file(text, sizeof text, data);
    file_upload_text(&t.daemon, "topics.tsv", text, file);
    (void)snprintf(body, sizeof body,
                   "{\"training_file\":\"%s\",\"validation_file\":\"%s\",\"suffix\":\"mine\","
                   "\"hyperparameters\":{\"label\":\"1\",\"text\":\"2\",\"label_separator\":\"|\","
                   "\"promotion\":\"if_better\"}}",
                   file, file);
    job_submit(&t.daemon, body, id);
    job_wait(&t.daemon, id, "succeeded");
    json_t *o = post("/models/mine/predict", "{\"inputs\":\"today stock goal 7\"}");
    cr_expect(score_of(o, "money") > 0.5 && score_of(o, "sport") > 0.5);
    json_decref(o);
    (void)snprintf(body, sizeof body,
                   "{\"training_file\":\"%s\",\"suffix\":\"x\",\"hyperparameters\":"
                   "{\"label_separator\":\"123456789\"}}",
                   file);
    refuse(body, "invalid label separator '123456789': expected 1 to 8 bytes");
    (void)snprintf(body, sizeof body,
                   "{\"training_file\":\"%s\",\"model\":\"encoder\",\"suffix\":\"x\","
                   "\"hyperparameters\":{\"label_separator\":\"|\"}}",
                   file);
    refuse(body, "'label_separator' has an effect only without a model.");
}
