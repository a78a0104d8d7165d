/* response_error.h - an error response as the failure of a command. */
#pragma once

#include "common/client.h"

struct json_t; /* jansson's */

/* Sets the failure to the error in a response that is not a 200, and returns false. */
bool response_error(const struct client_response *response, struct client_error *failure);
/* The same for the error in an event of a stream. */
bool response_error_in_event(const struct json_t *event, struct client_error *failure);
