/* async_defaults.h - callbacks that do nothing, for asynchronous work that waits for another
 * thread but is not scheduled. */
#pragma once

#include "core/request.h"

ssize_t sv_pull_nothing(struct sv_request *request, char *bytes, size_t max); /* fails */
void sv_cancel_nothing(struct sv_request *request);
bool sv_tick_nothing(struct sv_request *request, int64_t now_ns);
enum sv_error_kind sv_outcome_sent(struct sv_request *request, bool complete);
