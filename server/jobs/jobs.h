/* jobs.h - training jobs: a queue, trainers as child processes, their events, and the models that
 * they make.
 *
 *     <state>/jobs/<id>/job.json       the request and its progress
 *     <state>/jobs/<id>/events.jsonl   its events
 *     <state>/jobs/<id>/data...        the training file, a link to the uploaded one
 *     <state>/jobs/<id>/run/           the trainer's state, and log.jsonl
 *     <state>/jobs/<id>/model/1/       the finished model, until it is in the store
 *
 * The directory is the truth. A trainer dies with the daemon. When the daemon starts again, each
 * job continues from its last saved state, with bit-identical results. One thread runs all jobs;
 * it starts, watches and stops their trainers. Any thread may call the functions below. */
#pragma once

#include "core/request_error.h"
#include "jobs/job_phase.h"
#include "params/job_params.h"
#include "sluice/err.h"

#include <stdint.h>

struct sv_server;
struct sv_jobs;

/* Reads the directories and brings the index up to date. The server's state, audit log, files,
 * metrics and registry must be there and outlive the jobs. */
struct sv_jobs *sv_jobs_open(struct sv_server *server, struct sl_err *err) SL_MUST_CHECK;
/* Starts the thread, once models are loaded. */
bool sv_jobs_start(struct sv_jobs *jobs, struct sl_err *err) SL_MUST_CHECK;
/* Asks the trainers to save and end; nothing starts any more. Does not wait. */
void sv_jobs_stop(struct sv_jobs *jobs); /* NULL is fine */
/* Stops as above, waits for the trainers (at most SV_JOB_STOP_SECONDS) and frees everything.
 * NULL is fine. */
void sv_jobs_close(struct sv_jobs *jobs);

/* The origin of a request, so that the same request twice creates one job. */
struct sv_job_origin {
    const char *caller;          /* its name */
    const char *idempotency_key; /* NULL: none */
    const char *body;            /* its SHA-256 */
};

/* Checks the request, creates the job and appends its object. Waits for the disk. *is_new: false
 * if it is that of an earlier request with the same key. A new job takes the document of the
 * params. */
bool sv_jobs_create(struct sv_jobs *jobs, struct sv_job_params *params,
                    const struct sv_job_origin *origin, struct sl_buffer *object, bool *is_new,
                    struct sv_error *error) SL_MUST_CHECK;
/* Appends the object of the job after the action. */
bool sv_jobs_act(struct sv_jobs *jobs, const char *id, enum sv_job_action action,
                 struct sl_buffer *object, struct sv_error *error) SL_MUST_CHECK;
bool sv_jobs_describe(struct sv_jobs *jobs, const char *id, struct sl_buffer *object,
                      struct sv_error *error) SL_MUST_CHECK;

/* Changes with every event of every job, and when no more will follow. */
uint64_t sv_jobs_revision(const struct sv_jobs *jobs);
/* No more events will follow. */
bool sv_job_has_ended(struct sv_jobs *jobs, const char *id);
