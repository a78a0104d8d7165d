/* job.c - one job in memory. */
#include "jobs/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sv_job *sv_job_new(void)
{
    struct sv_job *job = calloc(1, sizeof *job);
    if (job)
        job->run.failures.step = -1;
    return job;
}

void sv_job_free(struct sv_job *job)
{
    if (!job)
        return;
    sv_json_document_release(job->spec.document);
    free(job);
}

bool sv_job_is_automatic(const struct sv_job_spec *spec)
{
    return strcmp(spec->model, SV_JOB_AUTO) == 0;
}

void sv_job_set_key(struct sv_job_spec *spec, const char *key, const char *body)
{
    spec->key.created_at = spec->created_ns / 1000000000;
    (void)snprintf(spec->key.key, sizeof spec->key.key, "%s", key);
    (void)snprintf(spec->key.body, sizeof spec->key.body, "%s", body);
    (void)snprintf(spec->key.id, sizeof spec->key.id, "%s", spec->id);
}

void sv_job_add_measure(struct sl_json_writer *json, const char *name, double value)
{
    if (isfinite(value))
        sl_json_add(json, "%s:%.6g", name, value);
}

void sv_job_add_settings(struct sl_json_writer *json, const struct sv_settings *settings)
{
    const struct sv_string *raw = &settings->raw;
    sl_json_add_raw(json, raw->data ? raw->data : "{}", raw->data ? raw->bytes : 2);
}
