/* handle_jobs.c - /v1/fine_tuning/jobs: training jobs, in the format of OpenAI's API.
 *
 * What changes a job waits for the disk: the disk thread does it, and the connection is
 * suspended. */
#include "api/async_defaults.h"
#include "api/handlers.h"
#include "api/job_event_stream.h"
#include "api/pagination.h"
#include "base/sha256.h"
#include "jobs/jobs.h"
#include "state/audit_log.h"
#include "state/disk_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHA256_HEX_MAX = 65 };

/* One request that the disk thread answers. */
struct job_call {
    struct sv_request *request;
    bool (*run)(struct job_call *call);
    struct sv_job_params params;
    struct sv_json_document *document;    /* owns the params */
    char key[SV_IDEMPOTENCY_KEY_MAX + 1]; /* "": none */
    char body[SHA256_HEX_MAX];            /* the digest of the request's body */
    bool changes;                         /* whether it is worth an entry of the audit log */
    struct sl_buffer object;
    struct sv_error error;
    atomic_bool finished;
};

static void call_destroy(void *state)
{
    struct job_call *call = state;
    sv_json_document_release(call->document);
    sl_buffer_release(&call->object);
    free(call);
}

static enum sv_progress call_proceed(struct sv_request *request)
{
    struct job_call *call = request->state;
    if (!atomic_load(&call->finished))
        return SV_PENDING;
    if (call->error.kind != SV_OK)
        return sv_request_fail(request, &call->error);
    sl_buffer_append(&request->response.body, call->object.data, call->object.bytes);
    return sv_request_respond(request, 200, "application/json");
}

static const struct sv_async call_async = {.proceed = call_proceed,
                                           .pull = sv_pull_nothing,
                                           .cancel = sv_cancel_nothing,
                                           .tick = sv_tick_nothing,
                                           .outcome = sv_outcome_sent,
                                           .destroy = call_destroy};

/* The id of a job object, which begins with it. */
static void copy_id(const struct sl_buffer *object, char id[static SV_CALLER_NAME_MAX])
{
    static const char start[] = "{\"id\":\"";
    const char *from = object->data + sizeof start - 1;
    (void)snprintf(id, SV_CALLER_NAME_MAX, "%.*s", (int)strcspn(from, "\""), from);
}

/* On the disk thread. */
static void run_call(void *context)
{
    struct job_call *call = context;
    struct sv_request *request = call->request;
    char id[SV_CALLER_NAME_MAX];
    if (call->run(call) && call->object.failed)
        (void)sv_fail_no_memory(&call->error);
    if (call->error.kind == SV_OK && call->changes) {
        copy_id(&call->object, id);
        sv_audit(request, id, NULL);
    }
    atomic_store(&call->finished, true);
    sv_request_wake(request);
    sv_request_release(request);
}

static enum sv_progress submit(struct job_call *call)
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

/* From here on the request owns the call. */
static struct job_call *begin(struct sv_request *request, bool (*run)(struct job_call *call),
                              struct sv_error *error)
{
    if (!sv_has_state(request, error))
        return NULL;
    struct job_call *call = calloc(1, sizeof *call);
    if (!call) {
        (void)sv_fail_no_memory(error);
        return NULL;
    }
    call->request = request;
    call->run = run;
    call->changes = true;
    request->async = &call_async;
    request->state = call;
    return call;
}

/* ---- create ---------------------------------------------------------------------------------- */

static bool run_create(struct job_call *call)
{
    const struct sv_job_origin origin = {.caller = call->request->caller.name,
                                         .idempotency_key = call->key[0] ? call->key : NULL,
                                         .body = call->body};
    return sv_jobs_create(call->request->server->jobs, &call->params, &origin, &call->object,
                          &call->changes, &call->error);
}

static bool read_key(struct job_call *call, struct sv_error *error)
{
    struct sv_request *request = call->request;
    const char *key = request->transport->header(request->connection, "Idempotency-Key");
    if (!key)
        return true;
    size_t bytes = strlen(key);
    if (bytes == 0 || bytes > SV_IDEMPOTENCY_KEY_MAX)
        return sv_fail(error, SV_INVALID_VALUE, NULL,
                       "Idempotency-Key has %zu bytes; 1 to %d are accepted.", bytes,
                       SV_IDEMPOTENCY_KEY_MAX);
    memcpy(call->key, key, bytes + 1);
    return true;
}

enum sv_progress sv_handle_job_create(struct sv_request *request)
{
    struct sv_error error = {0};
    struct job_call *call = begin(request, run_create, &error);
    if (!call || !read_key(call, &error))
        return sv_request_fail(request, &error);
    sl_sha256_hex(request->body.data, request->body.bytes, call->body);
    call->document = sv_job_params_read(&request->body, &call->params, &error);
    return call->document ? submit(call) : sv_request_fail(request, &error);
}

/* ---- actions --------------------------------------------------------------------------------- */

static bool run_action(struct job_call *call, enum sv_job_action action)
{
    return sv_jobs_act(call->request->server->jobs, call->request->path_params[0], action,
                       &call->object, &call->error);
}

static bool run_cancel(struct job_call *call)
{
    return run_action(call, SV_JOB_CANCEL);
}

static bool run_pause(struct job_call *call)
{
    return run_action(call, SV_JOB_PAUSE);
}

static bool run_resume(struct job_call *call)
{
    return run_action(call, SV_JOB_RESUME);
}

static enum sv_progress act(struct sv_request *request, bool (*run)(struct job_call *call))
{
    struct sv_error error = {0};
    struct job_call *call = begin(request, run, &error);
    return call ? submit(call) : sv_request_fail(request, &error);
}

enum sv_progress sv_handle_job_cancel(struct sv_request *request)
{
    return act(request, run_cancel);
}

enum sv_progress sv_handle_job_pause(struct sv_request *request)
{
    return act(request, run_pause);
}

enum sv_progress sv_handle_job_resume(struct sv_request *request)
{
    return act(request, run_resume);
}

/* ---- lists ----------------------------------------------------------------------------------- */

enum sv_progress sv_handle_jobs(struct sv_request *request)
{
    struct sv_error error = {0};
    if (!sv_has_state(request, &error))
        return sv_request_fail(request, &error);
    return sv_page_respond(request, SV_JOBS, NULL);
}

/* The job's object as the response's body. */
static bool describe(struct sv_request *request, struct sv_error *error)
{
    return sv_has_state(request, error) &&
           sv_jobs_describe(request->server->jobs, request->path_params[0], &request->response.body,
                            error);
}

enum sv_progress sv_handle_job(struct sv_request *request)
{
    struct sv_error error = {0};
    if (!describe(request, &error))
        return sv_request_fail(request, &error);
    return sv_request_respond(request, 200, "application/json");
}

/* What belongs to a job that exists. */
static enum sv_progress respond_of_job(struct sv_request *request, enum sv_collection collection)
{
    struct sv_error error = {0};
    if (!describe(request, &error))
        return sv_request_fail(request, &error);
    sl_buffer_clear(&request->response.body);
    return sv_page_respond(request, collection, request->path_params[0]);
}

enum sv_progress sv_handle_job_checkpoints(struct sv_request *request)
{
    return respond_of_job(request, SV_CHECKPOINTS);
}

enum sv_progress sv_handle_job_events(struct sv_request *request)
{
    struct sv_error error = {0};
    if (!sv_job_events_are_streamed(request))
        return respond_of_job(request, SV_EVENTS);
    if (!describe(request, &error))
        return sv_request_fail(request, &error);
    sl_buffer_clear(&request->response.body);
    return sv_job_event_stream(request);
}
