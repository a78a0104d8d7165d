/* request_headers.c - what a request says before its body: its id, deadline, route and framing. */
#include "http/request_headers.h"
#include "access/authorize.h"
#include "access/cors.h"
#include "access/hosts.h"
#include "core/limits.h"
#include "core/options.h"
#include "http/body_decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *header(const struct sv_request *request, const char *name)
{
    return request->transport->header(request->connection, name);
}

/* The client's id if it is well-formed, else a new one. */
static void name_request(struct sv_request *request)
{
    static const char sane[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-";
    const char *given = header(request, "x-request-id");
    size_t length = given ? strspn(given, sane) : 0;
    if (length > 0 && length <= SV_REQUEST_ID_MAX && given[length] == '\0')
        memcpy(request->request_id, given, length + 1);
    else
        (void)snprintf(request->request_id, sizeof request->request_id, "req-%016llx",
                       (unsigned long long)sv_next_id(request->server));
}

/* Digits only: a value read in another way than meant would set a wrong deadline. */
static bool check_timeout(struct sv_request *request, struct sv_error *error)
{
    enum { DIGITS_MAX = 12 };

    const char *given = header(request, "X-Request-Timeout-Ms");
    if (!given)
        return true;
    size_t digits = strspn(given, "0123456789");
    if (digits > 0 && digits <= DIGITS_MAX && !given[digits])
        request->timeout_ms = strtoll(given, NULL, 10);
    return request->timeout_ms > 0 ||
           sv_fail(
               error, SV_INVALID_VALUE, NULL,
               "X-Request-Timeout-Ms must be an integer from 1 to 999999999999 (milliseconds), not "
               "\"%.40s\".",
               given);
}

/* Only digits and a point, for the same reason. */
static bool check_budget(struct sv_request *request, struct sv_error *error)
{
    const char *given = header(request, "X-Sluice-Budget");
    if (!given)
        return true;
    bool is_number = given[0] && !given[strspn(given, "0123456789.")];
    char *end = NULL;
    request->budget = is_number ? strtod(given, &end) : 0;
    bool is_whole = end && end > given && !*end;
    return (is_whole && request->budget >= SV_BUDGET_MIN && request->budget <= 1) ||
           sv_fail(error, SV_INVALID_VALUE, NULL,
                   "X-Sluice-Budget must be a number from %g to 1 (the fraction of computing "
                   "everything), not \"%.40s\".",
                   SV_BUDGET_MIN, given);
}

static enum sv_progress handle_preflight(struct sv_request *request)
{
    return sv_request_respond(request, 204, NULL);
}

/* It needs no key: a browser sends none with it. */
static bool answer_preflight(struct sv_request *request, const char *methods,
                             struct sv_error *error)
{
    static const struct sv_route preflight = {.method = "OPTIONS",
                                              .path = "preflight",
                                              .scope = SV_SCOPE_OPEN,
                                              .handle = handle_preflight};
    request->route = &preflight;
    return sv_cors_answer_preflight(request, methods, error);
}

static bool check_route(struct sv_request *request, const struct sv_router *router,
                        const char *method, const char *path, struct sv_error *error)
{
    char allow[SV_ALLOW_MAX];
    if (strlen(path) >= SV_PATH_MAX)
        return sv_fail(error, SV_PATH_TOO_LONG, NULL, "The path is longer than %d bytes.",
                       SV_PATH_MAX - 1);
    request->route = sv_router_find(router, method, path, request->path_params, allow);
    if (request->route) {
        request->api = request->route->api;
        request->sink = sv_router_sink(router, request->route);
        request->action = request->route->action;
        return sv_authorize(request, request->route->scope, error);
    }
    if (!allow[0])
        return sv_fail(error, SV_ROUTE_NOT_FOUND, NULL, "No such endpoint: %s; %s", path,
                       sv_router_hint(router, path));
    if (sv_cors_is_preflight(request, method))
        return answer_preflight(request, allow, error);
    sv_request_add_header(request, "Allow", "%s", allow);
    return sv_fail(error, SV_METHOD_NOT_ALLOWED, NULL, "%s accepts %s, not %.32s.", path, allow,
                   method);
}

/* A browser lets any page send a form without asking first. */
static bool check_form_origin(const struct sv_request *request, struct sv_error *error)
{
    const char *origin = header(request, "Origin");
    return !origin || sv_cors_is_same_origin(request) || sv_cors_allowed_origin(request) ||
           sv_fail(error, SV_FORBIDDEN, NULL,
                   "Pages of the origin \"%.100s\" may not send files to this listener.", origin);
}

/* Bodies that go to a sink have its type and its bound. */
static bool check_sink(const struct sv_request *request, const char *type, struct sv_error *error)
{
    const struct sv_body_sink *sink = request->sink;
    if (!check_form_origin(request, error))
        return false;
    size_t word = type ? strcspn(type, "; \t") : 0;
    return (type && word == strlen(sink->content_type) &&
            strncasecmp(type, sink->content_type, word) == 0) ||
           sv_fail(error, SV_UNSUPPORTED_MEDIA_TYPE, NULL,
                   "Content-Type must be %s, not \"%.64s\".", sink->content_type, type ? type : "");
}

static bool check_body(struct sv_request *request, const char *method, struct sv_error *error)
{
    const struct sv_body_sink *sink = request->sink;
    const char *length = header(request, "Content-Length");
    const char *type = header(request, "Content-Type");
    long long max =
        sink ? sink->bytes_max(request->server) : request->server->options->max_body_bytes;
    if (length && strtoll(length, NULL, 10) > max)
        return sv_fail(error, SV_BODY_TOO_LARGE, NULL,
                       "The body has %s bytes; at most %lld are accepted.", length, max);
    if (strcmp(method, "POST") != 0)
        return true;
    bool is_binary = header(request, "Inference-Header-Content-Length");
    if (is_binary && request->api != SV_API_OIP)
        return sv_fail(error, SV_UNSUPPORTED_PARAMETER, NULL,
                       "Binary tensors are not supported here; send JSON, without the header "
                       "Inference-Header-Content-Length.");
    const char *encoding = header(request, "Content-Encoding");
    if (encoding && strcasecmp(encoding, "identity") != 0 && !sv_body_is_gzip(encoding)) {
        sv_request_add_header(request, "Accept-Encoding", SV_BODY_ENCODINGS);
        return sv_fail(error, SV_UNSUPPORTED_MEDIA_TYPE, NULL,
                       "Content-Encoding \"%.40s\" is not supported; accepted: " SV_BODY_ENCODINGS
                       ", or none.",
                       encoding);
    }
    /* Browsers let pages of other origins send bodies without a Content-Type, without a preflight.
     */
    if (!type && header(request, "Origin"))
        return sv_fail(error, SV_UNSUPPORTED_MEDIA_TYPE, NULL,
                       "Requests from a browser need the header Content-Type: application/json.");
    if (sink)
        return check_sink(request, type, error);
    if (!type)
        return true;
    size_t word = strcspn(type, "; \t");
    if (word == strlen("application/json") && strncasecmp(type, "application/json", word) == 0)
        return true;
    if (is_binary && strcasecmp(type, "application/octet-stream") == 0)
        return true;
    return sv_fail(error, SV_UNSUPPORTED_MEDIA_TYPE, NULL,
                   "Content-Type must be application/json, not \"%.64s\".", type);
}

/* The path of a request target, which may be an absolute URL. */
static const char *path_of(const char *target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const char *host = target + strlen(schemes[i]);
        if (strncasecmp(target, schemes[i], strlen(schemes[i])) != 0 || strcspn(host, "/") == 0)
            continue;
        const char *path = strchr(host, '/');
        return path ? path : "/";
    }
    return target;
}

void sv_request_head_reject(struct sv_request *request, const struct sv_router *router,
                            const char *target)
{
    request->api = sv_router_family(router, path_of(target));
    name_request(request);
    (void)sv_trace_id_read(header(request, "traceparent"), request->trace_id);
}

/* The authority of a target that is a URL takes the place of the Host header. */
static bool check_host(const struct sv_request *request, const char *target, struct sv_error *error)
{
    char authority[SV_OPTION_TEXT_MAX];
    const char *path = path_of(target), *begin = strstr(target, "://");
    if (path == target)
        return sv_host_check(request, header(request, "Host"), error);
    (void)snprintf(authority, sizeof authority, "%.*s", (int)strcspn(begin + 3, "/?"), begin + 3);
    return sv_host_check(request, authority, error);
}

bool sv_request_headers_read(struct sv_request *request, const struct sv_router *router,
                             const char *method, const char *target, struct sv_error *error)
{
    sv_request_head_reject(request, router, target);
    return check_host(request, target, error) &&
           check_route(request, router, method, path_of(target), error) &&
           check_timeout(request, error) && check_budget(request, error) &&
           check_body(request, method, error);
}
