/* request_head.c - what a request says before its body: a name, a time, a place, what body. */
#include "http/request_head.h"
#include "core/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *header(const struct sv_call *call, const char *name)
{
    return call->line->header(call->connection, name);
}

/* The client's own id when there is nothing strange in it, else one of ours. */
static void name_request(struct sv_call *call)
{
    static const char sane[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-";
    const char *given = header(call, "x-request-id");
    size_t length = given ? strspn(given, sane) : 0;
    if (length > 0 && length <= SV_REQUEST_ID_MAX && given[length] == '\0')
        memcpy(call->request_id, given, length + 1);
    else
        (void)snprintf(call->request_id, sizeof call->request_id, "req-%016llx",
                       (unsigned long long)sv_draw(call->server));
}

/* Digits only, so that nobody believes in a deadline that nobody keeps. */
static bool check_timeout(struct sv_call *call, struct sv_problem *problem)
{
    enum { DIGITS_MAX = 12 };

    const char *given = header(call, "X-Request-Timeout-Ms");
    if (!given)
        return true;
    size_t digits = strspn(given, "0123456789");
    if (digits > 0 && digits <= DIGITS_MAX && !given[digits])
        call->timeout_ms = strtoll(given, NULL, 10);
    return call->timeout_ms > 0 ||
           sv_refuse(problem, SV_BAD_VALUE, NULL,
                     "X-Request-Timeout-Ms must be a whole number of milliseconds, 1 to "
                     "999999999999, not \"%.40s\".",
                     given);
}

static bool check_route(struct sv_call *call, const struct sv_router *router, const char *method,
                        const char *path, struct sv_problem *problem)
{
    char allow[SV_ALLOW_MAX];
    if (strlen(path) >= SV_PATH_MAX)
        return sv_refuse(problem, SV_PATH_TOO_LONG, NULL, "The path is longer than %d bytes.",
                         SV_PATH_MAX - 1);
    call->route = sv_router_find(router, method, path, call->arguments, allow);
    if (call->route)
        return true;
    if (!allow[0])
        return sv_refuse(problem, SV_NO_ROUTE, NULL, "There is nothing at %s; %s", path,
                         sv_router_hint(router, path));
    sv_call_header(call, "Allow", "%s", allow);
    return sv_refuse(problem, SV_BAD_METHOD, NULL, "%s accepts %s, not %.32s.", path, allow,
                     method);
}

static bool check_body(struct sv_call *call, const char *method, struct sv_problem *problem)
{
    const char *length = header(call, "Content-Length");
    const char *type = header(call, "Content-Type");
    long long most = call->server->options->body_bytes_max;
    if (length && strtoll(length, NULL, 10) > most)
        return sv_refuse(problem, SV_BODY_TOO_LARGE, NULL,
                         "The body has %s bytes, at most %lld are accepted.", length, most);
    if (strcmp(method, "POST") != 0)
        return true;
    if (header(call, "Inference-Header-Content-Length"))
        return sv_refuse(problem, SV_UNSUPPORTED, NULL,
                         "Binary tensors are not supported: send them as JSON, without the header "
                         "Inference-Header-Content-Length.");
    const char *encoding = header(call, "Content-Encoding");
    if (encoding && strcasecmp(encoding, "identity") != 0)
        return sv_refuse(problem, SV_BAD_MEDIA_TYPE, NULL,
                         "The body must be sent as it is, without Content-Encoding, not \"%.40s\".",
                         encoding);
    /* Pages of other origins may send bodies without a type, and without asking. */
    if (!type && header(call, "Origin"))
        return sv_refuse(problem, SV_BAD_MEDIA_TYPE, NULL,
                         "From a browser the body must be JSON, with the header Content-Type: "
                         "application/json.");
    if (!type)
        return true;
    size_t word = strcspn(type, "; \t");
    if (word == strlen("application/json") && strncasecmp(type, "application/json", word) == 0)
        return true;
    return sv_refuse(problem, SV_BAD_MEDIA_TYPE, NULL,
                     "The body must be JSON, with the header Content-Type: application/json, not "
                     "\"%.64s\".",
                     type);
}

/* The path of a request's target, which may say before it, as to a proxy, whom it is for. */
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

bool sv_head_read(struct sv_call *call, const struct sv_router *router, const char *method,
                  const char *target, struct sv_problem *problem)
{
    const char *path = path_of(target);
    call->family = sv_router_family(router, path);
    name_request(call);
    return check_route(call, router, method, path, problem) && check_timeout(call, problem) &&
           check_body(call, method, problem);
}

static bool goes_on(const char *name, const char *start)
{
    size_t length = strlen(start);
    return strncasecmp(name, start, length) == 0 && name[length] != '\0';
}

bool sv_header_is_odd(const char *name, const char *value)
{
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "!#$%&'*+-.^_`|~";
    return !name[0] || name[strspn(name, accepted)] != '\0' || goes_on(name, "Content-Length") ||
           goes_on(name, "Transfer-Encoding") || (value && strchr(value, '\r'));
}

bool sv_framing_is_clear(const struct sv_framing *f, struct sv_problem *problem)
{
    bool is_new = strcmp(f->version, "HTTP/1.1") == 0;
    if (!is_new && strcmp(f->version, "HTTP/1.0") != 0)
        return sv_refuse(problem, SV_BAD_REQUEST, NULL,
                         "The request's first line does not end with HTTP/1.1 or HTTP/1.0.");
    if (f->is_odd)
        return sv_refuse(problem, SV_BAD_REQUEST, NULL,
                         "A header's name is no name, with a blank before its colon perhaps, or "
                         "its value is in several lines.");
    if (f->hosts > 1 || (is_new && f->hosts == 0))
        return sv_refuse(problem, SV_BAD_REQUEST, NULL, "HTTP/1.1 wants one Host header, not %d.",
                         f->hosts);
    if (f->lengths > 1 || (f->lengths > 0 && f->codings > 0))
        return sv_refuse(problem, SV_BAD_REQUEST, NULL,
                         "The body's length is given more than once, by Content-Length or by "
                         "Transfer-Encoding.");
    if (f->codings > 1 || (f->codings > 0 && !f->is_chunked))
        return sv_refuse(problem, SV_NOT_DONE_HERE, NULL,
                         "Of transfer encodings, only chunked is understood.");
    return is_new || f->codings == 0 ||
           sv_refuse(problem, SV_BAD_REQUEST, NULL, "HTTP/1.0 has no transfer encodings.");
}
