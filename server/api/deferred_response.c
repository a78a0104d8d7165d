/* deferred_response.c - suspends a request until another thread has made its response. */
#include "api/deferred_response.h"
#include "state/disk_thread.h"

#include <assert.h>
#include <stdlib.h>

static void destroy(void *state)
{
    struct sv_deferred *deferred = state;
    if (deferred->release)
        deferred->release(deferred);
    sl_buffer_release(&deferred->object);
    free(deferred);
}

static enum sv_progress proceed(struct sv_request *request)
{
    struct sv_deferred *deferred = request->state;
    if (!atomic_load(&deferred->finished))
        return SV_PENDING;
    if (deferred->error.kind != SV_OK)
        return sv_request_fail(request, &deferred->error);
    sl_buffer_release(&request->response.body);
    request->response.body = deferred->object; /* it may be large: moved, not copied */
    deferred->object = (struct sl_buffer){0};
    return sv_request_respond(request, 200, "application/json");
}

static const struct sv_async async = {.proceed = proceed, .destroy = destroy};

void *sv_deferred_begin(struct sv_request *request, size_t bytes,
                        void (*release)(struct sv_deferred *deferred), struct sv_error *error)
{
    assert(bytes >= sizeof(struct sv_deferred));
    struct sv_deferred *deferred = sv_new(bytes, error);
    if (!deferred)
        return NULL;
    deferred->request = request;
    deferred->release = release;
    request->async = &async;
    request->state = deferred;
    return deferred;
}

void sv_deferred_finish(struct sv_deferred *deferred)
{
    struct sv_request *request = deferred->request;
    if (deferred->error.kind == SV_OK && deferred->object.failed)
        (void)sv_fail_no_memory(&deferred->error);
    atomic_store(&deferred->finished, true);
    sv_request_wake(request);
    sv_request_release(request);
}

/* ---- on the disk thread ---------------------------------------------------------------------- */

static void run_on_disk_thread(void *context)
{
    struct sv_deferred *deferred = context;
    deferred->run(deferred);
    sv_deferred_finish(deferred);
}

enum sv_progress sv_deferred_to_disk(struct sv_deferred *deferred,
                                     void (*run)(struct sv_deferred *deferred))
{
    struct sv_error error = {0};
    struct sv_request *request = deferred->request;
    deferred->run = run;
    (void)sv_request_acquire(request); /* the disk thread's */
    if (sv_disk_thread_submit(request->server->disk_thread, run_on_disk_thread, deferred))
        return SV_PENDING;
    sv_request_release(request);
    (void)sv_fail(&error, SV_OVERLOADED, NULL, "Too many requests wait for the disk; retry later.");
    return sv_request_fail(request, &error);
}
