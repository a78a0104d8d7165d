/* request.h - one request's life, from its first byte to the last byte of its answer.
 *
 * http_server.c makes it and is its first owner. A handler answers at once, or leaves asynchronous
 * work behind: then the connection is suspended until the work wakes it. The scheduler and the
 * connection watcher hold references while they need it; the last release frees it.
 *
 * Fields are the HTTP thread's, except where they say otherwise. */
#pragma once

#include "base/buffer.h"
#include "base/clock.h"
#include "core/limits.h"
#include "core/request_error.h"
#include "core/server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct sv_request;
struct sv_route;

enum sv_progress {
    SV_DONE,     /* request->response is complete */
    SV_PENDING,  /* request->work goes on; ask `proceed` when there is news */
    SV_STREAMING /* headers are complete; the body comes from `pull` */
};

/* What `pull` returns instead of a number of bytes. */
enum { SV_PULL_NOTHING = 0, SV_PULL_END = -1, SV_PULL_ERROR = -2 };

/* What a handler left to be done, and how to ask about it. */
struct sv_async {
    enum sv_progress (*proceed)(struct sv_request *request);
    /* Body bytes, at most `most`, or an SV_PULL_...: nothing now, the end, broken. */
    ssize_t (*pull)(struct sv_request *request, char *bytes, size_t max);
    /* The client left: stop soon. Any thread, any number of times. */
    void (*cancel)(struct sv_request *request);
    /* Now and then, while in flight, from the watcher. True: there is something to say. */
    bool (*tick)(struct sv_request *request, int64_t now_ns);
    /* How it ended. `complete`: the connection took the whole answer; if not, the client may still
     * have had all that matters of it. */
    enum sv_error_kind (*outcome)(struct sv_request *request, bool complete);
    void (*destroy)(void *state);
};

/* What a request can do with its connection. */
struct sv_transport {
    /* Puts it to sleep and wakes it; with the request's lock held. */
    void (*suspend)(void *connection);
    void (*resume)(void *connection);
    /* What the client said beside the body, as it was sent; NULL: nothing. While its handler
     * runs. */
    const char *(*header)(void *connection, const char *name);
    const char *(*query)(void *connection, const char *name);
};

struct sv_header {
    const char *name;
    char value[SV_HEADER_VALUE_MAX];
};

struct sv_long_header {
    const char *name;
    struct sl_buffer value;
};

struct sv_response {
    int status;
    const char *content_type;
    struct sl_buffer body;
    struct sv_header headers[SV_HEADERS_MAX];
    int header_count;
    struct sv_long_header long_headers[SV_LONG_HEADERS_MAX];
    int long_count;
};

struct sv_request {
    struct sv_server *server;
    const struct sv_route *route; /* NULL: there is none for the path */
    enum sv_api api;
    char request_id[SV_REQUEST_ID_MAX + 1];
    char path_params[SV_PATH_PARAMS_MAX]
                    [SV_PATH_MAX]; /* what the path holds for the route's {...} */
    int64_t timeout_ms;            /* the client's wish; 0: none */
    int64_t received_ns;
    struct sl_buffer body;

    struct sv_response response;
    enum sv_error_kind outcome; /* how it ended, for metrics */
    char model[SV_MODEL_ID_MAX], version[SV_VERSION_MAX];

    const struct sv_async *async; /* NULL: nothing was left */
    void *state;                  /* the work's */

    atomic_bool cancelled; /* any thread */
    atomic_int references; /* any thread */
    pthread_mutex_t lock;  /* guards asleep, news and connection */
    bool suspended, wake_pending;
    void *connection;
    const struct sv_transport *transport;
};

struct sv_request *sv_request_create(struct sv_server *server, const struct sv_transport *transport,
                                     void *connection); /* NULL: no memory */
struct sv_request *sv_request_acquire(struct sv_request *request);
void sv_request_release(struct sv_request *request);

/* Puts the connection to sleep, unless there was news since the last time: then false. */
bool sv_request_suspend(struct sv_request *request);
void sv_request_wake(struct sv_request *request); /* any thread: there is news */
void sv_request_cancel(
    struct sv_request *request); /* any thread: nobody waits for the answer any more */

/* The response. */
void sv_request_add_header(struct sv_request *request, const char *name, const char *format, ...)
    SL_PRINTF(3, 4);
/* A few headers may be longer than SV_HEADER_VALUE_MAX: their values are what is written here. */
struct sl_buffer *sv_request_add_long_header(struct sv_request *request, const char *name);
/* What was written so far is forgotten, and its memory given back. */
void sv_request_reset_response(struct sv_request *request);
enum sv_progress sv_request_respond(struct sv_request *request, int status,
                                    const char *content_type);
enum sv_progress sv_request_fail(struct sv_request *request, const struct sv_error *error);
/* What was refused, as HTTP/1.1, for a connection that ends with it. */
void sv_request_write_response(const struct sv_request *request, struct sl_buffer *out);

/* False, with an error, once shutdown has begun: nothing new is taken on. */
bool sv_request_is_accepted(const struct sv_request *request, struct sv_error *error);
/* Whether one request may have so many texts to read, in the field that messages request `param`.
 */
bool sv_request_check_batch_size(const struct sv_request *request, const char *param, int texts,
                                 struct sv_error *error);
/* When its answer must be there: as the client asks, but not later than the server allows. */
int64_t sv_request_deadline_ns(const struct sv_request *request);

/* Why the work for a request should not go on, if so: nobody waits for it, everything ends
 * (`ending` is not NULL), or its time is over. The first reason stays in the error. */
bool sv_request_must_stop(const struct sv_request *request, int64_t deadline_ns,
                          const struct sv_error *ending, int64_t now, struct sv_error *error);

static inline long long sv_ms(int64_t ns)
{
    return (ns + 500000) / 1000000;
}

/* A number that this server gives once: for ids, and for seeds nobody asked for. Any thread. */
uint64_t sv_next_id(struct sv_server *server);
