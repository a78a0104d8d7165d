/* test_access.c - the table of routes against every kind of key and every listener: only what a
 * scope allows is allowed. */
#include "access/api_keys.h"
#include "api/endpoints.h"
#include "base/api_key.h"
#include "support/http_client.h"
#include "support/program.h"
#include "support/raw_socket.h"
#include "support/route_path.h"
#include "support/test.h"

#include <signal.h>

/* ---- the table of routes, said once more ----------------------------------------------------- */

/* What each scope is for. A route that is not listed here, or with another scope, fails the test:
 * who may do what is decided twice. */
static const char *const by_scope[][64] = {
    [SV_SCOPE_OPEN] = {"GET /", "GET /health", "GET /ping", "GET /v2", "GET /v2/health/live",
                       "GET /v2/health/ready", "GET /v2/models/{name}/ready",
                       "GET /v2/models/{name}/versions/{version}/ready", "GET /openapi.json",
                       "GET /ui", "GET /ui/", "GET /ui/{file}", "GET /docs", "GET /docs/",
                       "GET /docs/{file}", NULL},
    [SV_SCOPE_METRICS] = {"GET /metrics", NULL},
    [SV_SCOPE_INFER] = {"POST /v1/completions",
                        "POST /v1/decisions",
                        "POST /v1/embeddings",
                        "GET /v1/models",
                        "GET /v1/models/{id}",
                        "GET /v1/models/{id}/versions",
                        "POST /predict",
                        "POST /",
                        "POST /invocations",
                        "POST /embed",
                        "POST /tokenize",
                        "POST /decode",
                        "GET /info",
                        "POST /models/{name}",
                        "POST /models/{name}/predict",
                        "POST /models/{name}/embed",
                        "POST /models/{name}/tokenize",
                        "POST /models/{name}/decode",
                        "GET /models/{name}/info",
                        "POST /hf/{name}",
                        "POST /rerank",
                        "POST /models/{name}/rerank",
                        "POST /v1/rerank",
                        "POST /v2/rerank",
                        "POST /v1/chat/completions",
                        "POST /embed_sparse",
                        "POST /embed_all",
                        "POST /similarity",
                        "POST /models/{name}/embed_sparse",
                        "POST /models/{name}/embed_all",
                        "POST /models/{name}/similarity",
                        "POST /hf/{name}/pipeline/{task}",
                        "GET /v2/models",
                        "GET /v2/models/stats",
                        "GET /v2/models/{name}",
                        "GET /v2/models/{name}/config",
                        "GET /v2/models/{name}/versions/{version}/config",
                        "POST /v2/models/{name}/infer",
                        "GET /v2/models/{name}/stats",
                        "GET /v2/models/{name}/versions/{version}",
                        "POST /v2/models/{name}/versions/{version}/infer",
                        "GET /v2/models/{name}/versions/{version}/stats",
                        "POST /v2/repository/index",
                        NULL},
    [SV_SCOPE_TRAIN] = {"POST /v1/files", "GET /v1/files", "GET /v1/files/{id}",
                        "GET /v1/files/{id}/content", "GET /v1/files/{id}/check",
                        "DELETE /v1/files/{id}", "POST /v1/fine_tuning/jobs",
                        "GET /v1/fine_tuning/jobs", "GET /v1/fine_tuning/jobs/{id}",
                        "POST /v1/fine_tuning/jobs/{id}/cancel",
                        "POST /v1/fine_tuning/jobs/{id}/pause",
                        "POST /v1/fine_tuning/jobs/{id}/resume",
                        "GET /v1/fine_tuning/jobs/{id}/events",
                        "GET /v1/fine_tuning/jobs/{id}/checkpoints", NULL},
    [SV_SCOPE_ADMIN] = {"DELETE /v1/models/{id}", "PUT /v1/models/{id}/labels/{label}",
                        "DELETE /v1/models/{id}/labels/{label}", "POST /v1/models/{id}/rollback",
                        "GET /v1/audit", "POST /v2/repository/models/{name}/load",
                        "POST /v2/repository/models/{name}/unload",
                        "POST /v2/repository/models/{name}/versions/{version}/load",
                        "POST /v2/repository/models/{name}/versions/{version}/unload", NULL},
};

static bool is_listed(const char *const *list, const struct sv_route *route)
{
    char name[SV_PATH_MAX + 8];
    (void)snprintf(name, sizeof name, "%s %s", route->method, route->path);
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

Test(access, scopes_are_as_decided)
{
    int listed = 0;
    for (size_t scope = SV_SCOPE_OPEN; scope < COUNT(by_scope); scope++)
        for (int i = 0; by_scope[scope][i]; i++)
            listed++;
    cr_assert_eq(sv_routes.count, listed, "a route is missing here or there");
    for (int i = 0; i < sv_routes.count; i++) {
        const struct sv_route *route = &sv_routes.routes[i];
        cr_assert(is_listed(by_scope[route->scope], route), "%s %s has another scope",
                  route->method, route->path);
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

enum kind { NONE, MALFORMED, WRONG, EXPIRED, METRICS, INFER, TRAIN, ADMIN, ALL, KINDS };

/* What the keys file says of each kind; NULL: it is not in there. */
static const struct {
    const char *scopes, *expires;
} kinds[KINDS] = {
    [EXPIRED] = {"metrics,infer,train,admin", "2026-01-01"},
    [METRICS] = {"metrics", NULL},
    [INFER] = {"infer", NULL},
    [TRAIN] = {"train", "2126-01-01"},
    [ADMIN] = {"admin", NULL},
    [ALL] = {"metrics,infer,train,admin", "2126-01-01T00:00:00Z"},
};

struct setup {
    struct daemon daemon;
    char file[PATH_MAX];
    char keys[KINDS][SL_API_KEY_BYTES + 1];
};

static void add_line(const struct setup *s, enum kind kind, struct sl_buffer *lines)
{
    struct sl_err err;
    struct sl_api_key key = {0};
    char name[16];
    if (!kinds[kind].scopes)
        return;
    (void)snprintf(name, sizeof name, "key-%d", (int)kind);
    EXPECT_OK(sl_api_key_set_name(&key, name, &err), err);
    EXPECT_OK(sl_api_key_set_scopes(&key, kinds[kind].scopes, &err), err);
    if (kinds[kind].expires)
        EXPECT_OK(sl_api_key_set_expires(&key, kinds[kind].expires, &err), err);
    sl_api_key_hash(s->keys[kind], key.hash);
    sl_api_key_write(&key, lines);
}

static void write_keys(struct setup *s)
{
    struct sl_err err;
    struct sl_buffer lines = {0};
    sl_buffer_append_string(&lines, "# keys of a test\n\n");
    for (enum kind kind = WRONG; kind < KINDS; kind++) {
        EXPECT_OK(sl_api_key_create(s->keys[kind], &err), err);
        add_line(s, kind, &lines);
    }
    test_write_file(test_path(s->file, s->daemon.directory, "keys"), lines.data);
    sl_buffer_release(&lines);
}

static void start(struct setup *s)
{
    daemon_make_store(&s->daemon);
    write_keys(s);
    daemon_serve(&s->daemon, (const char *const[]){"--admin-listen", "auto 127.0.0.1:0",
                                                   "--api-keys-file", s->file, NULL});
}

/* ---- requests -------------------------------------------------------------------------------- */

enum transport { INFERENCE, ADMIN_TCP, ADMIN_UNIX, TRANSPORTS };

static struct http_response send_to(const struct setup *s, enum transport transport,
                                    const char *header, const char *method, const char *path)
{
    struct daemon at = s->daemon;
    struct curl_slist *headers = header ? curl_slist_append(NULL, header) : NULL;
    const char *body = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ? NULL : "{}";
    if (transport == ADMIN_TCP)
        at.port = at.admin_port;
    struct http_response response = transport == ADMIN_UNIX
                                        ? http_admin_with(&at, method, path, body, headers)
                                        : http_request_with(&at, method, path, body, headers);
    curl_slist_free_all(headers);
    return response;
}

static struct http_response send_with(const struct setup *s, enum transport transport,
                                      const char *header, const struct sv_route *route)
{
    char path[SV_PATH_MAX];
    return send_to(s, transport, header, route->method, route_path(route, path));
}

static const char *header_of(const struct setup *s, enum kind kind, char line[static 128])
{
    if (kind == NONE)
        return NULL;
    (void)snprintf(line, 128, "Authorization: %s",
                   kind == MALFORMED ? "Basic c2x1aWNlOnNsdWljZQ==" : "");
    if (kind != MALFORMED)
        (void)snprintf(line, 128, "Authorization: Bearer %s", s->keys[kind]);
    return line;
}

/* The rules, said once more and in another way: 0 for anything that is not a refusal. */
static long refusal(const struct sv_route *route, enum kind kind, enum transport transport)
{
    static const enum sv_scope scopes[KINDS] = {[METRICS] = SV_SCOPE_METRICS,
                                                [INFER] = SV_SCOPE_INFER,
                                                [TRAIN] = SV_SCOPE_TRAIN,
                                                [ADMIN] = SV_SCOPE_ADMIN};

    if (route->scope == SV_SCOPE_OPEN || (kind == NONE && transport == ADMIN_UNIX) || kind == ALL)
        return 0;
    if (kind < METRICS)
        return 401;
    return scopes[kind] == route->scope ? 0 : 403;
}

static void expect_as_the_rules_say(const struct setup *s, const struct sv_route *route,
                                    enum kind kind, enum transport transport)
{
    char line[128];
    struct http_response response = send_with(s, transport, header_of(s, kind, line), route);
    long want = refusal(route, kind, transport), status = response.status;
    bool is_refusal = status == 401 || status == 403;
    cr_assert_eq(is_refusal ? status : 0, want, "%s %s, key %d, listener %d: %ld, not %ld: %s",
                 route->method, route->path, (int)kind, (int)transport, status, want,
                 response.body.data);
    cr_assert_geq(status, 200, "%s %s", route->method, route->path);
    const char *challenge = http_response_header(&response, "WWW-Authenticate");
    cr_assert(status != 401 || (challenge && strncmp(challenge, "Bearer ", 7) == 0), "%s",
              route->path);
    cr_assert(!is_refusal || strcmp(http_response_header(&response, "x-sluice-error"),
                                    status == 401 ? "invalid_api_key" : "permission_denied") == 0);
    http_response_release(&response);
}

/* The sum of sluice_access_denied_total over its reasons. */
static double count_denied(const struct setup *s)
{
    static const char name[] = "\nsluice_access_denied_total{";
    struct http_response response = http_admin(&s->daemon, "GET", "/metrics", NULL);
    double sum = 0;
    for (const char *at = response.body.data; (at = strstr(at, name)); at++)
        sum += strtod(strstr(at, "} ") + 2, NULL);
    http_response_release(&response);
    return sum;
}

/* Each refusal is counted once. */
Test(access, every_route_every_key_every_listener)
{
    static struct setup s;
    double refusals = 0;
    start(&s);
    for (int i = 0; i < sv_routes.count; i++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            for (enum transport transport = 0; transport < TRANSPORTS; transport++) {
                expect_as_the_rules_say(&s, &sv_routes.routes[i], kind, transport);
                refusals += refusal(&sv_routes.routes[i], kind, transport) > 0;
            }
    cr_assert_eq(count_denied(&s), refusals, "%.0f, not %.0f", count_denied(&s), refusals);
    daemon_stop(&s.daemon);
}

static bool is_in_table(const char *method, const char *path)
{
    char params[SV_PATH_PARAMS_MAX][SV_PATH_MAX], allow[SV_ALLOW_MAX];
    return sv_router_find(&sv_routes, method, path, params, allow) != NULL;
}

static bool has_path(const char *path)
{
    return is_in_table("GET", path) || is_in_table("POST", path) || is_in_table("PUT", path) ||
           is_in_table("DELETE", path);
}

static void expect_no_route(const struct setup *s, const char *method, const char *path, long want)
{
    char line[128];
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (enum transport transport = 0; transport < TRANSPORTS; transport++) {
            struct http_response response =
                send_to(s, transport, header_of(s, kind, line), method, path);
            cr_assert_eq(response.status, want, "%s %s, key %d, listener %d: %ld", method, path,
                         (int)kind, (int)transport, response.status);
            http_response_release(&response);
        }
}

/* A method or a path that is not in the table gives access to nothing. */
Test(access, what_is_not_in_the_table_is_nobodys)
{
    static const char *const methods[] = {"GET",   "POST",    "PUT",   "DELETE",
                                          "PATCH", "OPTIONS", "TRACE", "CONNECTION"};
    static const char *const tails[] = {"/nothing", "%2F", ";x", "//", "/."};
    static struct setup s;
    char path[SV_PATH_MAX], other[SV_PATH_MAX + 16];
    start(&s);
    for (int i = 0; i < sv_routes.count; i++) {
        (void)route_path(&sv_routes.routes[i], path);
        const char *method = methods[(size_t)i % COUNT(methods)];
        if (!is_in_table(method, path))
            expect_no_route(&s, method, path, 405);
        (void)snprintf(other, sizeof other, "%s%s", path, tails[(size_t)i % COUNT(tails)]);
        /* "." may be an id for another method. */
        if (!is_in_table(sv_routes.routes[i].method, other))
            expect_no_route(&s, sv_routes.routes[i].method, other, has_path(other) ? 405 : 404);
    }
    daemon_stop(&s.daemon);
}

/* Without keys: the models for all, changes at the admin listener only, and a key that a client
 * always sends does no harm. */
Test(access, every_route_every_listener_without_keys)
{
    static struct setup s;
    DAEMON_START(&s.daemon, "--admin-listen", "auto 127.0.0.1:0");
    for (int i = 0; i < sv_routes.count; i++)
        for (enum transport transport = 0; transport < TRANSPORTS; transport++) {
            const struct sv_route *route = &sv_routes.routes[i];
            bool changes = route->scope == SV_SCOPE_TRAIN || route->scope == SV_SCOPE_ADMIN;
            bool allowed = !changes || transport != INFERENCE;
            struct http_response response =
                send_with(&s, transport, i % 2 ? "Authorization: Bearer anything" : NULL, route);
            cr_assert_eq(response.status == 403, !allowed, "%s %s, listener %d: %ld", route->method,
                         route->path, (int)transport, response.status);
            cr_assert_neq(response.status, 401);
            http_response_release(&response);
        }
    daemon_stop(&s.daemon);
}

/* ---- tricks ---------------------------------------------------------------------------------- */

static struct setup shared;

static void start_shared(void)
{
    start(&shared);
}

static void stop_shared(void)
{
    daemon_stop(&shared.daemon);
}

TestSuite(access_tricks, .init = start_shared, .fini = stop_shared);

static void expect_raw(const char *request, const char *status)
{
    struct sl_buffer got = {0};
    int fd = raw_connect(&shared.daemon);
    raw_send(fd, request);
    cr_assert(raw_read_until(fd, &got, "\r\n\r\n"), "%s", request);
    cr_assert(strncmp(got.data, status, strlen(status)) == 0, "%s: %s", request, got.data);
    sl_buffer_release(&got);
    (void)close(fd);
}

/* A request by hand, with a line of headers; %s in it stands for a good key. */
static void expect_head(const char *start_line, const char *header, const char *status)
{
    char request[4096], lines[2048];
    (void)snprintf(lines, sizeof lines, "%s", header);
    for (char *at; (at = strstr(lines, "KEY"));) {
        char rest[1024];
        (void)snprintf(rest, sizeof rest, "%s", at + 3);
        (void)snprintf(at, sizeof lines - (size_t)(at - lines), "%s%s", shared.keys[INFER], rest);
    }
    (void)snprintf(request, sizeof request,
                   "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n", start_line,
                   lines);
    expect_raw(request, status);
}

Test(access_tricks, headers)
{
    static const struct {
        const char *header, *status;
    } cases[] = {
        {"Authorization: Bearer KEY\r\n", "HTTP/1.1 200"},
        {"authorization: bEaReR   KEY\r\n", "HTTP/1.1 200"},
        {"Authorization: Bearer KEYx\r\n", "HTTP/1.1 401"},
        {"Authorization: Bearer KEY x\r\n", "HTTP/1.1 401"},
        {"Authorization: Bearer\tKEY\r\n", "HTTP/1.1 401"},
        {"Authorization: BearerKEY\r\n", "HTTP/1.1 401"},
        {"Authorization: KEY\r\n", "HTTP/1.1 401"},
        {"Authorization: Bearer \r\n", "HTTP/1.1 401"},
        {"Authorization:\r\n", "HTTP/1.1 401"},
        {"Authorization: Bearer KEY\r\nAuthorization: Bearer KEY\r\n", "HTTP/1.1 400"},
        {"Authorization: Bearer x\r\nAuthorization: Bearer KEY\r\n", "HTTP/1.1 400"},
        {"Authorization : Bearer KEY\r\n", "HTTP/1.1 400"},
        {"Authorization: Bearer\r\n KEY\r\n", "HTTP/1.1 400"},
        {"Proxy-Authorization: Bearer KEY\r\n", "HTTP/1.1 401"},
        {"X-Api-Key: KEY\r\n", "HTTP/1.1 401"},
        {"Cookie: Authorization=Bearer KEY\r\n", "HTTP/1.1 401"},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        expect_head("GET /v1/models", cases[i].header, cases[i].status);
}

Test(access_tricks, paths_and_methods)
{
    static const char infer[] = "Authorization: Bearer KEY\r\n";
    char line[1024];
    (void)snprintf(line, sizeof line, "GET /v1/models?api_key=%s&Authorization=Bearer%%20%s",
                   shared.keys[INFER], shared.keys[INFER]);
    expect_head(line, "", "HTTP/1.1 401");

    static const struct {
        const char *line, *status;
    } cases[] = {
        {"HEAD /v1/models", "HTTP/1.1 401"},
        {"OPTIONS /v1/models", "HTTP/1.1 405"},
        {"TRACE /v1/models", "HTTP/1.1 405"},
        {"GET /v1/models/", "HTTP/1.1 404"},
        {"GET //v1/models", "HTTP/1.1 404"},
        {"GET /health/../v1/models", "HTTP/1.1 404"},
        {"GET /v1%2Fmodels", "HTTP/1.1 404"},
        {"GET /%761/models", "HTTP/1.1 404"},
        {"GET /V1/models", "HTTP/1.1 404"},
        {"GET /health?/v1/models", "HTTP/1.1 200"},
        {"GET /v1/models#/health", "HTTP/1.1 404"},
        {"GET http://127.0.0.1/v1/models", "HTTP/1.1 401"},
        {"GET http://health/v1/models", "HTTP/1.1 421"},
        {"GET /v2/models/..%2F..%2Fhealth/stats", "HTTP/1.1 401"},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        expect_head(cases[i].line, "", cases[i].status);
    expect_head("HEAD /v1/models", infer, "HTTP/1.1 200");
    /* What the path decodes to is a name, not another route. */
    expect_head("GET /v2/models/x%2Fready", infer, "HTTP/1.1 404");
    expect_head("GET /metrics", infer, "HTTP/1.1 403");
}

Test(access_tricks, long_keys)
{
    enum { LONG = 200000 };

    static char request[LONG + 128];
    const size_t lengths[] = {SL_API_KEY_BYTES_MAX, SL_API_KEY_BYTES_MAX + 1, 30000, LONG};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        int at = snprintf(request, sizeof request,
                          "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ");
        memset(request + at, 'k', lengths[i]);
        (void)snprintf(request + at + lengths[i], 8, "\r\n\r\n");
        int fd = raw_connect(&shared.daemon);
        struct sl_buffer got = {0};
        raw_send(fd, request);
        cr_assert(raw_read_until(fd, &got, "\r\n"), "%zu bytes", lengths[i]);
        cr_assert(strncmp(got.data, "HTTP/1.1 4", 10) == 0, "%s", got.data);
        sl_buffer_release(&got);
        (void)close(fd);
    }
}

/* An error has the shape of its API, and says which scope is missing. */
Test(access_tricks, errors_name_the_scope)
{
    static const struct {
        const char *path;
        const char *part;
    } cases[] = {
        {"/v1/models", "{\"error\":{\"message\":\"This request needs a key with the scope infer; "
                       "the key 'key-4' has only metrics.\",\"type\":\"permission_error\""},
        {"/info", "\"error_type\":\"permission\""},
        {"/v2/models/x", "{\"error\":\"This request needs a key with the scope infer"},
    };

    char line[128];
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct curl_slist *headers = curl_slist_append(NULL, header_of(&shared, METRICS, line));
        struct http_response response =
            http_request_with(&shared.daemon, "GET", cases[i].path, NULL, headers);
        cr_assert_eq(response.status, 403);
        cr_assert(strstr(response.body.data, cases[i].part), "%s", response.body.data);
        cr_assert_str_eq(http_response_header(&response, "WWW-Authenticate"),
                         "Bearer realm=\"sluice\", error=\"insufficient_scope\", scope=\"infer\"");
        http_response_release(&response);
        curl_slist_free_all(headers);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static long status_with(const struct setup *s, enum kind kind)
{
    static const struct sv_route models = {.method = "GET", .path = "/v1/models"};
    char line[128];
    struct http_response response = send_with(s, INFERENCE, header_of(s, kind, line), &models);
    http_response_release(&response);
    return response.status;
}

/* Sends SIGHUP and waits until a key has this status. */
static void reload(const struct setup *s, enum kind kind, long want)
{
    long status = 0;
    cr_assert_eq(kill(s->daemon.pid, SIGHUP), 0);
    for (int i = 0; i < DAEMON_WAIT_MS / 10 && (status = status_with(s, kind)) != want; i++)
        sleep_ms(10);
    cr_assert_eq(status, want);
}

Test(access, sighup_reads_the_file_again)
{
    static struct setup s;
    struct sl_buffer lines = {0};
    start(&s);
    cr_assert_eq(status_with(&s, WRONG), 401);
    cr_assert_eq(status_with(&s, INFER), 200);
    struct sl_err err;
    struct sl_api_key key = {.scopes = 1u << SL_SCOPE_INFER};
    EXPECT_OK(sl_api_key_set_name(&key, "new", &err), err);
    sl_api_key_hash(s.keys[WRONG], key.hash);
    sl_api_key_write(&key, &lines);
    test_write_file(s.file, lines.data);
    reload(&s, WRONG, 200);
    cr_assert_eq(status_with(&s, INFER), 401);
    /* A bad file changes nothing; the one after it is taken. */
    sl_buffer_append_string(&lines, "nonsense\n");
    test_write_file(s.file, lines.data);
    cr_assert_eq(kill(s.daemon.pid, SIGHUP), 0);
    test_write_file(s.file, "");
    reload(&s, WRONG, 401);
    cr_assert_eq(status_with(&s, INFER), 401, "an empty file accepts no key");
    sl_buffer_release(&lines);
    daemon_stop(&s.daemon);
}

Test(access, a_bad_file_keeps_the_old_keys)
{
    static const char good[] = "a infer sha256:"
                               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";

    static const struct {
        const char *line, *part;
    } cases[] = {
        {"b infer", "line 2: invalid line: expected NAME SCOPES"},
        {"a infer sha256:0000000000000000000000000000000000000000000000000000000000000000",
         "line 2: 'a' has the name or the hash of the key 'a' in a line above"},
        {"b infer sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
         "'b' has the name or the hash of the key 'a' in a line above"},
    };

    char directory[PATH_MAX], path[PATH_MAX], text[1024];
    struct sl_err err;
    struct sl_api_key key;
    test_directory_create(directory);
    test_write_file(test_path(path, directory, "keys"), good);
    struct sv_api_keys *keys = sv_api_keys_create(path, &err);
    cr_assert(keys, "%s", err.text);
    for (size_t i = 0; i < COUNT(cases); i++) {
        (void)snprintf(text, sizeof text, "%s%s\n", good, cases[i].line);
        test_write_file(path, text);
        EXPECT_FAIL(sv_api_keys_reload(keys, &err), err, SL_BAD_INPUT, cases[i].part);
        cr_assert_eq(sv_api_keys_find(keys, "abc", 0, &key), SV_KEY_VALID);
    }
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    test_write_file(path, text);
    EXPECT_FAIL(sv_api_keys_reload(keys, &err), err, SL_BAD_INPUT,
                "line 1 is longer than 510 bytes");
    test_write_file(path, good);
    cr_assert_eq(chmod(path, 0602), 0);
    EXPECT_FAIL(sv_api_keys_reload(keys, &err), err, SL_BAD_INPUT, "every user may write it");
    cr_assert_eq(unlink(path), 0);
    EXPECT_FAIL(sv_api_keys_reload(keys, &err), err, SL_BAD_INPUT, "No such file");
    cr_assert_eq(sv_api_keys_find(keys, "abc", 0, &key), SV_KEY_VALID);
    sv_api_keys_destroy(keys);
    cr_assert_null(sv_api_keys_create(path, &err));
    cr_assert_null(sv_api_keys_create(directory, &err));
    test_directory_remove(directory);
}

Test(access, a_credential_of_systemd)
{
    char directory[PATH_MAX], path[PATH_MAX];
    struct sl_err err;
    test_directory_create(directory);
    cr_assert_eq(setenv("CREDENTIALS_DIRECTORY", directory, 1), 0);
    struct sv_api_keys *keys = sv_api_keys_create("", &err);
    cr_assert_not(sv_api_keys_are_required(keys), "the service has no such credential");
    sv_api_keys_destroy(keys);
    test_write_file(test_path(path, directory, "api_keys"), "# no keys yet\n");
    keys = sv_api_keys_create("", &err);
    cr_assert(sv_api_keys_are_required(keys));
    cr_assert_str_eq(sv_api_keys_file(keys), path);
    cr_assert_eq(sv_api_keys_count(keys), 0);
    sv_api_keys_destroy(keys);
    test_directory_remove(directory);
}

/* ---- sluicectl ------------------------------------------------------------------------------- */

/* Runs sluicectl with these arguments, for a path of the test's directory. */
#define CTL(...) program_run(&result, "sluicectl", NULL, ARGS(__VA_ARGS__))

Test(access, sluicectl_makes_keys_and_sends_them)
{
    static struct setup s;
    static struct program_result result;
    char key_file[PATH_MAX], unix_url[PATH_MAX + 8], url[64], socket[PATH_MAX];
    daemon_make_store(&s.daemon);
    (void)test_path(key_file, s.daemon.directory, "web.key");
    CTL("keys", "create", "web", "infer", "--save-key", key_file);
    EXPECT_EXIT(&result, 0);
    EXPECT_SAID(result.out, "web infer sha256:");
    cr_assert_str_eq(result.err, "");
    test_write_file(test_path(s.file, s.daemon.directory, "keys"), result.out);
    CTL("keys", "create", "web", "infer", "--save-key", key_file);
    EXPECT_EXIT(&result, 2);
    EXPECT_SAID(result.err,
                "web.key' exists, and may be the only copy of a key; give another FILE");
    cr_assert_str_eq(result.out, "", "there is no key for a line");
    CTL("keys", "create", "web", "infer", "--save-key", "/nonexistent/web.key");
    EXPECT_EXIT(&result, 2);
    EXPECT_SAID(result.err, "cannot write --save-key '/nonexistent/web.key': No such file");
    struct stat info;
    cr_assert_eq(stat(key_file, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0600);
    CTL("keys", "list", s.file);
    EXPECT_SAID(result.out, "web                      infer                      never\n");
    CTL("keys", "list", s.file, "--json");
    cr_assert_str_eq(result.out,
                     "[{\"name\":\"web\",\"scopes\":[\"infer\"],\"expires_at\":null}]\n");
    char line[512];
    test_read_file(line, sizeof line, s.file);
    program_run(&result, "sluicectl", key_file, ARGS("keys", "hash", "web", "infer"));
    cr_assert_str_eq(result.out, line);

    daemon_serve(&s.daemon, (const char *const[]){"--api-keys-file", s.file, NULL});
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", s.daemon.port);
    (void)snprintf(unix_url, sizeof unix_url, "unix:%s", daemon_admin_socket(&s.daemon, socket));
    CTL("models", "--url", url);
    EXPECT_EXIT(&result, 2);
    cr_assert_str_eq(result.err, "sluicectl: the daemon requires an API key; give one with "
                                 "--api-key-file FILE or SLUICE_API_KEY\n");
    test_write_file(test_path(s.file, s.daemon.directory, "wrong"),
                    "0123456789abcdef0123456789abcdef\n");
    CTL("models", "--url", url, "--api-key-file", s.file);
    EXPECT_EXIT(&result, 2);
    EXPECT_SAID(result.err, "The API key is not valid. (401 invalid_api_key");
    EXPECT_SAID(result.err, "sluicectl: the key came from --api-key-file\n");
    CTL("models", "--url", url, "--api-key-file", key_file);
    EXPECT_EXIT(&result, 0);
    CTL("bench", "--url", url, "--api-key-file", key_file, "--connections", "1", "--requests", "2",
        "--tokens", "2");
    EXPECT_EXIT(&result, 0);
    CTL("metrics", "--url", url, "--api-key-file", key_file);
    EXPECT_EXIT(&result, 2);
    EXPECT_SAID(result.err, "needs a key with the scope metrics; the key 'web' has only infer");
    CTL("metrics", "--url", unix_url);
    EXPECT_EXIT(&result, 0);
    daemon_stop(&s.daemon);
}

/* ---- addresses that others can reach --------------------------------------------------------- */

static int check_config(const struct setup *s, const char *listen, const char *admin,
                        const char *keys)
{
    return program_wait(
        daemon_spawn(ARGS("--check-config", "--store", s->daemon.store, "--listen", listen,
                          "--admin-listen", admin, "--api-keys-file", keys)));
}

Test(access, a_public_address_needs_keys)
{
    static struct setup s;
    daemon_make_store(&s.daemon);
    write_keys(&s);
    cr_assert_eq(check_config(&s, "0.0.0.0:8080", "auto", ""), 2);
    cr_assert_eq(check_config(&s, "127.0.0.1:8080", "0.0.0.0:8081", ""), 2);
    cr_assert_eq(check_config(&s, "0.0.0.0:8080", "0.0.0.0:8081", s.file), 0);
    cr_assert_eq(check_config(&s, "127.0.0.1:8080", "auto", "/nonexistent"), 2);
    test_directory_remove(s.daemon.directory);
}
