/* promote_model.c - what a job asks of the registry. */
#include "jobs/promote_model.h"
#include "base/json_writer.h"
#include "core/log.h"
#include "core/options.h"
#include "registry/registry.h"
#include "state/audit_log.h"

#include <stdio.h>
#include <string.h>

/* By the registry's thread. The job stays until it has its answer. */
static void on_answer(void *context, const struct sv_change_result *result)
{
    struct sv_job *job = context;
    job->run.answer = result->error;
    job->run.was_pinned = result->was_pinned;
    atomic_store(&job->run.answered, true);
}

static bool ask(struct sv_jobs *jobs, struct sv_job *job, struct sv_change *change)
{
    struct sv_error error;
    (void)snprintf(change->model, sizeof change->model, "%s", job->spec.name);
    atomic_store(&job->run.answered, false);
    job->run.asked = sv_registry_request(jobs->server->registry, change, on_answer, job, &error);
    return job->run.asked;
}

static bool ask_label(struct sv_jobs *jobs, struct sv_job *job, const char *label, int64_t version,
                      int weight)
{
    struct sv_change change = {.kind = SV_CHANGE_LABEL, .version = (long)version, .weight = weight};
    (void)snprintf(change.label, sizeof change.label, "%s", label);
    return ask(jobs, job, &change);
}

bool sv_job_ask_pin(struct sv_jobs *jobs, struct sv_job *job)
{
    return ask_label(jobs, job, "stable", 0, SV_WEIGHT_KEPT);
}

/* Whatever comes of it, the job has ended. */
static void ignore_answer(void *context, const struct sv_change_result *result)
{
    (void)context;
    (void)result;
}

void sv_job_undo_pin(struct sv_jobs *jobs, const struct sv_job *job)
{
    struct sv_error error = {0};
    struct sv_change change = {.kind = SV_CHANGE_UNPIN};
    (void)snprintf(change.model, sizeof change.model, "%s", job->spec.name);
    if (job->pins_stable &&
        !sv_registry_request(jobs->server->registry, &change, ignore_answer, NULL, &error))
        SV_LOG(SV_LOG_WARN, "the label 'stable' stays pinned", sv_str("model", job->spec.name),
               sv_str("reason", error.message));
}

bool sv_job_ask_load(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sv_change change = {
        .kind = SV_CHANGE_LOAD, .version = (long)job->spec.version, .is_candidate = true};
    return ask(jobs, job, &change);
}

bool sv_job_ask_promotion(struct sv_jobs *jobs, struct sv_job *job)
{
    if (job->spec.promotion == SV_PROMOTE_CANARY)
        return ask_label(jobs, job, "canary", job->spec.version, (int)job->spec.weight);
    return ask_label(jobs, job, "stable", job->spec.version, SV_WEIGHT_KEPT);
}

bool sv_job_find_serving(struct sv_jobs *jobs, const struct sv_job *job,
                         char serving[static SV_MODEL_ID_MAX])
{
    struct sv_model_ref *ref =
        sv_registry_acquire(jobs->server->registry, job->spec.name, SV_SHARE_MAX);
    char version[24];
    (void)snprintf(version, sizeof version, "%lld", (long long)job->spec.version);
    bool other = ref && strcmp(ref->version, version) != 0;
    if (other)
        (void)snprintf(serving, SV_MODEL_ID_MAX, "%s", ref->id);
    sv_model_ref_release(ref);
    return other;
}

void sv_job_audit_promotion(struct sv_jobs *jobs, const struct sv_job *job)
{
    char target[SV_MODEL_ID_MAX + 24];
    struct sl_buffer detail = {0};
    struct sl_json_writer json = {.out = &detail};
    bool is_canary = job->spec.promotion == SV_PROMOTE_CANARY;
    (void)snprintf(target, sizeof target, "%s@%lld", job->spec.name, (long long)job->spec.version);
    sl_json_add(&json, "{'job':%s,'label':%s", job->spec.id, is_canary ? "canary" : "stable");
    if (is_canary)
        sl_json_add(&json, "'weight':%lld", (long long)job->spec.weight);
    if (!is_canary && job->run.measured == 2) {
        sl_json_add_real(sl_json_key(&json, "score"), job->run.score[0]);
        sl_json_add_real(sl_json_key(&json, "serving_score"), job->run.score[1]);
    }
    sl_json_end_object(&json);
    sv_audit_daemon(jobs->server, "job.promote", target, detail.failed ? NULL : detail.data, NULL);
    sl_buffer_release(&detail);
}
