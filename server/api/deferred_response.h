/* deferred_response.h - a response that another thread makes, while the connection is suspended. */
#pragma once

#include "base/buffer.h"
#include "core/request.h"

#include <stdatomic.h>

/* The first member of what a handler needs to know; or all of it. */
struct sv_deferred {
    struct sv_request *request;
    void (*run)(struct sv_deferred *deferred);     /* on the disk thread, if that makes it */
    void (*release)(struct sv_deferred *deferred); /* what the handler's part owns; NULL: nothing */
    struct sl_buffer object;                       /* the response's body: JSON; */
    struct sv_error error;                         /* or why there is none */
    atomic_bool finished;
};

/* A zeroed struct of so many bytes, which the request owns. NULL: no memory, see error. */
void *sv_deferred_begin(struct sv_request *request, size_t bytes,
                        void (*release)(struct sv_deferred *deferred), struct sv_error *error);
/* On the other thread, which has its own reference to the request: `object` or `error` is set. */
void sv_deferred_finish(struct sv_deferred *deferred);

/* Lets the disk thread make the response with `run`, which sets `object` or `error`; responds with
 * 429 when too many wait. What the handler returns. */
enum sv_progress sv_deferred_to_disk(struct sv_deferred *deferred,
                                     void (*run)(struct sv_deferred *deferred));
