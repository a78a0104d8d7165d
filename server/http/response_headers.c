/* response_headers.c - the headers of a response: its own, and those that every response has. */
#include "http/response_headers.h"
#include "access/cors.h"

#include <microhttpd.h>

static void add(struct MHD_Response *mhd_response, const char *name, const char *value)
{
    (void)MHD_add_response_header(mhd_response, name, value);
}

static void add_own(struct MHD_Response *mhd_response, const struct sv_response *response)
{
    if (response->content_type)
        add(mhd_response, MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type);
    for (int i = 0; i < response->header_count; i++)
        add(mhd_response, response->headers[i].name, response->headers[i].value);
    for (int i = 0; i < response->long_count; i++)
        if (!response->long_headers[i].value.failed)
            add(mhd_response, response->long_headers[i].name, response->long_headers[i].value.data);
}

/* A page may read errors and all headers, too. */
static void add_cors(struct MHD_Response *mhd_response, const struct sv_request *request)
{
    const char *origin = sv_cors_allowed_origin(request);
    if (sv_cors_varies(request))
        add(mhd_response, MHD_HTTP_HEADER_VARY, "Origin");
    if (!origin)
        return;
    add(mhd_response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    add(mhd_response, "Access-Control-Expose-Headers", "*");
}

void sv_response_add_headers(struct MHD_Response *mhd_response, const struct sv_request *request,
                             bool close_after_response)
{
    add_own(mhd_response, &request->response);
    add_cors(mhd_response, request);
    add(mhd_response, "x-request-id", request->request_id);
    if (close_after_response || atomic_load(&request->server->phase) != SV_PHASE_SERVING)
        add(mhd_response, MHD_HTTP_HEADER_CONNECTION, "close");
}
