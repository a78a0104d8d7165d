/* disk_call.h - a request that the disk thread answers, while its connection is suspended. */
#pragma once

#include "base/buffer.h"
#include "core/request.h"

#include <stdatomic.h>

/* The first member of what a handler needs to know; or all of it. */
struct sv_disk_call {
    struct sv_request *request;
    void (*run)(struct sv_disk_call *call);     /* on the disk thread: writes object or error */
    void (*release)(struct sv_disk_call *call); /* what the handler's part owns; NULL: nothing */
    struct sl_buffer object;                    /* the response's body: JSON */
    struct sv_error error;
    atomic_bool finished;
};

/* A call of so many bytes, zeroed, which the request owns. NULL: no memory, see error. */
void *sv_disk_call_begin(struct sv_request *request, size_t bytes,
                         void (*run)(struct sv_disk_call *call),
                         void (*release)(struct sv_disk_call *call), struct sv_error *error);
/* Hands it to the disk thread; responds with 429 when too many wait. What the handler returns. */
enum sv_progress sv_disk_call_submit(struct sv_disk_call *call);
