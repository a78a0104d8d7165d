/* job.c - one job in memory. */
#include "jobs/job.h"
#include "base/buffer.h"
#include "base/json_writer.h"

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

/* ---- settings -------------------------------------------------------------------------------- */

static const struct sv_field own_fields[] = {
    SV_CUSTOM_FIELD("hyperparameters", sv_type_settings,
                    offsetof(struct sv_job_spec, hyperparameters), 0, SV_JOB_SETTINGS_MAX,
                    .help = "settings"),
    SV_CUSTOM_FIELD("metadata", sv_type_metadata, offsetof(struct sv_job_spec, metadata), 0,
                    SV_METADATA_MAX, .help = "texts"),
    {.kind = SV_FIELD_END},
};

bool sv_job_own_settings(struct sv_job_spec *spec, struct sv_error *error)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    const struct sv_string *values[] = {&spec->hyperparameters.raw, &spec->metadata.raw};
    static const char *const names[] = {"hyperparameters", "metadata"};
    sl_json_begin_object(&json);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i]->data)
            sl_json_add_raw(sl_json_key(&json, names[i]), values[i]->data, values[i]->bytes);
    sl_json_end_object(&json);
    spec->hyperparameters = spec->metadata = (struct sv_settings){0};
    spec->document = text.failed ? NULL : sv_json_read(&text, own_fields, NULL, spec, error);
    if (text.failed)
        (void)sv_fail_no_memory(error);
    sl_buffer_release(&text);
    return spec->document;
}
