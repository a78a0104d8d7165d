/* test_budget_http.c - requests that limit how much of the model is computed, at every endpoint
 * that takes a budget: what is computed, what the response says, and what is rejected. */
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_points.h"
#include "support/tiny_transformer.h"

#include <math.h>

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_points_add(d.store, TINY_MODEL "/1");
    tiny_points_add(d.store, MOOD "/4");
    char encoder[PATH_MAX];
    tiny_adaptive_make(test_path(encoder, d.store, "adapted/1"), SL_TASK_PRETRAINING);
    tiny_points_add(d.store, "adapted/1");
    daemon_serve(&d, (const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(budget_http, .init = start, .fini = stop);

/* The header X-Sluice-Budget; NULL: none. */
static struct http_response post(const char *path, const char *body, const char *header)
{
    char line[64];
    (void)snprintf(line, sizeof line, "X-Sluice-Budget: %s", header ? header : "");
    struct curl_slist *headers = header ? curl_slist_append(NULL, line) : NULL;
    struct http_response response = http_request_with(&d, "POST", path, body, headers);
    curl_slist_free_all(headers);
    return response;
}

/* ---- classification -------------------------------------------------------------------------- */

/* Each endpoint, with a place for more members; `value`: the first class's probability. */
static const struct {
    const char *path, *body, *budget, *value, *reported;
} endpoints[] = {
    {"/predict", "{\"inputs\":\"Hello\"@}", ",\"sluice\":{\"budget\":@}", "score", NULL},
    {"/hf/mood", "{\"inputs\":\"Hello\",\"parameters\":{\"top_k\":3}@}",
     ",\"sluice\":{\"budget\":@}", "score", NULL},
    {"/v2/models/mood/infer",
     "{\"parameters\":{\"truncate\":false@},\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\","
     "\"shape\":[1],\"data\":[\"Hello\"]}],\"outputs\":[{\"name\":\"probs\"}]}",
     ",\"budget\":@", "outputs/0/data", "parameters/budget"},
    {"/v1/decisions",
     "{\"model\":\"mood\",\"input\":\"Hello\",\"questions\":[{\"type\":\"predicate\","
     "\"instructions\":\"negative\"}]@}",
     ",\"sluice\":{\"budget\":@}", "answers/0/probability", "usage/sluice/budget"},
};

enum { ENDPOINTS = sizeof endpoints / sizeof endpoints[0] };

/* Replaces the @ of a template, if it has one. */
static void fill(char *out, size_t size, const char *template, const char *value)
{
    const char *at = strchr(template, '@');
    int before = at ? (int)(at - template) : (int)strlen(template);
    (void)snprintf(out, size, "%.*s%s%s", before, template, at ? value : "", at ? at + 1 : "");
}

static void write_body(char body[512], int endpoint, const char *budget)
{
    char member[64] = "";
    if (budget)
        fill(member, sizeof member, endpoints[endpoint].budget, budget);
    fill(body, 512, endpoints[endpoint].body, member);
}

/* The scores of a response in the order of classes; a predicate has that of the first alone. */
static int read_scores(const json_t *root, int endpoint, float scores[MOOD_CLASSES])
{
    const char *value = endpoints[endpoint].value;
    const json_t *list = json_is_array(json_at(root, "0")) ? json_at(root, "0") : root;
    if (strstr(value, "probability")) {
        scores[0] = (float)json_number_at(root, value);
        return 1;
    }
    for (int i = 0; i < MOOD_CLASSES; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%d", value, i);
        if (strcmp(value, "score") != 0) {
            scores[i] = (float)json_number_at(root, path);
            continue;
        }
        const json_t *one = json_array_get(list, (size_t)i);
        for (int k = 0; k < MOOD_CLASSES; k++)
            if (strcmp(json_string_at(one, "label"), mood_labels[k]) == 0)
                scores[k] = (float)json_number_at(one, "score");
    }
    return MOOD_CLASSES;
}

/* budget: that of the body and of the header; the point that they choose; 0: none. */
static void expect_classified(const struct in_process_classifier *mood, int endpoint,
                              const char *in_body, const char *in_header, const char *reported)
{
    char body[512];
    float scores[MOOD_CLASSES] = {0};
    struct classification want = in_process_classify(mood, "Hello");
    write_body(body, endpoint, in_body);
    struct http_response r = post(endpoints[endpoint].path, body, in_header);
    cr_assert_eq(r.status, 200, "%s: %s", endpoints[endpoint].path, r.body.data);
    json_t *root = json_from_response(&r);
    int count = read_scores(root, endpoint, scores);
    cr_expect_eq(memcmp(scores, want.probs, (size_t)count * sizeof *scores), 0, "%s, %s: %s",
                 endpoints[endpoint].path, reported, r.body.data);
    const char *header = http_response_header(&r, "x-sluice-budget");
    const char *member = endpoints[endpoint].reported;
    cr_expect_eq(!header, !reported);
    if (header && reported)
        cr_expect_str_eq(header, reported, "%s: %s", endpoints[endpoint].path, header);
    if (member && reported)
        cr_expect_eq(json_number_at(root, member), strtod(reported, NULL));
    else if (member)
        cr_expect_null(json_at(root, member));
    json_decref(root);
    http_response_release(&r);
}

Test(budget_http, every_endpoint_classifies_at_the_point_of_the_budget)
{
    static const struct {
        const char *body, *header, *reported;
        int point;
    } cases[] = {
        {NULL, NULL, NULL, 0},   {"1", NULL, "1", 1},       {"0.99", NULL, "0.6", 2},
        {"0.6", NULL, "0.6", 2}, {"0.3", NULL, "0.3", 3},   {NULL, "0.6", "0.6", 2},
        {"0.3", "1", "0.3", 3},  {"null", "0.3", "0.3", 3}, {NULL, "1.0", "1", 1},
    };

    struct in_process_classifier mood = in_process_open(d.store, MOOD);
    for (int e = 0; e < ENDPOINTS; e++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            mood.operating_point = cases[i].point;
            expect_classified(&mood, e, cases[i].body, cases[i].header, cases[i].reported);
        }
    mood.operating_point = 1;
    struct classification full = in_process_classify(&mood, "Hello");
    mood.operating_point = 3;
    struct classification least = in_process_classify(&mood, "Hello");
    cr_expect_neq(memcmp(full.probs, least.probs, MOOD_CLASSES * sizeof(float)), 0,
                  "the points differ, or else this test shows nothing");
    in_process_close(&mood);
}

/* ---- completions ----------------------------------------------------------------------------- */

static double complete(const char *members, const char *header, const char *reported)
{
    char body[256];
    (void)snprintf(
        body, sizeof body,
        "{\"model\":\"tiny\",\"prompt\":\"Hello\",\"max_tokens\":20,\"temperature\":0%s}", members);
    struct http_response r = post("/v1/completions", body, header);
    cr_assert_eq(r.status, 200, "%s", r.body.data);
    json_t *root = json_from_response(&r);
    const char *sent = http_response_header(&r, "x-sluice-budget");
    cr_assert_eq(!sent, !reported);
    if (reported) {
        cr_assert_str_eq(sent, reported);
        cr_assert_eq(json_number_at(root, "usage/sluice/budget"), strtod(reported, NULL));
    } else
        cr_assert_null(json_at(root, "usage/sluice/budget"));
    double skipped = json_number_at(root, "usage/sluice/layer_ops_skipped");
    json_decref(root);
    http_response_release(&r);
    return skipped;
}

/* The last token of the prompt alone needs the last layer of the others' keys. */
Test(budget_http, completions_compute_what_the_budget_allows)
{
    double full = complete(",\"sluice\":{\"budget\":1}", NULL, "1");
    double least = complete(",\"sluice\":{\"budget\":0.5}", NULL, "0.3");
    cr_assert_lt(full, 0.15, "%g", full);
    cr_assert_gt(least, 0.4, "%g: two layers, of which one can be skipped", least);
    cr_assert_eq(complete("", "0.3", "0.3"), least);
    cr_assert_eq(complete(",\"sluice\":{\"budget\":1}", "0.3", "1"), full);
    (void)complete(",\"sluice\":{}", NULL, NULL);
    (void)complete(",\"sluice\":null", NULL, NULL);
}

Test(budget_http, a_stream_reports_its_budget)
{
    struct http_response r =
        post("/v1/completions",
             "{\"model\":\"tiny\",\"prompt\":\"a\",\"max_tokens\":4,\"stream\":true,"
             "\"stream_options\":{\"include_usage\":true},\"sluice\":{\"budget\":0.7}}",
             NULL);
    cr_assert_eq(r.status, 200, "%s", r.body.data);
    cr_assert_str_eq(http_response_header(&r, "x-sluice-budget"), "0.6");
    cr_assert(strstr(r.body.data, "\"budget\":0.6}"), "%s", r.body.data);
    http_response_release(&r);
}

/* ---- sluicectl ------------------------------------------------------------------------------- */

Test(budget_http, sluicectl_sends_budgets)
{
    static struct ctl_target t;
    t.daemon = d;
    ctl_reach(&t);
    const struct program_result *r =
        CTL(&t, "complete", "a", "--max-tokens", "3", "--budget", "0.7", "--no-stream", "--json");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "\"budget\":0.6}");
    r = CTL(&t, "classify", "Hello", "--budget", "0.7");
    EXPECT_EXIT(r, 0);
    r = CTL(&t, "classify", "Hello", "--budget", "0.2");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'parameters.budget' is 0.2, and 'mood@4' needs at least 0.3");
    r = CTL(&t, "embed", "the film", "--model", "adapted", "--budget", "0.3", "--json");
    EXPECT_EXIT(r, 0);
    r = CTL(&t, "embed", "the film", "--model", "adapted", "--budget", "0.2");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'parameters.budget' is 0.2, and 'adapted@1' needs at least 0.3");
    r = CTL(&t, "bench", "--budget", "0.3", "--connections", "2", "--requests", "4", "--tokens",
            "9", "--json");
    EXPECT_EXIT(r, 0);
    json_t *report = json_from_text(r->out);
    cr_assert_gt(json_number_at(report, "layer_ops_skipped"), 0.4);
    json_decref(report);
}

/* ---- what is rejected ------------------------------------------------------------------------ */

static void expect_rejected(const char *path, const char *body, const char *header,
                            const char *said)
{
    struct http_response r = post(path, body, header);
    cr_expect(r.status == 400 || r.status == 422, "%s %s: %ld", path, body, r.status);
    cr_expect(strstr(r.body.data, said), "'%s' lacks '%s'", r.body.data, said);
    http_response_release(&r);
}

Test(budget_http, bad_budgets_are_rejected_with_what_is_accepted)
{
    static const struct {
        const char *value, *said;
    } values[] = {
        {"0.29", "is 0.29, and '@' needs at least 0.3; 0.3 to 1 are accepted."},
        {"0", "budget' must be a number from 0.01 to 1"},
        {"1.01", "budget' must be"},
        {"-0.5", "budget' must be"},
        {"\"half\"", "budget' must be"},
        {"true", "budget' must be"},
    };

    char body[512], said[128];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *value = values[i].value;
        for (int e = 0; e < ENDPOINTS; e++) {
            write_body(body, e, value);
            fill(said, sizeof said, values[i].said, "mood@4");
            expect_rejected(endpoints[e].path, body, NULL, said);
        }
        (void)snprintf(body, sizeof body,
                       "{\"model\":\"tiny\",\"prompt\":\"a\",\"sluice\":{\"budget\":%s}}", value);
        fill(said, sizeof said, values[i].said, "tiny@1");
        expect_rejected("/v1/completions", body, NULL, said);
    }
    expect_rejected("/v1/completions", "{\"model\":\"tiny\",\"sluice\":{\"gate_limit\":1}}", NULL,
                    "'sluice.gate_limit'");
}

Test(budget_http, bad_headers_are_rejected)
{
    static const char *const values[] = {"0", "1.5", "-1", "half", "0.5x", ".", "1e-1", "nan"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        expect_rejected("/predict", "{\"inputs\":\"a\"}", values[i],
                        "X-Sluice-Budget must be a number from 0.01 to 1");
    expect_rejected("/predict", "{\"inputs\":\"a\"}", "0.1",
                    "'X-Sluice-Budget' is 0.1, and 'mood@4' needs at least 0.3");
}

Test(budget_http, models_without_operating_points_refuse)
{
    expect_rejected("/models/plain/predict", "{\"inputs\":\"a\",\"sluice\":{\"budget\":1}}", NULL,
                    "'sluice.budget' needs a model with operating points, and 'plain@4' has none; "
                    "leave it out.");
    expect_rejected("/models/plain/predict", "{\"inputs\":\"a\"}", "1",
                    "'X-Sluice-Budget' needs a model with operating points");
}

/* ---- what models offer ----------------------------------------------------------------------- */

Test(budget_http, models_list_their_operating_points)
{
    struct http_response r = http_request(&d, "GET", "/v1/models/mood", NULL);
    json_t *root = json_from_response(&r);
    const json_t *points = json_at(root, "sluice/operating_points");
    cr_assert_eq(json_array_size(points), TINY_POINTS);
    cr_assert_eq(json_number_at(points, "0/budget"), 1);
    cr_assert_eq(json_number_at(points, "0/accuracy"), 0.75);
    cr_assert_eq(json_number_at(points, "1/budget"), 0.6);
    cr_assert_eq(json_number_at(points, "1/gate_limit"), 0.5);
    cr_assert_eq(json_number_at(points, "1/loss"), 1.625);
    cr_assert_null(json_at(points, "1/accuracy"));
    cr_assert_eq(json_number_at(points, "2/layer_ops_skipped"), 0.5);
    json_decref(root);
    http_response_release(&r);
    r = http_request(&d, "GET", "/v1/models/plain", NULL);
    root = json_from_response(&r);
    cr_assert_null(json_at(root, "sluice/operating_points"));
    json_decref(root);
    http_response_release(&r);
}

Test(budget_http, a_model_says_where_it_comes_from_and_a_list_does_not)
{
    struct http_response r = http_request(&d, "GET", "/v1/models/mood", NULL);
    json_t *root = json_from_response(&r);
    cr_assert(json_is_object(json_at(root, "sluice/training")), "%s", r.body.data);
    json_decref(root);
    http_response_release(&r);
    r = http_request(&d, "GET", "/v1/models", NULL);
    cr_assert_eq(r.status, 200);
    cr_assert_null(strstr(r.body.data, "\"training\""));
    http_response_release(&r);
}

/* ---- embeddings ------------------------------------------------------------------------------ */

/* The numbers of an embedding, as text, with their budget in the body, in the header or nowhere. */
static void embed(const char *path, const char *body, const char *in_body, const char *in_header,
                  char out[4096])
{
    char filled[512], member[64] = "";
    if (in_body)
        fill(member, sizeof member, ",\"sluice\":{\"budget\":@}", in_body);
    fill(filled, sizeof filled, body, member);
    struct http_response r = post(path, filled, in_header);
    cr_assert_eq(r.status, 200, "%s: %s", path, r.body.data);
    const char *reported = http_response_header(&r, "x-sluice-budget"), *begin = r.body.data;
    const char *want = in_body ? in_body : in_header;
    cr_expect_eq(!reported, !want);
    if (reported && want)
        cr_expect_str_eq(reported, want);
    (void)snprintf(out, 4096, "%s", begin);
    http_response_release(&r);
}

Test(budget_http, embeddings_are_computed_at_the_point_of_the_budget)
{
    static const struct {
        const char *path, *body;
    } cases[] = {{"/v1/embeddings", "{\"model\":\"adapted\",\"input\":\"the good film\"@}"},
                 {"/models/adapted/embed", "{\"inputs\":\"the good film\"@}"},
                 {"/models/adapted/embed_all", "{\"inputs\":\"the good film\"@}"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char full[4096], least[4096], same[4096];
        embed(cases[i].path, cases[i].body, "1", NULL, full);
        embed(cases[i].path, cases[i].body, "0.3", NULL, least);
        embed(cases[i].path, cases[i].body, NULL, "0.3", same);
        cr_expect_str_neq(full, least, "%s", cases[i].path);
        cr_expect_str_eq(same, least, "%s", cases[i].path);
        embed(cases[i].path, cases[i].body, "0.3", "1", same);
        cr_expect_str_eq(same, least, "%s", cases[i].path);
    }
}
