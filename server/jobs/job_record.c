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

/* ---- writing it ------------------------------------------------------------------------------ */

static void add_raw(struct sl_json_writer *json, const struct sv_string *raw)
{
    if (raw->data)
        sl_json_add_raw(json, raw->data, raw->bytes);
    else
        sl_json_add_raw(json, "{}", 2);
}

static void write_record(const struct sv_job *job, struct sl_buffer *out)
{
    struct sl_json_writer writer = {.out = out}, *json = &writer;
    const struct sv_job_spec *spec = &job->spec;
    sl_json_begin_object(json);
    sl_json_add_string(sl_json_key(json, "id"), spec->id);
    sl_json_add_string(sl_json_key(json, "phase"), sv_job_phase_name(job->phase));
    sl_json_add_bool(sl_json_key(json, "paused"), job->desired == SV_DESIRED_PAUSED);
    sl_json_add_int(sl_json_key(json, "created_ns"), spec->created_ns);
    sl_json_add_int(sl_json_key(json, "finished_at"), job->finished_at);
    sl_json_add_int(sl_json_key(json, "trained_tokens"), job->progress.tokens);
    sl_json_add_string(sl_json_key(json, "model"), spec->model);
    sl_json_add_string(sl_json_key(json, "architecture"), spec->architecture);
    sl_json_add_string(sl_json_key(json, "base"), spec->base);
    sl_json_add_bool(sl_json_key(json, "classifies"), spec->classifies);
    sl_json_add_string(sl_json_key(json, "name"), spec->name);
    sl_json_add_int(sl_json_key(json, "version"), spec->version);
    sl_json_add_int(sl_json_key(json, "seed"), spec->seed);
    sl_json_add_string(sl_json_key(json, "training_file"), spec->training_file);
    sl_json_add_string(sl_json_key(json, "validation_file"), spec->validation_file);
    sl_json_add_string(sl_json_key(json, "data"), spec->data);
    sl_json_add_string(sl_json_key(json, "validation"), spec->validation);
    add_raw(sl_json_key(json, "hyperparameters"), &spec->hyperparameters.raw);
    add_raw(sl_json_key(json, "metadata"), &spec->metadata.raw);
    sl_json_add_string(sl_json_key(json, "key"), spec->key.key);
    sl_json_add_string(sl_json_key(json, "body"), spec->key.body);
    sl_json_add_bool(sl_json_key(json, "has_results"), job->has_results);
    sl_json_add_bool(sl_json_key(json, "has_report"), job->has_report);
    sl_json_add_bool(sl_json_key(json, "pins_stable"), job->pins_stable);
    sl_json_add_string(sl_json_key(json, "error_code"), job->error.code);
    sl_json_add_string(sl_json_key(json, "error_param"), job->error.param);
    sl_json_add_string(sl_json_key(json, "error_message"), job->error.message);
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
                     "Job paused at step %lld: %s; mend that, then resume the job",
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

/* The strings of job.json. The settings go to the spec at once. */
struct record {
    struct sv_string id, phase, model, architecture, base, name, training_file, validation_file;
    struct sv_string data, validation, key, body, error_code, error_param, error_message;
    bool paused, classifies, has_results, has_report, pins_stable;
    int64_t created_ns, finished_at, trained_tokens, version, seed;
    struct sv_settings hyperparameters, metadata;
};

#define AT(member) offsetof(struct record, member)
#define TEXT(member, bytes)                                                                        \
    SV_FIELD(#member, STRING, AT(member), 0, (bytes)-1, .required = true, .help = "text")
#define NUMBER(member)                                                                             \
    SV_FIELD(#member, INT, AT(member), 0, 9e18, .required = true, .help = "number")
#define FLAG(member) SV_FIELD(#member, BOOL, AT(member), 0, 1, .required = true, .help = "flag")

static const struct sv_field record_fields[] = {
    TEXT(id, SV_JOB_ID_MAX),
    TEXT(phase, 32),
    FLAG(paused),
    NUMBER(created_ns),
    NUMBER(finished_at),
    NUMBER(trained_tokens),
    TEXT(model, SV_MODEL_ID_MAX),
    TEXT(architecture, SV_NAME_BYTES_MAX),
    TEXT(base, SV_MODEL_ID_MAX),
    FLAG(classifies),
    TEXT(name, SV_MODEL_ID_MAX),
    NUMBER(version),
    NUMBER(seed),
    TEXT(training_file, SV_JOB_FILE_ID_MAX),
    TEXT(validation_file, SV_JOB_FILE_ID_MAX),
    TEXT(data, PATH_MAX),
    TEXT(validation, PATH_MAX),
    SV_CUSTOM_FIELD("hyperparameters", sv_type_settings, AT(hyperparameters), 0,
                    SV_JOB_SETTINGS_MAX, .help = "settings"),
    SV_CUSTOM_FIELD("metadata", sv_type_metadata, AT(metadata), 0, SV_METADATA_MAX,
                    .help = "texts"),
    TEXT(key, SV_HASH_MAX),
    TEXT(body, SV_HASH_MAX),
    FLAG(has_results),
    /* Earlier versions did not write these. */
    SV_FIELD("has_report", BOOL, AT(has_report), 0, 1, .help = "flag"),
    SV_FIELD("pins_stable", BOOL, AT(pins_stable), 0, 1, .help = "flag"),
    TEXT(error_code, SV_JOB_CODE_MAX),
    TEXT(error_param, SV_JOB_CODE_MAX),
    TEXT(error_message, sizeof(((struct sv_job_error *)0)->message)),
    {.kind = SV_FIELD_END},
};

#define COPY(to, from) (void)snprintf(to, sizeof(to), "%s", (from).data)

static void copy_spec(struct sv_job_spec *spec, const struct record *r)
{
    COPY(spec->id, r->id);
    COPY(spec->model, r->model);
    COPY(spec->architecture, r->architecture);
    COPY(spec->base, r->base);
    COPY(spec->name, r->name);
    COPY(spec->training_file, r->training_file);
    COPY(spec->validation_file, r->validation_file);
    COPY(spec->data, r->data);
    COPY(spec->validation, r->validation);
    spec->created_ns = r->created_ns;
    sv_job_set_key(spec, r->key.data, r->body.data);
    spec->classifies = r->classifies;
    spec->version = r->version;
    spec->seed = r->seed;
    spec->hyperparameters = r->hyperparameters;
    spec->metadata = r->metadata;
}

static bool copy_job(struct sv_job *job, const struct record *r, struct sv_error *error)
{
    copy_spec(&job->spec, r);
    COPY(job->error.code, r->error_code);
    COPY(job->error.param, r->error_param);
    COPY(job->error.message, r->error_message);
    job->desired = r->paused ? SV_DESIRED_PAUSED : SV_DESIRED_RUNNING;
    job->finished_at = r->finished_at;
    job->has_results = r->has_results;
    job->has_report = r->has_report;
    job->pins_stable = r->pins_stable;
    job->progress.tokens = r->trained_tokens;
    return sv_job_phase_find(r->phase.data, &job->phase) ||
           sv_fail(error, SV_INVALID_VALUE, "phase", "unknown phase '%s'", r->phase.data);
}

static bool read_text(const char *path, struct sl_buffer *text, struct sl_err *err)
{
    struct sl_map map;
    if (!sl_map_open(&map, path, err))
        return false;
    sl_buffer_append(text, map.data, map.size);
    sl_map_close(&map);
    return sl_buffer_check(text, err);
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
    bool ok = read_text(path, &text, err);
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
