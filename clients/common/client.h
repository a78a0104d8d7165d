/* client.h - one question to the daemon at a time: libcurl, with a deadline and patience.
 *
 * After an answer that says "come again later" (429 or 503) it asks again when it was told to, a
 * few times and never past the deadline. Nothing else is tried twice. */
#pragma once

#include "common/bytes.h"

#include <stdint.h>

struct client;

struct client_options {
    const char *url;    /* of the daemon, with or without a slash at its end; copied */
    int64_t timeout_ms; /* for everything until the answer's end */
};

struct client_request {
    const char *path;
    const char *argument; /* appended to the path, percent-encoded; NULL: none */
    const char *body;     /* JSON to post; NULL: a GET */
    /* Gets the body of a 200 as it comes, instead of the answer. False: enough. NULL: nobody. */
    bool (*take)(void *context, const char *data, size_t count);
    void *context;
    bool impatient; /* the first answer is wanted, whatever it is */
};

enum { CLIENT_ID_MAX = 128 };

/* Zero it before, release it after. */
struct client_answer {
    int status;
    struct bytes body;
    char request_id[CLIENT_ID_MAX]; /* what the daemon calls this request in its log, */
    char code[FAULT_CODE_MAX];      /* and why it refuses it, in a word; "": it does not */
};

struct client *client_create(const struct client_options *options, struct fault *fault) MUST_CHECK;
void client_destroy(struct client *client); /* NULL is fine */

/* True when there was an answer, whatever its status. */
bool client_ask(struct client *client, const struct client_request *request,
                struct client_answer *answer, struct fault *fault) MUST_CHECK;
void client_answer_release(struct client_answer *answer);
