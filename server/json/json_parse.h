/* json_parse.h - a body as JSON values. */
#pragma once

#include "core/request_error.h"

#include <stddef.h>

struct json_t; /* jansson's */

/* Rejects what is nested deeply or has very many values before it costs memory, and a name that
 * occurs twice in an object. Numbers may have any size: see base/big_numbers.h. To be released with
 * json_decref; NULL: see error. */
struct json_t *sv_json_parse(const char *bytes, size_t count, struct sv_error *error);
