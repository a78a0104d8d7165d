/* async_defaults.c - what the asynchronous work of requests that only wait does not need. */
#include "api/async_defaults.h"

ssize_t sv_pull_nothing(struct sv_request *request, char *bytes, size_t max)
{
    (void)request;
    (void)bytes;
    (void)max;
    return SV_PULL_ERROR;
}

void sv_cancel_nothing(struct sv_request *request)
{
    (void)request;
}

bool sv_tick_nothing(struct sv_request *request, int64_t now_ns)
{
    (void)request;
    (void)now_ns;
    return false;
}

enum sv_error_kind sv_outcome_sent(struct sv_request *request, bool complete)
{
    if (request->outcome != SV_OK)
        return request->outcome;
    return complete ? SV_OK : SV_CLIENT_DISCONNECTED;
}
