/* json_parse.h - a body as JSON values. */
#pragma once

#include "core/request_error.h"

#include <stddef.h>

struct json_t; /* jansson's */
struct json_error_t;

/* Rejects what is nested deeply or has very many values before it costs memory, and a name that
 * occurs twice in an object. To be released with json_decref; NULL: see error. */
struct json_t *sv_json_parse(const char *bytes, size_t count, struct sv_error *error);

/* One JSON value. Numbers may have any size: those that jansson cannot hold are strings as in
 * base/big_numbers.h. NULL: *why says what is wrong. */
struct json_t *sv_json_load(const char *bytes, size_t count, struct json_error_t *why);
