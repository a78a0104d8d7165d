/* json_query.h - JSON that a program or a daemon wrote, and its members by path.
 *
 * A path is made of names and places: the text of the first choice is "choices/0/text". */
#pragma once

#include "support/http_client.h"

#include <jansson.h>

/* The caller releases what these return. They fail when the text is no JSON. */
json_t *json_from_text(const char *text);
json_t *json_from_response(const struct http_response *response);
/* Of a request that must be answered with 200; body NULL: none. */
json_t *json_request(const struct daemon *daemon, const char *method, const char *path,
                     const char *body);

/* A member, or NULL. */
const json_t *json_at(const json_t *value, const char *path);

/* The same; these fail when there is none, or one of another type. */
const char *json_string_at(const json_t *value, const char *path);
double json_number_at(const json_t *value, const char *path);
int64_t json_integer_at(const json_t *value, const char *path);
