/* job_metrics.c - the metrics of jobs. */
#include "jobs/job_metrics.h"
#include "core/metrics.h"

#include <string.h>

void sv_job_set_metrics(const struct sv_jobs *jobs, const struct sv_job *job)
{
    struct sv_metrics *metrics = jobs->server->metrics;
    const char *const values[] = {job->spec.id};
    const struct sv_job_progress *p = &job->progress;
    sv_metrics_set(metrics, SV_METRIC_TRAIN_STEP, values, (double)p->step);
    sv_metrics_set(metrics, SV_METRIC_TRAIN_LOSS, values, p->train_loss);
    sv_metrics_set(metrics, SV_METRIC_TRAIN_TOKENS_PER_SECOND, values, p->tokens_per_second);
}

void sv_job_drop_metrics(struct sv_jobs *jobs, const struct sv_job *job)
{
    const char *const values[] = {job->spec.id};
    sv_metrics_drop(jobs->server->metrics, SV_METRIC_TRAIN_STEP, values);
    sv_metrics_drop(jobs->server->metrics, SV_METRIC_TRAIN_LOSS, values);
    sv_metrics_drop(jobs->server->metrics, SV_METRIC_TRAIN_TOKENS_PER_SECOND, values);
}

void sv_jobs_count_states(struct sv_jobs *jobs)
{
    static const char *const states[] = {"validating_files", "queued", "running"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        int count = 0;
        for (const struct sv_job *job = jobs->first; job; job = job->next)
            count += strcmp(sv_job_status(job->phase, job->desired), states[i]) == 0;
        sv_metrics_set(jobs->server->metrics, SV_METRIC_TRAIN_JOBS, &states[i], count);
    }
}

static struct sv_series *ended_series(struct sv_jobs *jobs, enum sv_job_phase phase)
{
    const char *status = sv_job_status(phase, SV_DESIRED_RUNNING);
    return sv_metrics_series(jobs->server->metrics, SV_METRIC_TRAIN_JOBS_ENDED, &status);
}

void sv_job_count_end(struct sv_jobs *jobs, enum sv_job_phase phase)
{
    sv_metric_add(ended_series(jobs, phase), 1);
}

void sv_jobs_reset_counts(struct sv_jobs *jobs)
{
    for (int phase = SV_JOB_SUCCEEDED; phase < SV_JOB_PHASES; phase++)
        (void)ended_series(jobs, (enum sv_job_phase)phase);
}
