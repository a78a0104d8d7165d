/* job_events.c - events and checkpoints of a job: events.jsonl and the index.
 *
 * A line of events.jsonl has the event, and up to where log.jsonl had been read when it was
 * written. So after a crash no line of the log becomes an event twice, and none is left out. */
#include "jobs/job_events.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "core/log.h"
#include "jobs/job_paths.h"
#include "state/append_line.h"
#include "json/json_peek.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1024, EVENT_ID_MAX = 64 };

static const char line_start[] = "{\"offset\":", event_start[] = ",\"event\":";

static bool put_event(struct sv_jobs *jobs, const struct sv_job *job, const char *id,
                      const char *event, struct sl_err *err)
{
    bool ok = sv_state_put(jobs->server->state, SV_EVENTS, id, job->spec.id, event, err);
    atomic_fetch_add(&jobs->revision, 1);
    return ok;
}

static bool append_line(struct sv_jobs *jobs, const struct sv_job *job, const char *event,
                        struct sl_err *err)
{
    char path[PATH_MAX];
    struct sl_buffer line = {0};
    sl_buffer_printf(&line, "%s%lld%s%s}\n", line_start, (long long)job->run.log_offset,
                     event_start, event);
    sv_job_path(jobs, job, "events.jsonl", path);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool ok = (fd >= 0 || sl_fail(err, sl_file_error_code(errno), "events.jsonl: %s",
                                  strerrordesc_np(errno))) &&
              sl_buffer_check(&line, err) && sv_append_line(fd, &line, err);
    if (fd >= 0)
        (void)close(fd);
    sl_buffer_release(&line);
    return ok;
}

/* In the log once, however many events and checkpoints a full disk takes. */
static void note_written(struct sv_job *job, bool written, const struct sl_err *err)
{
    if (written && job->events_lost > 0)
        SV_LOG(SV_LOG_WARN, "what happens to a job can be recorded again",
               sv_str("job", job->spec.id), sv_int("lost", job->events_lost));
    if (!written && job->events_lost == 0)
        SV_LOG(SV_LOG_ERROR, "what happens to a job could not be recorded",
               sv_str("job", job->spec.id), sv_str("reason", err->text));
    job->events_lost = written ? 0 : job->events_lost + 1;
}

static void write_event(const char *id, const char *level, const char *message, const char *data,
                        struct sl_buffer *out)
{
    struct sl_json_writer writer = {.out = out}, *json = &writer;
    sl_json_add(json,
                "{'id':%s,'object':'fine_tuning.job.event','created_at':%lld,'level':%s,"
                "'message':%s,'type':%s,'data':",
                id, (long long)(sl_wall_ns() / 1000000000), level, message,
                data ? "metrics" : "message");
    sl_json_add_raw(json, data ? data : "{}", data ? strlen(data) : 2);
    sl_json_end_object(json);
}

/* Clients who pause and resume a job again and again do not use up the room of its metrics. The
 * last events of a job say how it ended. */
static bool take_room(struct sv_job *job, bool is_metrics)
{
    int *count = is_metrics ? &job->metrics : &job->messages;
    if (*count >= SV_JOB_EVENTS_MAX / 2 && !sv_job_phase_has_ended(job->phase))
        return false;
    ++*count;
    return true;
}

void sv_job_event(struct sv_jobs *jobs, struct sv_job *job, const char *level, const char *data,
                  const char *format, ...)
{
    char message[MESSAGE_MAX], id[EVENT_ID_MAX];
    struct sl_err err;
    struct sl_buffer event = {0};
    va_list list;
    va_start(list, format);
    (void)vsnprintf(message, sizeof message, format, list);
    va_end(list);
    if (!take_room(job, data != NULL))
        return;
    (void)snprintf(id, sizeof id, "ftevent-%s-%06d", job->spec.id + strlen("ftjob-"),
                   ++job->events);
    write_event(id, level, message, data, &event);
    bool appended = sl_buffer_check(&event, &err) && append_line(jobs, job, event.data, &err);
    bool indexed = !event.failed && put_event(jobs, job, id, event.data, appended ? &err : NULL);
    note_written(job, appended && indexed, &err);
    sl_buffer_release(&event);
}

/* ---- after a restart ------------------------------------------------------------------------- */

/* The next event gets a higher number, even if some could not be written. */
static void note_number(struct sv_job *job, const char *id)
{
    const char *dash = strrchr(id, '-');
    long number = dash ? strtol(dash + 1, NULL, 10) : 0;
    if (number > job->events && number < INT_MAX)
        job->events = (int)number;
}

/* One line; false if it was cut short. */
static bool load_line(struct sv_jobs *jobs, struct sv_job *job, const char *line, size_t bytes)
{
    char id[EVENT_ID_MAX], type[16], *rest;
    struct sl_err err;
    struct sl_buffer text = {0};
    size_t start = sizeof line_start - 1;
    if (bytes < start || memcmp(line, line_start, start) != 0 || line[bytes - 1] != '}')
        return false;
    long long offset = strtoll(line + start, &rest, 10);
    if (strncmp(rest, event_start, sizeof event_start - 1) != 0)
        return false;
    const char *event = rest + sizeof event_start - 1;
    sl_buffer_append(&text, event, (size_t)(line + bytes - 1 - event));
    bool is_event = !text.failed && sv_json_peek_string(&text, "id", id, sizeof id) &&
                    sv_json_peek_string(&text, "type", type, sizeof type);
    if (is_event) {
        note_written(job, put_event(jobs, job, id, text.data, &err), &err);
        job->run.event_offset = offset;
        note_number(job, id);
        ++*(strcmp(type, "metrics") == 0 ? &job->metrics : &job->messages);
    }
    sl_buffer_release(&text);
    return is_event;
}

/* A line cut short by a crash is cut off. */
static void truncate_events(const char *path, size_t bytes)
{
    if (truncate(path, (off_t)bytes) != 0)
        SV_LOG(SV_LOG_WARN, "truncate", sv_str("path", path),
               sv_str("reason", strerrordesc_np(errno)));
}

bool sv_job_events_load(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err)
{
    char path[PATH_MAX];
    struct sl_map map;
    sv_job_path(jobs, job, "events.jsonl", path);
    if (access(path, F_OK) != 0)
        return true;
    if (!sl_map_open(&map, path, err))
        return false;
    size_t at = 0;
    while (at < map.size) {
        const char *stop = memchr(map.data + at, '\n', map.size - at);
        size_t bytes = stop ? (size_t)(stop - map.data) - at : 0;
        if (!stop || !load_line(jobs, job, map.data + at, bytes))
            break;
        at += bytes + 1;
    }
    if (at < map.size)
        truncate_events(path, at);
    sl_map_close(&map);
    return true;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

void sv_job_checkpoint(struct sv_jobs *jobs, struct sv_job *job)
{
    char id[EVENT_ID_MAX], model[2 * SV_MODEL_ID_MAX];
    struct sl_err err;
    struct sl_buffer object = {0};
    struct sl_json_writer writer = {.out = &object}, *json = &writer;
    const struct sv_job_progress *p = &job->progress;
    (void)snprintf(id, sizeof id, "ftckpt-%s-%lld", job->spec.id + strlen("ftjob-"),
                   (long long)p->saved_step);
    (void)snprintf(model, sizeof model, "%s:ckpt-step-%lld", job->spec.name,
                   (long long)p->saved_step);
    sl_json_add(json,
                "{'id':%s,'object':'fine_tuning.job.checkpoint','created_at':%lld,"
                "'fine_tuned_model_checkpoint':%s,'fine_tuning_job_id':%s,'step_number':%lld,"
                "'metrics':{'step':%lld",
                id, (long long)p->saved_at, model, job->spec.id, (long long)p->saved_step,
                (long long)p->saved_step);
    sv_job_add_measure(json, "train_loss", p->train_loss);
    sv_job_add_measure(json, "full_valid_loss", p->validation_loss);
    sv_job_add_measure(json, "full_valid_mean_token_accuracy", p->validation_accuracy);
    sl_json_add(json, "}}");
    bool indexed =
        sl_buffer_check(&object, &err) &&
        sv_state_put(jobs->server->state, SV_CHECKPOINTS, id, job->spec.id, object.data, &err);
    note_written(job, indexed, &err);
    sl_buffer_release(&object);
}
