/* failure_event.h - a failure as JSON: the last line of a command with --json, and of a training's
 * log. */
#pragma once

#include "sluice/err.h"

struct json_t;

/* {"event": "failed", "code": ..., "message": ..., "reason": ...} and, if they are known, "path",
 * "line" and "field": the members of struct sl_err. NULL: no memory. */
struct json_t *failure_event(const struct sl_err *err);

/* Prints it as a line. */
void failure_event_print(const struct sl_err *err);
