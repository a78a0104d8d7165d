/* response_json.h - the daemon's JSON: parsed, and its members with a value for those that are
 * absent. */
#pragma once

#include "common/client_error.h"

#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

/* To be released with json_decref; NULL: see failure. */
struct json_t *response_parse(const char *json, size_t bytes, struct client_error *failure)
    SL_MUST_CHECK;
const char *response_text(const struct json_t *object, const char *name); /* absent: "" */
int64_t response_int(const struct json_t *object, const char *name);      /* absent: 0 */
