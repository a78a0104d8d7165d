/* openapi_responses.h - bodies, responses and errors of operations; for openapi.c. */
#pragma once

#include "api/endpoints.h"
#include "base/json_writer.h"

/* The name of an API, to group operations by. */
const char *sv_openapi_tag(enum sv_api api);
/* The member "requestBody", if the operation has a body. */
void sv_openapi_add_body(struct sl_json_writer *json, const struct sv_operation *operation);
/* The member "responses" of an operation. */
void sv_openapi_add_responses(struct sl_json_writer *json, const struct sv_route *route,
                              const struct sv_operation *operation);
/* The member "responses" of the components: an error of each API. */
void sv_openapi_add_error_responses(struct sl_json_writer *json);
