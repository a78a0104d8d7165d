/* handle_jobs.c - /v1/fine_tuning/jobs: training jobs, in the format of OpenAI's API.
 *
 * What changes a job waits for the disk: the disk thread does it, and the connection is
 * suspended. */
#include "api/deferred_response.h"
#include "api/handlers.h"
#include "api/job_event_stream.h"
#include "api/pagination.h"
#include "base/sha256.h"
#include "jobs/jobs.h"
#include "state/audit_log.h"

#include <stdio.h>
#include <string.h>

enum { SHA256_HEX_MAX = 65 };

/* One request that changes a job. */
struct job_call {
    struct sv_deferred response;
    bool is_new;               /* it creates a job; else */
    enum sv_job_action action; /* that it does with the one of the path */
    struct sv_job_params params;
    char key[SV_IDEMPOTENCY_KEY_MAX + 1]; /* "": none */
    char body[SHA256_HEX_MAX];            /* the digest of the request's body */
    bool changes;                         /* whether it is worth an entry of the audit log */
};

static void release_job_call(struct sv_deferred *response)
{
    sv_json_document_release(((struct job_call *)response)->params.document);
}

/* The id of a job object, which begins with it. */
static void copy_id(const struct sl_buffer *object, char id[static SV_CALLER_NAME_MAX])
{
    static const char start[] = "{\"id\":\"";
    const char *from = object->data + sizeof start - 1;
    (void)snprintf(id, SV_CALLER_NAME_MAX, "%.*s", (int)strcspn(from, "\""), from);
}

static bool create(struct job_call *job)
{
    const struct sv_job_origin origin = {.caller = job->response.request->caller.name,
                                         .idempotency_key = job->key[0] ? job->key : NULL,
                                         .body = job->body};
    return sv_jobs_create(job->response.request->server->jobs, &job->params, &origin,
                          &job->response.object, &job->changes, &job->response.error);
}

static bool act(struct job_call *job)
{
    return sv_jobs_act(job->response.request->server->jobs, job->response.request->path_params[0],
                       job->action, &job->response.object, &job->response.error);
}

/* On the disk thread. */
static void run_job_call(struct sv_deferred *response)
{
    struct job_call *job = (struct job_call *)response;
    char id[SV_CALLER_NAME_MAX];
    bool done = job->is_new ? create(job) : act(job);
    if (!done || response->object.failed || !job->changes)
        return;
    copy_id(&response->object, id);
    sv_audit(response->request, id, NULL, NULL);
}

/* From here on the request owns the call. */
static struct job_call *begin(struct sv_request *request, struct sv_error *error)
{
    struct job_call *job = NULL;
    if (sv_has_state(request, error))
        job = sv_deferred_begin(request, sizeof *job, release_job_call, error);
    if (job)
        job->changes = true;
    return job;
}

/* ---- create ---------------------------------------------------------------------------------- */

static bool read_key(struct job_call *job, struct sv_error *error)
{
    struct sv_request *request = job->response.request;
    const char *key = request->transport->header(request->connection, "Idempotency-Key");
    if (!key)
        return true;
    size_t bytes = strlen(key);
    if (bytes == 0 || bytes > SV_IDEMPOTENCY_KEY_MAX)
        return sv_fail(error, SV_INVALID_VALUE, NULL,
                       "Idempotency-Key has %zu bytes; 1 to %d are accepted.", bytes,
                       SV_IDEMPOTENCY_KEY_MAX);
    memcpy(job->key, key, bytes + 1);
    return true;
}

enum sv_progress sv_handle_job_create(struct sv_request *request)
{
    struct sv_error error = {0};
    struct job_call *job = begin(request, &error);
    if (!job || !read_key(job, &error))
        return sv_request_fail(request, &error);
    job->is_new = true;
    sl_sha256_hex(request->body.data, request->body.bytes, job->body);
    return sv_job_params_read(&request->body, &job->params, &error)
               ? sv_deferred_to_disk(&job->response, run_job_call)
               : sv_request_fail(request, &error);
}

/* ---- actions --------------------------------------------------------------------------------- */

static enum sv_progress begin_action(struct sv_request *request, enum sv_job_action action)
{
    struct sv_error error = {0};
    struct job_call *job = begin(request, &error);
    if (!job)
        return sv_request_fail(request, &error);
    job->action = action;
    return sv_deferred_to_disk(&job->response, run_job_call);
}

enum sv_progress sv_handle_job_cancel(struct sv_request *request)
{
    return begin_action(request, SV_JOB_CANCEL);
}

enum sv_progress sv_handle_job_pause(struct sv_request *request)
{
    return begin_action(request, SV_JOB_PAUSE);
}

enum sv_progress sv_handle_job_resume(struct sv_request *request)
{
    return begin_action(request, SV_JOB_RESUME);
}

/* ---- lists ----------------------------------------------------------------------------------- */

enum sv_progress sv_handle_jobs(struct sv_request *request)
{
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
