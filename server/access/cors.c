/* cors.c - which pages of the web may use the inference listener from a browser (CORS). */
#include "access/cors.h"
#include "access/word_list.h"
#include "core/options.h"

#include <string.h>
#include <strings.h>

static const char *header(const struct sv_request *request, const char *name)
{
    return request->transport->header(request->connection, name);
}

/* ---- the option ------------------------------------------------------------------------------ */

/* The bytes of "http://" or "https://" at the beginning; 0: it has another scheme. */
static size_t scheme_length(const char *origin)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncasecmp(origin, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    return 0;
}

/* A browser sends scheme, host and port only: anything more would never match. */
static bool is_origin(const char *word, size_t length)
{
    static const char host[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               ".-_:[]";
    size_t scheme = scheme_length(word);
    return scheme > 0 && length > scheme && strspn(word + scheme, host) == length - scheme;
}

bool sv_cors_check(const char *origins, struct sl_err *err)
{
    if (strcmp(origins, "*") == 0)
        return true;
    for (size_t length; *(origins += strspn(origins, " ")); origins += length) {
        length = strcspn(origins, " ");
        if (!is_origin(origins, length))
            return sl_fail(err, SL_BAD_INPUT,
                           "cors_origins: '%.*s' is not an origin; write https://HOST or "
                           "https://HOST:PORT, without a path, or * alone",
                           (int)length, origins);
    }
    return true;
}

/* "" where it does not apply. */
static const char *origins_for(const struct sv_request *request)
{
    bool applies = request->listener == SV_ON_INFERENCE;
    return applies ? request->server->options->cors_origins : "";
}

const char *sv_cors_allowed_origin(const struct sv_request *request)
{
    const char *list = origins_for(request), *origin = list[0] ? header(request, "Origin") : NULL;
    if (!origin)
        return NULL;
    if (strcmp(list, "*") == 0)
        return "*";
    return sv_word_is_listed(list, origin) ? origin : NULL;
}

bool sv_cors_is_same_origin(const struct sv_request *request)
{
    const char *origin = header(request, "Origin"), *host = header(request, "Host");
    return origin && host && scheme_length(origin) > 0 &&
           strcasecmp(origin + scheme_length(origin), host) == 0;
}

bool sv_cors_varies(const struct sv_request *request)
{
    const char *list = origins_for(request);
    return list[0] && strcmp(list, "*") != 0;
}

/* ---- preflight requests ---------------------------------------------------------------------- */

bool sv_cors_is_preflight(const struct sv_request *request, const char *method)
{
    return strcmp(method, "OPTIONS") == 0 && origins_for(request)[0] && header(request, "Origin") &&
           header(request, "Access-Control-Request-Method");
}

/* Whatever headers the page wants to send: clients have their own, and none of them gives a right
 * that a page should not have. */
static void allow_headers(struct sv_request *request)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "!#$%&'*+-.^_`|~, ";
    const char *wanted = header(request, "Access-Control-Request-Headers");
    if (wanted && wanted[strspn(wanted, names)] == '\0')
        sl_buffer_append_string(sv_request_add_long_header(request, "Access-Control-Allow-Headers"),
                                wanted);
}

bool sv_cors_answer_preflight(struct sv_request *request, const char *methods,
                              struct sv_error *error)
{
    enum { KEPT_SECONDS = 600 }; /* by the browser */

    if (!sv_cors_allowed_origin(request))
        return sv_fail(error, SV_FORBIDDEN, NULL,
                       "Pages of the origin \"%.100s\" may not use this server; an administrator "
                       "can add it to the option cors_origins.",
                       header(request, "Origin"));
    sv_request_add_header(request, "Access-Control-Allow-Methods", "%s", methods);
    sv_request_add_header(request, "Access-Control-Max-Age", "%d", KEPT_SECONDS);
    allow_headers(request);
    return true;
}
