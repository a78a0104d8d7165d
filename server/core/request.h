/* request.h - one request, from its first byte to the last byte of its response.
 *
 * http_server.c creates it and is its first owner. A handler responds at once, or starts
 * asynchronous work: then the connection is suspended until the work wakes it. The scheduler and
 * the connection watcher hold references while they need it; the last release frees it.
 *
 * Fields belong to the HTTP thread unless their comment says otherwise. */
#pragma once

#include "base/buffer.h"
#include "base/clock.h"
#include "core/caller.h"
#include "core/limits.h"
#include "core/request_error.h"
#include "core/server.h"
#include "core/trace_context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct sv_request;
struct sv_route;

enum sv_progress {
    SV_DONE,     /* request->response is complete */
    SV_PENDING,  /* the asynchronous work goes on; call `proceed` when it wakes the request */
    SV_YIELDING, /* there is more to do; call `proceed` after other requests had their turn */
    SV_STREAMING /* headers are complete; the body comes from `pull` */
};

/* What `pull` returns instead of a number of bytes. */
enum { SV_PULL_NOTHING = 0, SV_PULL_END = -1, SV_PULL_ERROR = -2 };

/* The asynchronous work of a request. NULL instead of a function that would do nothing: without
 * `pull` nothing streams, without `proceed` all that wakes the request is streamed. */
struct sv_async {
    enum sv_progress (*proceed)(struct sv_request *request);
    /* Writes at most `max` bytes of the body and returns how many, or an SV_PULL_... value. */
    ssize_t (*pull)(struct sv_request *request, char *bytes, size_t max);
    /* The client disconnected: stop soon. Any thread, any number of times. */
    void (*cancel)(struct sv_request *request);
    /* Called by the watcher from time to time. True: `proceed` or `pull` has something new. */
    bool (*tick)(struct sv_request *request, int64_t now_ns);
    /* How the request ended. `complete`: the whole response was sent. If not, the client may still
     * have received all that matters. NULL: it succeeded if the response is complete. */
    enum sv_error_kind (*outcome)(struct sv_request *request, bool complete);
    void (*destroy)(void *state);
};

/* What a request needs of its connection; http implements it. */
struct sv_transport {
    /* Called with the request's lock held. */
    void (*suspend)(void *connection);
    void (*resume)(void *connection);
    /* A header or a query parameter as it was sent, or NULL. Only while the handler runs. */
    const char *(*header)(void *connection, const char *name);
    const char *(*query)(void *connection, const char *name);
    void (*each_query)(void *connection,
                       void (*visit)(void *context, const char *name, const char *value),
                       void *context);
};

/* Receives the bodies of a route's requests piece by piece; other bodies are kept in memory. */
struct sv_body_sink {
    const char *content_type; /* that the route accepts */
    int64_t (*bytes_max)(const struct sv_server *server);
    /* Called before the body. It sets the request's async and state, so that they are destroyed
     * with the request even if the body never ends. */
    bool (*begin)(struct sv_request *request, const char *content_type, struct sv_error *error);
    bool (*receive)(struct sv_request *request, const char *bytes, size_t count,
                    struct sv_error *error);
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
    enum sv_listener listener; /* that it came through */
    struct sv_caller caller;
    const struct sv_route *route; /* NULL: no route has this path */
    enum sv_api api;
    char request_id[SV_REQUEST_ID_MAX + 1];
    char trace_id[SV_TRACE_ID_BYTES];                  /* of the client's trace; "": none */
    char path_params[SV_PATH_PARAMS_MAX][SV_PATH_MAX]; /* the values of the route's {name} parts */
    const char *action;     /* what it would change, for the audit log; NULL: nothing */
    atomic_bool is_audited; /* any thread: that it did is in the audit log */
    int64_t timeout_ms;     /* as the client asks; 0: none */
    double budget;          /* the header's, see json/budget_field.h; 0: none */
    int64_t received_ns;
    const struct sv_body_sink *sink; /* takes the body; NULL: `body` does */
    struct sl_buffer body;

    struct sv_response response;
    enum sv_error_kind outcome; /* how it ended, for metrics */
    char model[SV_MODEL_ID_MAX], version[SV_VERSION_MAX];

    const struct sv_async *async; /* NULL: the handler responded at once */
    void *state;                  /* of the asynchronous work */

    atomic_bool cancelled; /* any thread */
    atomic_int references; /* any thread */
    pthread_mutex_t lock;  /* guards suspended, wake_pending and connection */
    bool suspended, wake_pending;
    void *connection;
    const struct sv_transport *transport;
};

struct sv_request *sv_request_create(struct sv_server *server, const struct sv_transport *transport,
                                     void *connection); /* NULL: no memory */
struct sv_request *sv_request_acquire(struct sv_request *request);
void sv_request_release(struct sv_request *request);

/* Suspends the connection. False if the request was woken since the last time: then go on. */
bool sv_request_suspend(struct sv_request *request);
void sv_request_wake(struct sv_request *request);   /* any thread */
void sv_request_cancel(struct sv_request *request); /* any thread: the client is gone */

/* The response. */
void sv_request_add_header(struct sv_request *request, const char *name, const char *format, ...)
    SL_PRINTF(3, 4);
/* For values longer than SV_HEADER_VALUE_MAX: append to the returned buffer. */
struct sl_buffer *sv_request_add_long_header(struct sv_request *request, const char *name);
/* Discards what was written so far and frees its memory. */
void sv_request_reset_response(struct sv_request *request);
enum sv_progress sv_request_respond(struct sv_request *request, int status,
                                    const char *content_type);
enum sv_progress sv_request_fail(struct sv_request *request, const struct sv_error *error);
/* Writes the whole response as HTTP/1.1, for a connection that is closed after it. */
void sv_request_write_response(const struct sv_request *request, struct sl_buffer *out);

/* False, with an error, once the server is draining. */
bool sv_request_is_accepted(const struct sv_request *request, struct sv_error *error);
/* Checks the number of texts against max_client_batch_size; `param` is the field's name. */
bool sv_request_check_batch_size(const struct sv_request *request, const char *param, int texts,
                                 struct sv_error *error);
/* The client's deadline, but not later than request_timeout allows. */
int64_t sv_request_deadline_ns(const struct sv_request *request);

/* True, with the reason in `error`, if work on the request must stop: the client disconnected,
 * `ending` is not NULL, or the deadline has passed. An error that is already set stays. */
bool sv_request_must_stop(const struct sv_request *request, int64_t deadline_ns,
                          const struct sv_error *ending, int64_t now, struct sv_error *error);

static inline long long sv_ms(int64_t ns)
{
    return (ns + 500000) / 1000000;
}

/* A number that does not repeat while the server runs, for ids and default seeds. Any thread. */
uint64_t sv_next_id(struct sv_server *server);
