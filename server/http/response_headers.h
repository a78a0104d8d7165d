/* response_headers.h - the headers of a response: its own, and those that every response has. */
#pragma once

#include "core/request.h"

struct MHD_Response;

void sv_response_add_headers(struct MHD_Response *mhd_response, const struct sv_request *request,
                             bool close_after_response);
