/* transport_error.h - why a request got no response, and what to do about it. */
#pragma once

#include "common/endpoint.h"

#include <stdint.h>

/* How a transfer of libcurl ended. */
struct transport_end {
    void *curl;         /* its CURL handle */
    int code;           /* its CURLcode */
    const char *detail; /* of its error buffer, or "" */
    int64_t timeout_ms; /* that the request had */
};

/* Sets the failure and returns false. May ask the server which protocol it speaks. */
bool transport_error_set(const struct endpoint *endpoint, const struct transport_end *end,
                         struct client_error *failure);
