/* authorize.c - whether a request may use a route. */
#include "access/authorize.h"
#include "access/api_keys.h"
#include "core/metrics.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

_Static_assert((int)SV_SCOPE_ADMIN - (int)SV_SCOPE_METRICS == (int)SL_SCOPE_ADMIN,
               "the scopes of routes follow those of keys");

enum sl_scope sv_key_scope(enum sv_scope scope)
{
    return (enum sl_scope)(scope - SV_SCOPE_METRICS);
}

static bool changes(enum sv_scope scope)
{
    return scope == SV_SCOPE_TRAIN || scope == SV_SCOPE_ADMIN;
}

static void count_denied(const struct sv_request *request, const char *reason)
{
    sv_metrics_count(request->server->metrics, SV_METRIC_ACCESS_DENIED, &reason);
}

static bool check_without_keys(const struct sv_request *request, enum sv_scope scope,
                               struct sv_error *error)
{
    if (request->listener == SV_ON_ADMIN || !changes(scope))
        return true;
    count_denied(request, "listener");
    return sv_fail(
        error, SV_FORBIDDEN, NULL,
        "This daemon has no API keys (option api_keys_file), so it serves this request on "
        "its admin listener only (option admin_listen).");
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The key in "Bearer KEY", or NULL. */
static const char *bearer(const char *authorization)
{
    static const char scheme[] = "Bearer";
    size_t length = sizeof scheme - 1;
    if (strncasecmp(authorization, scheme, length) != 0 || authorization[length] != ' ')
        return NULL;
    const char *key = authorization + length + strspn(authorization + length, " ");
    size_t bytes = strcspn(key, " \t");
    return bytes > 0 && bytes <= SL_API_KEY_BYTES_MAX && !key[bytes] ? key : NULL;
}

static bool fail_key(struct sv_request *request, const char *challenge, const char *reason,
                     const char *message, struct sv_error *error)
{
    count_denied(request, reason);
    sv_request_add_header(request, "WWW-Authenticate", "Bearer realm=\"sluice\"%s", challenge);
    return sv_fail(error, SV_UNAUTHENTICATED, NULL, "%s", message);
}

static bool fail_scope(struct sv_request *request, const struct sl_api_key *key,
                       enum sv_scope scope, struct sv_error *error)
{
    char list[SL_SCOPE_LIST_MAX];
    const char *needed = sl_scope_name(sv_key_scope(scope));
    count_denied(request, "scope");
    sv_request_add_header(request, "WWW-Authenticate",
                          "Bearer realm=\"sluice\", error=\"insufficient_scope\", scope=\"%s\"",
                          needed);
    return sv_fail(error, SV_FORBIDDEN, NULL,
                   "This request needs a key with the scope %s; the key '%s' has only %s.", needed,
                   key->name, sl_scope_list(key->scopes, list));
}

static bool check_key(struct sv_request *request, const char *authorization, enum sv_scope scope,
                      struct sv_error *error)
{
    static const char invalid[] = ", error=\"invalid_token\"";
    struct sl_api_key key;
    const char *text = bearer(authorization);
    if (!text)
        return fail_key(request, ", error=\"invalid_request\"", "malformed",
                        "The header Authorization must be: Bearer KEY.", error);
    switch (sv_api_keys_find(request->server->keys, text, (int64_t)time(NULL), &key)) {
    case SV_KEY_VALID: break;
    case SV_KEY_EXPIRED:
        return fail_key(request, invalid, "expired", "The API key has expired.", error);
    case SV_KEY_UNKNOWN:
        return fail_key(request, invalid, "unknown", "The API key is not valid.", error);
    }
    (void)snprintf(request->caller.name, sizeof request->caller.name, "key:%s", key.name);
    return (key.scopes & 1u << sv_key_scope(scope)) || fail_scope(request, &key, scope, error);
}

bool sv_authorize(struct sv_request *request, enum sv_scope scope, struct sv_error *error)
{
    struct sv_caller *caller = &request->caller;
    const char *authorization = request->transport->header(request->connection, "Authorization");
    bool by_file = request->listener == SV_ON_ADMIN && caller->is_unix;
    if (caller->is_unix)
        (void)snprintf(caller->name, sizeof caller->name, "unix:%lld", (long long)caller->uid);
    else
        (void)snprintf(caller->name, sizeof caller->name, "anonymous");
    if (scope == SV_SCOPE_OPEN)
        return true;
    if (!sv_api_keys_are_required(request->server->keys))
        return check_without_keys(request, scope, error);
    if (authorization)
        return check_key(request, authorization, scope, error);
    return by_file || fail_key(request, "", "missing",
                               "This request needs an API key, in the header Authorization: "
                               "Bearer KEY.",
                               error);
}
