/* test_model_changes.c - versions loaded, labelled, rolled back and unloaded over HTTP, and how
 * requests of every API name them. */
#include "base/model_names.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

static struct daemon d;

/* mood 4, plain 4 and tiny 1 are served; mood 5 and 6 are in the store. */
static void start(void)
{
    char state[PATH_MAX];
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    daemon_serve(&d, (const char *const[]){"--state", test_path(state, d.directory, "state"),
                                           "--default-classifier", MOOD, NULL});
    tiny_store_copy(d.store, "mood/4", "mood/5");
    tiny_store_copy(d.store, "mood/4", "mood/6");
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(model_changes, .init = start, .fini = stop);

/* The body of a change that must have this status and this in its body. */
static void change(const char *method, const char *path, const char *body, long status,
                   const char *part)
{
    struct http_response answer = http_admin(&d, method, path, body);
    cr_assert_eq(answer.status, status, "%s %s: %ld: %s", method, path, answer.status,
                 answer.body.data);
    cr_assert(strstr(answer.body.data, part), "'%s' lacks '%s'", answer.body.data, part);
    http_response_release(&answer);
}

/* Which version answers a request. */
static void expect_version(const char *path, const char *body, const char *id)
{
    struct http_response answer = http_request(&d, body ? "POST" : "GET", path, body);
    cr_assert_eq(answer.status, 200, "%s: %s", path, answer.body.data);
    const char *header = http_response_header(&answer, "x-sluice-model");
    cr_assert(header, "%s names no version", path);
    cr_assert_str_eq(header, id, "%s", path);
    http_response_release(&answer);
}

#define TEXT "{\"inputs\":\"ab\"}"

static void expect_stable(const char *id)
{
    expect_version("/models/" MOOD "/predict", TEXT, id);
}

/* ---- load and unload ------------------------------------------------------------------------- */

Test(model_changes, the_highest_version_is_loaded_and_becomes_stable)
{
    change("POST", "/v2/repository/models/mood/load", "{}", 200,
           "{\"name\":\"mood\",\"version\":\"6\",\"state\":\"READY\"}");
    expect_stable(MOOD "@6");
    change("POST", "/v2/repository/models/mood/unload",
           "{\"parameters\":{\"unload_dependents\":true}}", 200, "UNAVAILABLE");
    struct http_response answer = http_request(&d, "POST", "/models/" MOOD "/predict", TEXT);
    cr_assert_eq(answer.status, 404, "%s", answer.body.data);
    http_response_release(&answer);
    change("POST", "/v2/repository/models/mood/load", "", 200, "\"version\":\"6\"");
    expect_stable(MOOD "@6");
}

Test(model_changes, a_version_is_loaded_beside_the_stable_one)
{
    change("POST", "/v2/repository/models/mood/versions/5/load", "{}", 200, "\"version\":\"5\"");
    expect_stable(MOOD "@4");
    expect_version("/models/" MOOD "@5/predict", TEXT, MOOD "@5");
    change("POST", "/v2/repository/models/mood/versions/5/unload", "{}", 200, "UNAVAILABLE");
    change("POST", "/v2/repository/models/mood/versions/4/unload", "{}", 409, "has a label");
    change("POST", "/v2/repository/models/mood/versions/stable/unload", "{}", 409, "has a label");
    change("POST", "/v2/repository/models/mood/versions/9/load", "{}", 404, "has no version 9");
    change("POST", "/v2/repository/models/mood/versions/x/load", "{}", 404, "version or label 'x'");
    change("POST", "/v2/repository/models/none/load", "{}", 404, "is not in the store");
    change("POST", "/v2/repository/models/..%2Fmood/load", "{}", 404, SL_MODEL_NAME_RULE);
    change("POST", "/v2/repository/models/mood/load", "{\"parameters\":{\"config\":\"{}\"}}", 400,
           "config");
}

Test(model_changes, a_load_may_go_on_after_its_response)
{
    change("POST", "/v2/repository/models/mood/load?async=true", "{}", 202, "LOADING");
    metric_wait(&d, "sluice_model_ready{model=\"mood\",version=\"6\"}", 1);
    change("POST", "/v2/repository/models/mood/load", "{}", 200, "\"6\""); /* after that one */
    expect_stable(MOOD "@6");
}

Test(model_changes, a_bad_version_leaves_the_old_one)
{
    char path[PATH_MAX];
    test_write_file(test_path(path, d.store, "mood/6/config.json"), "{}");
    change("POST", "/v2/repository/models/mood/load", "{}", 400,
           "The model 'mood@6' could not be loaded: mood/6: 'config.json': the file is damaged");
    expect_stable(MOOD "@4");
    change("POST", "/v2/repository/index", "", 200, "\"version\":\"6\",\"state\":\"UNAVAILABLE\"");
    cr_assert_eq(
        metric_value(&d, "sluice_model_state{model=\"mood\",version=\"6\",state=\"failed\"}"), 1);
    cr_assert_eq(metric_value(&d, "sluice_model_loads_total{model=\"mood\",result=\"failed\"}"), 1);
}

/* ---- labels ---------------------------------------------------------------------------------- */

Test(model_changes, every_api_reaches_a_version_by_number_and_by_label)
{
    change("PUT", "/v1/models/mood/labels/blue", "{\"version\":5}", 200,
           "{\"object\":\"model.label\",\"model\":\"mood\",\"label\":\"blue\",\"version\":5,"
           "\"previous_version\":null}");
    change("PUT", "/v1/models/mood/labels/5", "{\"version\":5}", 400, SL_VERSION_LABEL_RULE);
    change("PUT", "/v1/models/mood/labels/blue", "{\"version\":\"5\"}", 200, "\"version\":5");
    change("PUT", "/v1/models/mood/labels/blue", "{\"version\":\"five\"}", 400,
           "'version' must be " SL_VERSION_FORM ", not \\\"five\\\"");
    change("PUT", "/v1/models/mood/labels/blue", "{\"version\":0}", 400, "not 0");
    static const char *const names[] = {"mood@5", "mood:blue"};
    char path[128], body[512];
    for (size_t i = 0; i < COUNT(names); i++) {
        static const char *const paths[][2] = {{"/models/", "/predict"},
                                               {"/models/", "/tokenize"},
                                               {"/hf/", ""},
                                               {"/predict?model=", ""}};
        for (size_t j = 0; j < COUNT(paths); j++) {
            (void)snprintf(path, sizeof path, "%s%s%s", paths[j][0], names[i], paths[j][1]);
            expect_version(path, TEXT, MOOD "@5");
        }
        (void)snprintf(path, sizeof path, "/models/%s/decode", names[i]);
        expect_version(path, "{\"ids\":[1]}", MOOD "@5");
        (void)snprintf(path, sizeof path, "/models/%s/info", names[i]);
        expect_version(path, NULL, MOOD "@5");
        (void)snprintf(body, sizeof body,
                       "{\"model\":\"%s\",\"input\":\"ab\",\"questions\":[{\"type\":\"predicate\","
                       "\"instructions\":\"positive\"}]}",
                       names[i]);
        expect_version("/v1/decisions", body, MOOD "@5");
        (void)snprintf(path, sizeof path, "/v1/models/%s", names[i]);
        expect_version(path, NULL, MOOD "@5");
    }
    static const char *const versions[] = {"5", "blue"};
    for (size_t i = 0; i < COUNT(versions); i++) {
        (void)snprintf(path, sizeof path, "/v2/models/mood/versions/%s/infer", versions[i]);
        expect_version(path,
                       "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\","
                       "\"data\":[\"ab\"]}]}",
                       MOOD "@5");
        (void)snprintf(path, sizeof path, "/v2/models/mood/versions/%s/ready", versions[i]);
        expect_version(path, NULL, MOOD "@5");
    }
    tiny_store_copy(d.store, "tiny/1", "tiny/2");
    change("PUT", "/v1/models/tiny/labels/blue", "{\"version\":2}", 200, "\"version\":2");
    expect_version("/v1/completions", "{\"model\":\"tiny:blue\",\"prompt\":\"a\"}", "tiny@2");
    expect_version("/v1/completions", "{\"model\":\"tiny:blue\",\"prompt\":\"a\",\"stream\":true}",
                   "tiny@2");
    change("DELETE", "/v1/models/mood/labels/blue", NULL, 200,
           "{\"id\":\"blue\",\"object\":\"model.label\",\"deleted\":true}");
    change("DELETE", "/v1/models/mood/labels/blue", NULL, 404, "has no label 'blue'");
    struct http_response answer = http_request(&d, "POST", "/models/mood:blue/predict", TEXT);
    cr_assert_eq(answer.status, 404, "%s", answer.body.data);
    http_response_release(&answer);
}

Test(model_changes, a_number_after_a_colon_is_no_version)
{
    struct http_response answer = http_request(&d, "POST", "/models/mood:4/predict", TEXT);
    cr_assert_eq(answer.status, 404, "%s", answer.body.data);
    EXPECT_SAID(answer.body.data, "':' is followed by a label; version 4 of 'mood' is 'mood@4'");
    http_response_release(&answer);
    change("DELETE", "/v1/models/mood:4", NULL, 404, "'mood@4'");
}

Test(model_changes, a_canary_gets_its_share_and_is_promoted_and_rolled_back)
{
    int canary = 0;
    change("PUT", "/v1/models/mood/labels/canary", "{\"version\":5,\"weight\":20}", 200,
           "\"weight\":20");
    for (int i = 0; i < 50; i++) {
        struct http_response answer = http_request(&d, "POST", "/predict", TEXT);
        cr_assert_eq(answer.status, 200);
        canary += strcmp(http_response_header(&answer, "x-sluice-model"), MOOD "@5") == 0;
        http_response_release(&answer);
    }
    cr_assert_geq(canary, 9);
    cr_assert_leq(canary, 11);
    change("PUT", "/v1/models/mood/labels/canary", "{\"weight\":0}", 200, "\"weight\":0");
    change("PUT", "/v1/models/mood/labels/stable", "{\"version\":5}", 200,
           "\"label\":\"stable\",\"version\":5,\"previous_version\":4,\"removed_canary\":true");
    expect_stable(MOOD "@5");
    change("POST", "/v1/models/mood/rollback", NULL, 200,
           "\"label\":\"stable\",\"version\":4,\"previous_version\":5,\"removed_canary\":false");
    expect_stable(MOOD "@4");
    change("POST", "/v1/models/plain/rollback", "", 409, "no earlier version to go back to");
    change("PUT", "/v1/models/mood/labels/canary", "{\"weight\":101}", 400, "weight");
    change("PUT", "/v1/models/mood/labels/7up", "{\"version\":5}", 400, "Invalid label '7up'");
    change("PUT", "/v1/models/mood/labels/blue", "{\"weight\":1,\"version\":5}", 400,
           "Only the label 'canary' has a weight");
    change("DELETE", "/v1/models/mood/labels/stable", NULL, 409, "cannot be removed");
}

/* ---- what there is --------------------------------------------------------------------------- */

Test(model_changes, versions_are_listed_with_their_states_and_labels)
{
    char path[PATH_MAX];
    test_write_file(test_path(path, d.store, "mood/6/config.json"), "{}");
    change("POST", "/v2/repository/models/mood/load", "{}", 400, "could not be loaded");
    change("PUT", "/v1/models/mood/labels/canary", "{\"version\":5,\"weight\":20}", 200, "");
    change("PUT", "/v1/models/mood/labels/stable", "{}", 200, "\"version\":4");
    struct http_response answer = http_request(&d, "GET", "/v1/models/mood/versions", NULL);
    json_t *root = json_from_response(&answer);
    cr_assert_eq(json_array_size(json_at(root, "data")), 3);
    cr_assert_str_eq(json_string_at(root, "data/0/id"), "mood@4");
    cr_assert_eq(json_integer_at(root, "data/0/version"), 4);
    cr_assert_str_eq(json_string_at(root, "data/0/state"), "ready");
    cr_assert_str_eq(json_string_at(root, "data/0/labels/0"), "stable");
    cr_assert(json_is_true(json_at(root, "data/0/pinned")));
    cr_assert(json_is_false(json_at(root, "data/1/pinned")));
    cr_assert_eq(json_integer_at(root, "data/0/canary_weight"), 0);
    cr_assert_str_eq(json_string_at(root, "data/1/labels/0"), "canary");
    cr_assert_eq(json_integer_at(root, "data/1/canary_weight"), 20);
    cr_assert_str_eq(json_string_at(root, "data/2/state"), "failed");
    cr_assert(strstr(json_string_at(root, "data/2/reason"),
                     "'config.json': the file is damaged or was changed"));
    json_decref(root);
    http_response_release(&answer);
    answer = http_request(&d, "GET", "/v1/models", NULL);
    root = json_from_response(&answer);
    cr_assert_eq(json_array_size(json_at(root, "data")), 3, "each model once");
    cr_assert_str_eq(json_string_at(root, "data/0/id"), "mood");
    cr_assert_str_eq(json_string_at(root, "data/0/sluice/versions/1/labels/0"), "canary");
    json_decref(root);
    http_response_release(&answer);
    change("GET", "/v1/models/none/versions", NULL, 404, "does not exist");
}

Test(model_changes, a_pretrained_model_is_loaded)
{
    tiny_store_make_base(d.store);
    change("POST", "/v2/repository/models/base/load", "{\"parameters\":{\"config\":\"{}\"}}", 400,
           "Leave out 'config'; the configuration is the version's own config.json.");
    change("POST", "/v2/repository/models/base/load", "{}", 200, "READY");
    struct http_response answer = http_request(&d, "POST", "/models/base/predict", TEXT);
    cr_assert_eq(answer.status, 424, "%s", answer.body.data);
    EXPECT_SAID(answer.body.data, "The model 'base' is not a classifier; it gives embeddings");
    http_response_release(&answer);
}

Test(model_changes, deleting_a_model_unloads_it)
{
    change("DELETE", "/v1/models/mood@9", NULL, 404, "has no version 9");
    change("DELETE", "/v1/models/mood@4", NULL, 409, "has a label");
    change("DELETE", "/v1/models/none", NULL, 404, "is not in the store");
    change("DELETE", "/v1/models/mood@", NULL, 404, "has no version ''");
    change("DELETE", "/v1/models/mood:", NULL, 404, "has no version ''");
    change("DELETE", "/v1/models/mood", NULL, 200,
           "{\"id\":\"mood\",\"object\":\"model\",\"deleted\":true}");
    struct http_response answer = http_request(&d, "GET", "/v1/models/mood", NULL);
    cr_assert_eq(answer.status, 404, "%s", answer.body.data);
    http_response_release(&answer);
    answer = http_request(&d, "GET", "/v2/health/ready", NULL);
    cr_assert_eq(answer.status, 200, "it was unloaded on purpose: %s", answer.body.data);
    http_response_release(&answer);
}

Test(model_changes, changes_are_in_the_audit_log_and_need_the_admin_listener)
{
    static const char *const paths[] = {"/v1/models/mood/rollback",
                                        "/v2/repository/models/mood/load",
                                        "/v2/repository/models/mood/versions/5/unload"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct http_response answer = http_request(&d, "POST", paths[i], "{}");
        cr_assert_eq(answer.status, 403, "%s", answer.body.data);
        http_response_release(&answer);
    }
    change("PUT", "/v1/models/mood/labels/blue", "{\"version\":5}", 200, "");
    change("POST", "/v1/models/mood/rollback", "", 409, "");
    struct http_response answer = http_admin(&d, "GET", "/v1/audit?action=label.set", NULL);
    json_t *root = json_from_response(&answer);
    cr_assert_eq(json_array_size(json_at(root, "data")), 1, "%s", answer.body.data);
    cr_assert_str_eq(json_string_at(root, "data/0/target"), MOOD);
    cr_assert_str_eq(json_string_at(root, "data/0/detail/label"), "blue");
    cr_assert_eq(json_integer_at(root, "data/0/detail/version"), 5);
    json_decref(root);
    http_response_release(&answer);
    answer = http_admin(&d, "GET", "/v1/audit?action=model.rollback", NULL);
    EXPECT_SAID(answer.body.data, "no earlier version");
    http_response_release(&answer);
}
