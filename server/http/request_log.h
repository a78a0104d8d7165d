/* request_log.h - counts and logs a request when it ends. */
#pragma once

#include "http/request_body.h"

/* Counts the response, whatever the request was; those of /metrics do not count. */
void sv_log_response(const struct sv_exchange *x);
/* Counts a request for inference that was received in full, once, by its outcome, and logs it.
 * `complete`: the whole response was sent. */
void sv_log_request(const struct sv_exchange *x, bool complete);
