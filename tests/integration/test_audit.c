/* test_audit.c - the table of routes against the audit log: each change leaves an entry, and each
 * attempt that failed. */
#include "api/endpoints.h"
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/route_path.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <time.h>

enum { ENTRIES_MAX = 128 };

static struct daemon d;

/* mood 4 is served; mood 5 and 6 are in the store. */
static void make_store(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_store_copy(d.store, "mood/4", "mood/5");
    tiny_store_copy(d.store, "mood/4", "mood/6");
    tiny_store_copy(d.store, "mood/4", "other/4");
}

static bool changes_something(const struct sv_route *route)
{
    bool is_reserved = route->scope == SV_SCOPE_TRAIN || route->scope == SV_SCOPE_ADMIN;
    return is_reserved && strcmp(route->method, "GET") != 0;
}

Test(audit, every_route_that_changes_something_has_an_action)
{
    for (int i = 0; i < sv_routes.count; i++) {
        const struct sv_route *route = &sv_routes.routes[i];
        cr_assert_eq(route->action != NULL, changes_something(route), "%s %s", route->method,
                     route->path);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The entry of a request; waits for it, because failures are written after the response. */
static json_t *find_entry(const char *request_id)
{
    for (int i = 0; i < DAEMON_WAIT_MS / 10; i++, sleep_ms(10)) {
        struct http_response response = http_admin(&d, "GET", "/v1/audit?limit=1000", NULL);
        json_t *root = json_from_response(&response), *found = NULL, *entry;
        size_t at;
        http_response_release(&response);
        json_array_foreach (json_at(root, "data"), at, entry) {
            if (strcmp(json_string_at(entry, "request_id"), request_id) == 0) {
                cr_assert_null(found, "two entries for one request");
                found = json_incref(entry);
            }
        }
        json_decref(root);
        if (found)
            return found;
    }
    cr_assert(false, "no entry of the request %s", request_id);
    return NULL;
}

/* Who, what, when and from where. */
static void expect_entry(const char *request_id, const char *action, const char *actor,
                         const char *address, bool failed)
{
    json_t *entry = find_entry(request_id);
    cr_assert_str_eq(json_string_at(entry, "action"), action);
    cr_assert_eq(strncmp(json_string_at(entry, "actor"), actor, strlen(actor)), 0, "%s, not %s",
                 json_string_at(entry, "actor"), actor);
    EXPECT_SAID(json_string_at(entry, "address"), address);
    cr_assert_leq(llabs((long long)json_integer_at(entry, "created_at") - (long long)time(NULL)),
                  100);
    const json_t *error =
        json_is_object(json_at(entry, "detail")) ? json_at(entry, "detail/error") : NULL;
    cr_assert_eq(error != NULL, failed, "%s", action);
    json_decref(entry);
}

static const char *id_of(struct http_response *response, char id[static 128])
{
    (void)snprintf(id, 128, "%s", http_response_header(response, "x-request-id"));
    return id;
}

/* ---- failures -------------------------------------------------------------------------------- */

static void fail_once(const struct sv_route *route, const char *key, const char *actor)
{
    char path[SV_PATH_MAX], id[128], line[256];
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", key ? key : "");
    struct curl_slist *headers = key ? curl_slist_append(NULL, line) : NULL;
    struct http_response response =
        http_request_with(&d, route->method, route_path(route, path), "{}", headers);
    cr_assert_geq(response.status, 400, "%s %s", route->method, route->path);
    expect_entry(id_of(&response, id), route->action, actor, "127.0.0.1:", true);
    http_response_release(&response);
    curl_slist_free_all(headers);
}

/* Makes a key with sluicectl, and adds its line to the file. */
static void make_key(const char *name, const char *scopes, const char *file, char key[static 256])
{
    static struct program_result result;
    char path[PATH_MAX], before[4096] = "";
    struct sl_buffer lines = {0};
    program_run(
        &result, "sluicectl", NULL,
        ARGS("keys", "create", name, scopes, "--save-key", test_path(path, d.directory, name)));
    EXPECT_EXIT(&result, 0);
    if (access(file, F_OK) == 0)
        test_read_file(before, sizeof before, file);
    sl_buffer_printf(&lines, "%s%s", before, result.out);
    test_write_file(file, lines.data);
    sl_buffer_release(&lines);
    test_read_file(key, 256, path);
    key[strcspn(key, "\n")] = '\0';
}

/* Without a key, with one that lacks the scope, and with one that may but asks for nonsense. */
Test(audit, each_change_that_fails_leaves_an_entry)
{
    static char log[1 << 20];
    char infer[256], all[256], keys[PATH_MAX], state[PATH_MAX], log_path[PATH_MAX];
    make_store();
    (void)daemon_keep_log(&d, log_path);
    (void)test_path(keys, d.directory, "keys");
    make_key("reader", "infer", keys, infer);
    make_key("owner", "train,admin", keys, all);
    daemon_serve(&d,
                 (const char *const[]){"--api-keys-file", keys, "--log-level", "info", "--state",
                                       test_path(state, d.directory, "state"), NULL});
    for (int i = 0; i < sv_routes.count; i++) {
        const struct sv_route *route = &sv_routes.routes[i];
        if (!route->action)
            continue;
        fail_once(route, NULL, "anonymous");
        fail_once(route, infer, "key:reader");
        fail_once(route, all, "key:owner");
    }
    test_read_file(log, sizeof log, log_path);
    cr_assert_not_null(strstr(log, "result=invalid_api_key"), "the log of the daemon says why");
    cr_assert_null(strstr(log, "result=ok"), "nothing succeeded");
    daemon_stop(&d);
}

/* A flood of failures cannot fill the disk, and what is missing is counted. */
Test(audit, many_failures_are_recorded_in_part)
{
    enum { FAILURES = 3 * SV_AUDIT_FAILURES_MAX };

    char state[PATH_MAX], last[128];
    make_store();
    daemon_serve(&d,
                 (const char *const[]){"--state", test_path(state, d.directory, "state"), NULL});
    for (int i = 0; i < FAILURES; i++) {
        struct http_response response = http_request(&d, "DELETE", "/v1/models/none", NULL);
        cr_assert_eq(response.status, 403);
        http_response_release(&response);
    }
    sleep_ms(1500); /* so that one more is recorded */
    struct http_response response = http_request(&d, "DELETE", "/v1/models/none", NULL);
    json_decref(find_entry(id_of(&response, last)));
    http_response_release(&response);
    response = http_admin(&d, "GET", "/v1/audit?limit=1000", NULL);
    json_t *root = json_from_response(&response);
    const json_t *entries = json_at(root, "data");
    json_int_t missing = 0; /* said by the next entry, which on a slow machine is not the last */
    for (size_t i = 0; i < json_array_size(entries); i++)
        missing +=
            json_integer_value(json_at(json_array_get(entries, i), "detail/failures_not_recorded"));
    cr_assert_gt(missing, 0);
    cr_assert_eq((json_int_t)json_array_size(entries) + missing, FAILURES + 1);
    json_decref(root);
    http_response_release(&response);
    daemon_stop(&d);
}

/* ---- changes that are made ------------------------------------------------------------------- */

struct made {
    const char *method, *route;
    char request_id[128];
};

static struct made made[ENTRIES_MAX];
static int made_count;

static void keep(const char *method, const char *route, struct http_response *response)
{
    cr_assert_eq(response->status, 200, "%s %s: %ld %s", method, route, response->status,
                 response->body.data);
    cr_assert_lt(made_count, ENTRIES_MAX);
    made[made_count].method = method;
    made[made_count].route = route;
    (void)id_of(response, made[made_count++].request_id);
    http_response_release(response);
}

static void make(const char *method, const char *route, const char *path, const char *body)
{
    struct http_response response = http_admin(&d, method, path, body);
    keep(method, route, &response);
}

static void change_jobs(void)
{
    static const char jobs[] = "/v1/fine_tuning/jobs";
    char file[JOB_ID_MAX], job[JOB_ID_MAX], path[256], body[JOB_BODY_MAX];
    struct http_response response = file_upload(&d, "x.jsonl", "fine-tune", "{\"text\":\"a\"}", 12);
    keep("POST", "/v1/files", &response);
    job_upload_reviews(&d, 60, file);
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"encoder\",\"training_file\":\"%s\",\"suffix\":\"new\","
                   "\"hyperparameters\":{" JOB_LONG "}}",
                   file);
    response = job_post(&d, body, NULL);
    json_t *object = json_from_response(&response);
    (void)snprintf(job, sizeof job, "%s", json_string_at(object, "id"));
    json_decref(object);
    keep("POST", jobs, &response);
    static const char *const actions[] = {"pause", "resume", "cancel"};
    static const char *const routes[] = {"/v1/fine_tuning/jobs/{id}/pause",
                                         "/v1/fine_tuning/jobs/{id}/resume",
                                         "/v1/fine_tuning/jobs/{id}/cancel"};
    for (size_t i = 0; i < COUNT(actions); i++) {
        (void)snprintf(path, sizeof path, "%s/%s/%s", jobs, job, actions[i]);
        make("POST", routes[i], path, NULL);
    }
    job_wait(&d, job, "cancelled");
    (void)snprintf(path, sizeof path, "/v1/files/%s", file);
    make("DELETE", "/v1/files/{id}", path, NULL);
}

#define REPOSITORY "/v2/repository/models/"

static void change_models(void)
{
    make("POST", REPOSITORY "{name}/versions/{version}/load", REPOSITORY "mood/versions/5/load",
         "{}");
    make("POST", REPOSITORY "{name}/load", REPOSITORY "mood/load", "{}");
    make("PUT", "/v1/models/{id}/labels/{label}", "/v1/models/mood/labels/stable",
         "{\"version\":5}");
    make("POST", "/v1/models/{id}/rollback", "/v1/models/mood/rollback", "{}");
    make("PUT", "/v1/models/{id}/labels/{label}", "/v1/models/mood/labels/blue", "{\"version\":5}");
    make("DELETE", "/v1/models/{id}/labels/{label}", "/v1/models/mood/labels/blue", NULL);
    make("POST", REPOSITORY "{name}/versions/{version}/unload", REPOSITORY "mood/versions/5/unload",
         "{}");
    make("POST", REPOSITORY "{name}/unload", REPOSITORY "mood/unload", "{}");
    make("DELETE", "/v1/models/{id}", "/v1/models/other", NULL);
}

Test(audit, each_change_leaves_an_entry)
{
    char state[PATH_MAX], actor[64];
    make_store();
    daemon_serve(&d,
                 (const char *const[]){"--state", test_path(state, d.directory, "state"), NULL});
    change_jobs();
    change_models();
    (void)snprintf(actor, sizeof actor, "unix:%d", (int)getuid());
    for (int i = 0; i < sv_routes.count; i++) {
        const struct sv_route *route = &sv_routes.routes[i];
        int found = 0;
        for (int j = 0; j < made_count; j++)
            if (strcmp(made[j].method, route->method) == 0 &&
                strcmp(made[j].route, route->path) == 0) {
                expect_entry(made[j].request_id, route->action, actor, "unix", false);
                found++;
            }
        cr_assert(found > 0 || !route->action, "this test lacks %s %s", route->method, route->path);
    }
    daemon_stop(&d);
}
