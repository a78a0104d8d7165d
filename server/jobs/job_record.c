/* job_record.c - job.json: the request of a job and its progress, on the disk and in the index. */
#include "jobs/job_record.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "core/log.h"
#include "jobs/job_events.h"
#include "jobs/job_object.h"
#include "jobs/job_paths.h"
#include "jobs/job_settings.h"

#include <stdio.h>
#include <string.h>

/* The members of job.json, and where they are in struct sv_job. Besides them it has the phase,
 * whether the job is paused, and the settings. Texts and numbers must be there; a flag may be
 * missing, because earlier versions did not write all. */
#define TEXTS(X)                                                                                   \
    X(id, spec.id)                                                                                 \
    X(model, spec.model)                                                                           \
    X(architecture, spec.architecture)                                                             \
    X(base, spec.base)                                                                             \
    X(name, spec.name)                                                                             \
    X(training_file, spec.training_file)                                                           \
    X(validation_file, spec.validation_file)                                                       \
    X(data, spec.data)                                                                             \
    X(validation, spec.validation)                                                                 \
    X(key, spec.key.key)                                                                           \
    X(body, spec.key.body)                                                                         \
    X(error_code, error.code)                                                                      \
    X(error_param, error.param)                                                                    \
    X(error_message, error.message)
#define NUMBERS(X)                                                                                 \
    X(created_ns, spec.created_ns)                                                                 \
    X(finished_at, finished_at)                                                                    \
    X(trained_tokens, progress.tokens)                                                             \
    X(version, spec.version)                                                                       \
    X(seed, spec.seed)
#define FLAGS(X)                                                                                   \
    X(classifies, spec.classifies)                                                                 \
    X(has_results, has_result[SV_JOB_METRICS])                                                     \
    X(has_report, has_result[SV_JOB_REPORT])                                                       \
    X(has_predictions, has_result[SV_JOB_PREDICTIONS])                                             \
    X(pins_stable, pins_stable)

/* ---- writing it ------------------------------------------------------------------------------ */

#define ADD_TEXT(name, member)   sl_json_add_string(sl_json_key(json, #name), job->member);
#define ADD_NUMBER(name, member) sl_json_add_int(sl_json_key(json, #name), job->member);
#define ADD_FLAG(name, member)   sl_json_add_bool(sl_json_key(json, #name), job->member);

static void write_record(const struct sv_job *job, struct sl_buffer *out)
{
    struct sl_json_writer writer = {.out = out}, *json = &writer;
    sl_json_begin_object(json);
    TEXTS(ADD_TEXT)
    NUMBERS(ADD_NUMBER)
    FLAGS(ADD_FLAG)
    sl_json_add(json, "'phase':%s,'paused':%i,'hyperparameters':", sv_job_phase_name(job->phase),
                job->desired == SV_DESIRED_PAUSED);
    sv_job_add_settings(json, &job->spec.hyperparameters);
    sv_job_add_settings(sl_json_key(json, "metadata"), &job->spec.metadata);
    sl_json_end_object(json);
}

static bool put_object(struct sv_jobs *jobs, const struct sv_job *job, struct sl_err *err)
{
    struct sl_buffer object = {0};
    sv_job_write(job, &object);
    bool ok = sl_buffer_check(&object, err) &&
              sv_state_put(jobs->server->state, SV_JOBS, job->spec.id, NULL, object.data, err);
    sl_buffer_release(&object);
    return ok;
}

bool sv_job_save(struct sv_jobs *jobs, const struct sv_job *job, struct sl_err *err)
{
    char path[PATH_MAX];
    struct sl_buffer text = {0};
    write_record(job, &text);
    sl_buffer_append(&text, "\n", 1);
    sv_job_path(jobs, job, "job.json", path);
    const struct sl_slice slice = {text.data, text.bytes};
    bool ok = sl_buffer_check(&text, err) && sl_file_replace(path, &slice, 1, err);
    sl_buffer_release(&text);
    return ok && put_object(jobs, job, err);
}

/* Waits longer after each failure. */
static int64_t wait_ns(int failures)
{
    enum { SHORTEST_MS = 100, DOUBLINGS = 6, MS = 1000000 };

    int doublings = failures < DOUBLINGS ? failures : DOUBLINGS;
    return ((int64_t)SHORTEST_MS * MS) << doublings;
}

/* A full disk has no room for the event either. */
static void report_pause(struct sv_jobs *jobs, struct sv_job *job)
{
    if (job->pause_reason[0] && job->desired == SV_DESIRED_PAUSED)
        sv_job_event(jobs, job, "warn", NULL,
                     "Job paused at step %lld: %s; correct that, then resume the job",
                     (long long)job->progress.step, job->pause_reason);
    job->pause_reason[0] = '\0';
}

void sv_job_keep(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sl_err err;
    if (sv_job_save(jobs, job, &err)) {
        report_pause(jobs, job);
        if (job->saves_failed > 0)
            SV_LOG(SV_LOG_INFO, "a job is saved after all", sv_str("job", job->spec.id));
        job->saves_failed = 0;
        atomic_store(&job->has_ended, sv_job_phase_has_ended(job->phase));
        atomic_fetch_add(&jobs->revision, 1);
        return;
    }
    if (job->saves_failed == 0)
        SV_LOG(SV_LOG_ERROR, "a job could not be saved; it is tried again until it can",
               sv_str("job", job->spec.id), sv_str("reason", err.text));
    job->save_again_ns = sl_now_ns() + wait_ns(job->saves_failed++);
}

void sv_job_index(struct sv_jobs *jobs, const struct sv_job *job)
{
    struct sl_err err;
    if (!put_object(jobs, job, &err))
        SV_LOG(SV_LOG_ERROR, "a job could not be indexed", sv_str("job", job->spec.id),
               sv_str("reason", err.text));
}

/* ---- reading it ------------------------------------------------------------------------------ */

#define TEXT_MEMBER(name, member)   struct sv_string name;
#define NUMBER_MEMBER(name, member) int64_t name;
#define FLAG_MEMBER(name, member)   bool name;

struct record {
    TEXTS(TEXT_MEMBER)
    NUMBERS(NUMBER_MEMBER)
    FLAGS(FLAG_MEMBER)
    struct sv_string phase;
    bool paused;
    struct sv_settings hyperparameters, metadata;
};

#define AT(member)   offsetof(struct record, member)
#define ROOM(member) sizeof(((struct sv_job *)0)->member)
#define TEXT_FIELD(name, member)                                                                   \
    SV_FIELD(#name, STRING, AT(name), 0, ROOM(member) - 1, .required = true, .help = "text"),
#define NUMBER_FIELD(name, member)                                                                 \
    SV_FIELD(#name, INT, AT(name), 0, 9e18, .required = true, .help = "number"),
#define FLAG_FIELD(name, member) SV_FIELD(#name, BOOL, AT(name), 0, 1, .help = "flag"),

static const struct sv_field record_fields[] = {
    TEXTS(TEXT_FIELD) NUMBERS(NUMBER_FIELD) FLAGS(FLAG_FIELD)
        SV_FIELD("phase", STRING, AT(phase), 0, 31, .required = true, .help = "phase"),
    SV_FIELD("paused", BOOL, AT(paused), 0, 1, .required = true, .help = "flag"),
    SV_CUSTOM_FIELD("hyperparameters", sv_type_settings, AT(hyperparameters), 0,
                    SV_JOB_SETTINGS_MAX, .help = "settings"),
    SV_CUSTOM_FIELD("metadata", sv_type_metadata, AT(metadata), 0, SV_METADATA_MAX,
                    .help = "texts"),
    {.kind = SV_FIELD_END},
};

#define COPY_TEXT(name, member)                                                                    \
    (void)snprintf(job->member, sizeof job->member, "%s", record->name.data);
#define COPY_VALUE(name, member) job->member = record->name;

static bool copy_job(struct sv_job *job, const struct record *record, struct sv_error *error)
{
    TEXTS(COPY_TEXT)
    NUMBERS(COPY_VALUE)
    FLAGS(COPY_VALUE)
    sv_job_set_key(&job->spec, record->key.data, record->body.data);
    job->spec.hyperparameters = record->hyperparameters;
    job->spec.metadata = record->metadata;
    job->desired = record->paused ? SV_DESIRED_PAUSED : SV_DESIRED_RUNNING;
    return sv_job_phase_find(record->phase.data, &job->phase) ||
           sv_fail(error, SV_INVALID_VALUE, "phase", "unknown phase '%s'", record->phase.data);
}

struct sv_job *sv_job_load(struct sv_jobs *jobs, const char *id, struct sl_err *err)
{
    char path[PATH_MAX];
    struct record record = {0};
    struct sv_error error = {0};
    struct sl_buffer text = {0};
    struct sv_job *job = sv_job_new();
    if (!job) {
        (void)sl_fail(err, SL_NO_MEMORY, "no memory for a job");
        return NULL;
    }
    (void)snprintf(job->spec.id, sizeof job->spec.id, "%s", id);
    sv_job_path(jobs, job, "job.json", path);
    bool ok = sl_file_append(&text, path, err);
    if (ok) {
        job->spec.document = sv_json_read(&text, record_fields, NULL, &record, &error);
        ok = (job->spec.document && copy_job(job, &record, &error) &&
              strcmp(job->spec.id, id) == 0 && sv_job_settings_load(&job->spec, &error)) ||
             sl_fail(err, SL_BAD_INPUT, "'%s' is damaged: %.400s", path, error.message);
    }
    sl_buffer_release(&text);
    if (ok)
        return job;
    sv_job_free(job);
    return NULL;
}
