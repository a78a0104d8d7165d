/* job_object.c - the object of a job that clients see. */
#include "jobs/job_object.h"
#include "base/buffer.h"
#include "base/json_writer.h"
#include "jobs/job_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those of OpenAI are always there. */
static void add_hyperparameters(struct sl_json_writer *json, const struct sv_job_spec *spec)
{
    const struct sv_string *raw = &spec->hyperparameters.raw;
    sl_json_begin_object(json);
    const char *name;
    for (int i = 0; (name = sv_job_settings_openai(i)); i++)
        if (!sv_setting_find(&spec->hyperparameters, name))
            sl_json_add_string(sl_json_key(json, name), "auto");
    if (raw->bytes > 2) {
        if (json->needs_comma)
            sl_buffer_append(json->out, ",", 1);
        sl_buffer_append(json->out, raw->data + 1, raw->bytes - 2); /* without the braces */
    }
    sl_json_end_object(json);
}

static void add_error(struct sl_json_writer *json, const struct sv_job_error *error)
{
    if (!error->code[0]) {
        sl_json_add_null(json);
        return;
    }
    sl_json_add(json, "{'code':%s,'message':%s,'param':%s}", error->code, error->message,
                error->param[0] ? error->param : NULL);
}

static void add_published(struct sl_json_writer *json, const struct sv_job *job)
{
    char id[SV_MODEL_ID_MAX + 24];
    (void)snprintf(id, sizeof id, "%s@%lld", job->spec.name, (long long)job->spec.version);
    sl_json_add_string(json, job->phase == SV_JOB_SUCCEEDED ? id : NULL);
}

/* All have the number of the job, but for its last two bits, so that nothing has to keep them; a
 * number has 64 random bits. */
void sv_job_result_id(const struct sv_job *job, enum sv_job_result result,
                      char id[static SV_JOB_RESULT_ID_MAX])
{
    unsigned long long number = strtoull(job->spec.id + strlen("ftjob-"), NULL, 16);
    (void)snprintf(id, SV_JOB_RESULT_ID_MAX, "file-%016llx", number ^ (unsigned)result);
}

static void add_results(struct sl_json_writer *json, const struct sv_job *job)
{
    char id[SV_JOB_RESULT_ID_MAX];
    sl_json_begin_array(json);
    for (int i = 0; i < SV_JOB_RESULTS; i++) {
        sv_job_result_id(job, (enum sv_job_result)i, id);
        if (job->has_result[i])
            sl_json_add_string(json, id);
    }
    sl_json_end_array(json);
}

/* What the request named: "auto" with an encoder among its recipes is the encoder, name@version. */
static void add_model(struct sl_json_writer *json, const struct sv_job_spec *spec)
{
    char id[sizeof spec->base];
    char *slash = memcpy(id, spec->base, sizeof id);
    slash = strchr(slash, '/');
    if (slash)
        *slash = '@';
    sl_json_add_string(json, slash && strcmp(spec->model, SV_JOB_AUTO) == 0 ? id : spec->model);
}

void sv_job_write(const struct sv_job *job, struct sl_buffer *out)
{
    struct sl_json_writer writer = {.out = out}, *json = &writer;
    const struct sv_job_spec *spec = &job->spec;
    bool runs = sv_job_phase_is_running(job->phase) && job->desired == SV_DESIRED_RUNNING;
    sl_json_add(json,
                "{'id':%s,'object':'fine_tuning.job','user_provided_suffix':%s,'created_at':%lld,"
                "'finished_at':",
                spec->id, spec->name, (long long)(spec->created_ns / 1000000000));
    sl_json_add_positive(json, job->finished_at);
    sl_json_add_positive(sl_json_key(json, "estimated_finish"), runs ? job->progress.ends_at : 0);
    add_model(sl_json_key(json, "model"), spec);
    sl_json_key(json, "fine_tuned_model");
    add_published(json, job);
    sl_json_add(json, "'organization_id':'local','status':%s,'paused':%i,'hyperparameters':",
                sv_job_status(job->phase, job->desired),
                job->desired == SV_DESIRED_PAUSED && job->phase <= SV_JOB_TRAINING);
    add_hyperparameters(json, spec);
    sl_json_add(json, "'training_file':%s,'validation_file':%s", spec->training_file,
                spec->validation_file[0] ? spec->validation_file : NULL);
    add_results(sl_json_key(json, "result_files"), job);
    sl_json_add_positive(sl_json_key(json, "trained_tokens"), job->progress.tokens);
    sl_json_add(json, "'seed':%lld,'error':", (long long)spec->seed);
    add_error(json, &job->error);
    sl_json_add(json, "'integrations':[],'metadata':");
    sv_job_add_settings(json, &spec->metadata);
    sl_json_add(json, "'method':{'type':'supervised','supervised':{'hyperparameters':");
    add_hyperparameters(json, spec);
    sl_json_add(json, "}}}");
}
