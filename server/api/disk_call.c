/* disk_call.c - see disk_call.h. */
#include "api/disk_call.h"

#include "api/async_defaults.h"
#include "state/disk_thread.h"

#include <assert.h>
#include <stdlib.h>

static void destroy(void *state)
{
    struct sv_disk_call *call = state;
    if (call->release)
        call->release(call);
    sl_buffer_release(&call->object);
    free(call);
}

static enum sv_progress proceed(struct sv_request *request)
{
    struct sv_disk_call *call = request->state;
    if (!atomic_load(&call->finished))
        return SV_PENDING;
    if (call->error.kind != SV_OK)
        return sv_request_fail(request, &call->error);
    sl_buffer_append(&request->response.body, call->object.data, call->object.bytes);
    return sv_request_respond(request, 200, "application/json");
}

static const struct sv_async async = {.proceed = proceed,
                                      .pull = sv_pull_nothing,
                                      .cancel = sv_cancel_nothing,
                                      .tick = sv_tick_nothing,
                                      .outcome = sv_outcome_sent,
                                      .destroy = destroy};

void *sv_disk_call_begin(struct sv_request *request, size_t bytes,
                         void (*run)(struct sv_disk_call *call),
                         void (*release)(struct sv_disk_call *call), struct sv_error *error)
{
    assert(bytes >= sizeof(struct sv_disk_call));
    struct sv_disk_call *call = calloc(1, bytes);
    if (!call) {
        (void)sv_fail_no_memory(error);
        return NULL;
    }
    call->request = request;
    call->run = run;
    call->release = release;
    request->async = &async;
    request->state = call;
    return call;
}

/* On the disk thread. */
static void run_call(void *context)
{
    struct sv_disk_call *call = context;
    struct sv_request *request = call->request;
    call->run(call);
    if (call->error.kind == SV_OK && call->object.failed)
        (void)sv_fail_no_memory(&call->error);
    atomic_store(&call->finished, true);
    sv_request_wake(request);
    sv_request_release(request);
}

enum sv_progress sv_disk_call_submit(struct sv_disk_call *call)
{
    struct sv_error error = {0};
    struct sv_request *request = call->request;
    (void)sv_request_acquire(request); /* the disk thread's */
    if (sv_disk_thread_submit(request->server->disk_thread, run_call, call))
        return SV_PENDING;
    sv_request_release(request);
    (void)sv_fail(&error, SV_OVERLOADED, NULL, "Too many requests wait for the disk; retry later.");
    error.retry_ms = 1000;
    return sv_request_fail(request, &error);
}
