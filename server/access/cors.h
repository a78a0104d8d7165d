/* cors.h - which pages of the web may use the inference listener from a browser (CORS).
 *
 * A browser lets a page read what another origin answers, and send it more than forms could, only
 * if that origin says so. The option cors_origins lists the origins that may; none by default. The
 * admin listener never says so. Credentials are not allowed: an API key is a header that a page
 * sets itself, and there are no cookies. */
#pragma once

#include "core/request.h"

/* Whether the option is empty, *, or a list of origins such as https://app.example:8443. */
bool sv_cors_check(const char *origins, struct sl_err *err) SL_MUST_CHECK;

/* The value of Access-Control-Allow-Origin: the request's origin or *; NULL: it is not allowed. */
const char *sv_cors_allowed_origin(const struct sv_request *request);
/* Whether the request comes from a page of the daemon itself, such as the web console. Schemes are
 * not compared, because a proxy may have turned https into http. */
bool sv_cors_is_same_origin(const struct sv_request *request);
/* Whether responses depend on the request's origin, which caches must know. */
bool sv_cors_varies(const struct sv_request *request);

/* Whether a browser asks if a page may send a request, before it sends it. */
bool sv_cors_is_preflight(const struct sv_request *request, const char *method);
/* Adds the answer to it: `methods` and the headers that the page wants to send. False: the origin
 * is not allowed; see error. */
bool sv_cors_answer_preflight(struct sv_request *request, const char *methods,
                              struct sv_error *error);
