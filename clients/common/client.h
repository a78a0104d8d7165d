/* client.h - one request to the daemon at a time: libcurl with a deadline and retries.
 *
 * After a 429 or 503 the request is sent again when the response says so, a few times and never
 * past the deadline. Nothing else is retried. */
#pragma once

#include "base/buffer.h"
#include "common/client_error.h"
#include "common/endpoint.h"

#include <stdint.h>

struct client;

struct client_options {
    struct endpoint endpoint; /* its strings must outlive the client */
    int64_t timeout_ms;       /* until the end of the response, retries included */
};

struct client_request {
    const char *method; /* NULL: POST with a body, else GET */
    const char *path;
    /* Percent-encoded in place of each {} in the path; without one the first is appended to it.
     * NULL: none. */
    const char *argument, *second;
    const char *body; /* JSON; NULL: none */
    const char *file; /* to upload as a form with the purpose "fine-tune"; NULL: none */
    /* Gets the body of a 200 piece by piece, instead of the response. Returns false to stop. NULL:
     * the response gets it. */
    bool (*on_body)(void *context, const char *data, size_t count);
    void *context;
    bool no_retry; /* return the first response, whatever its status */
};

enum { CLIENT_ID_MAX = 128 };

/* Zero it before, release it after. */
struct client_response {
    int status;
    struct sl_buffer body;
    char request_id[CLIENT_ID_MAX];   /* as in the daemon's log */
    char code[CLIENT_ERROR_CODE_MAX]; /* the daemon's error code; "": none */
};

struct client *client_create(const struct client_options *options, struct client_error *failure)
    SL_MUST_CHECK;
void client_destroy(struct client *client); /* NULL is fine */

/* True when a response arrived, whatever its status. */
bool client_send(struct client *client, const struct client_request *request,
                 struct client_response *response, struct client_error *failure) SL_MUST_CHECK;
void client_response_release(struct client_response *response);
