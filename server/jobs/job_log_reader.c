/* job_log_reader.c - what a trainer reports in log.jsonl: progress, events, metrics, the CSV of
 * steps.
 *
 * After an interruption a trainer repeats the steps since its last saved state, with the same
 * bits. Their lines are not reported again. */
#include "jobs/job_log_reader.h"
#include "base/clock.h"
#include "base/comma_list.h"
#include "base/json_writer.h"
#include "jobs/job_events.h"
#include "jobs/job_metrics.h"
#include "jobs/job_paths.h"
#include "jobs/job_record.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 * 1024 };

/* ---- lines of a file ------------------------------------------------------------------------- */

/* Reads whole lines from an offset on. */
struct reader {
    int fd;
    int64_t offset; /* of the next line */
    char bytes[CHUNK_BYTES];
    size_t count, used; /* in `bytes`: read from the file, and given out */
};

static void reader_open(struct reader *reader, const struct sv_jobs *jobs, const struct sv_job *job,
                        int64_t offset)
{
    char path[PATH_MAX];
    sv_job_path(jobs, job, "run/log.jsonl", path);
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    reader->offset = offset;
    reader->count = reader->used = 0;
}

static void reader_close(struct reader *reader)
{
    if (reader->fd >= 0)
        (void)close(reader->fd);
}

static bool refill(struct reader *reader)
{
    ssize_t count = reader->fd < 0
                        ? -1
                        : pread(reader->fd, reader->bytes, sizeof reader->bytes, reader->offset);
    reader->count = count > 0 ? (size_t)count : 0;
    reader->used = 0;
    return count > 0;
}

/* NULL: there is no further whole line yet. A line longer than a chunk is skipped. */
static const char *next_line(struct reader *reader, size_t *bytes)
{
    for (int tries = 0; tries < 2; tries++) {
        const char *line = reader->bytes + reader->used;
        const char *stop = memchr(line, '\n', reader->count - reader->used);
        if (stop) {
            *bytes = (size_t)(stop - line);
            reader->used += *bytes + 1;
            reader->offset += (int64_t)*bytes + 1;
            return line;
        }
        if (reader->used == 0 && reader->count == sizeof reader->bytes)
            reader->offset += CHUNK_BYTES;
        if (tries == 0 && !refill(reader))
            return NULL;
    }
    return NULL;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Between two events of a kind are at least this many steps. */
static int64_t stride(int64_t steps)
{
    int64_t stride = steps / SV_JOB_EVENTS_OF_A_KIND;
    return stride > 0 ? stride : 1;
}

static void start_from(struct sv_job_progress *p, const struct sv_trainer_log_line *line)
{
    p->steps = line->steps;
    p->remarks = line->remark_count;
}

static void advance(struct sv_job_progress *p, const struct sv_trainer_log_line *line)
{
    p->train_loss = line->train_loss;
    p->tokens_per_second = line->tokens_per_second;
    p->steps = line->steps;
    if (line->step > p->step)
        p->step = line->step;
    if (line->trained_tokens > p->tokens)
        p->tokens = line->trained_tokens;
    p->ends_at = isfinite(line->seconds_left) && line->time > 0
                     ? line->time + (int64_t)ceil(line->seconds_left)
                     : 0;
}

static void write_data(const struct sv_job_progress *p, const struct sv_trainer_log_line *line,
                       struct sl_buffer *out)
{
    struct sl_json_writer writer = {.out = out}, *json = &writer;
    sl_json_add(json, "{'step':%lld,'total_steps':%lld", (long long)line->step,
                (long long)line->steps);
    sv_job_add_measure(json, "train_loss", line->train_loss);
    sv_job_add_measure(json, "train_accuracy", line->train_accuracy);
    sv_job_add_measure(json, "valid_loss", line->validation_loss);
    sv_job_add_measure(json, "valid_mean_token_accuracy", line->validation_accuracy);
    sv_job_add_measure(json, "tokens_per_second", line->tokens_per_second);
    sv_job_add_measure(json, "seconds_left", line->seconds_left);
    sl_json_add(json, "'trained_tokens':%lld}", (long long)p->tokens);
}

/* "validation loss=0.5", after a comma. */
static void add_measure(char *list, size_t size, const char *name, double value)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%s=%.4f", name, value);
    if (isfinite(value))
        (void)sl_list_add(list, size, text);
}

static void report_metrics(struct sv_jobs *jobs, struct sv_job *job,
                           const struct sv_trainer_log_line *line)
{
    char measures[SV_TRAINER_RECIPE_MAX + 128] = "";
    struct sl_buffer data = {0};
    write_data(&job->progress, line, &data);
    add_measure(measures, sizeof measures, "training loss", line->train_loss);
    add_measure(measures, sizeof measures, "validation loss", line->validation_loss);
    add_measure(measures, sizeof measures, "validation accuracy", line->validation_accuracy);
    if (line->recipe[0])
        (void)sl_list_add(measures, sizeof measures, line->recipe);
    if (!data.failed)
        sv_job_event(jobs, job, "info", data.data, "Step %lld/%lld: %s", (long long)line->step,
                     (long long)line->steps, measures);
    sl_buffer_release(&data);
}

/* A kind of event at a step: true if it is due, and the first at this step. */
static bool is_due(int64_t *last, const struct sv_trainer_log_line *line)
{
    bool due = line->step > *last &&
               (line->step >= *last + stride(line->steps) || line->step == line->steps);
    *last = due ? line->step : *last;
    return due;
}

static void on_evaluated(struct sv_jobs *jobs, struct sv_job *job,
                         const struct sv_trainer_log_line *line, bool is_news)
{
    struct sv_job_progress *p = &job->progress;
    p->validation_loss = line->validation_loss;
    p->validation_accuracy = line->validation_accuracy;
    if (is_due(&p->evaluated, line) && is_news)
        report_metrics(jobs, job, line);
}

static void on_saved(struct sv_jobs *jobs, struct sv_job *job,
                     const struct sv_trainer_log_line *line, bool is_news)
{
    struct sv_job_progress *p = &job->progress;
    p->saved_step = line->step;
    p->saved_at = line->time;
    if (line->step == 0 || !is_due(&p->saved, line))
        return;
    sv_job_checkpoint(jobs, job);
    if (is_news)
        sv_job_event(jobs, job, "info", NULL, "New checkpoint saved at step %lld",
                     (long long)line->step);
}

/* What was assumed of the data and what may be wrong with it, in the trainer's words. The next
 * trainer of the job says it, too. */
static void report_data(struct sv_jobs *jobs, struct sv_job *job,
                        const struct sv_trainer_log_line *line)
{
    for (int i = job->progress.remarks; i < line->remark_count; i++)
        sv_job_event(jobs, job, line->remarks[i].is_warning ? "warn" : "info", NULL, "%s",
                     line->remarks[i].text);
}

static void on_started(struct sv_jobs *jobs, struct sv_job *job,
                       const struct sv_trainer_log_line *line, bool is_news)
{
    if (is_news)
        report_data(jobs, job, line);
    start_from(&job->progress, line);
    if (is_news && line->step > 0)
        sv_job_event(jobs, job, "info", NULL, "Training continues from step %lld",
                     (long long)line->step);
}

static void on_line(struct sv_jobs *jobs, struct sv_job *job,
                    const struct sv_trainer_log_line *line, bool is_news)
{
    struct sv_job_progress *p = &job->progress;
    switch (line->event) {
    case SV_TRAINER_STARTED: on_started(jobs, job, line, is_news); return;
    case SV_TRAINER_STEP:
        advance(p, line);
        if (is_due(&p->shown, line) && is_news)
            report_metrics(jobs, job, line);
        return;
    case SV_TRAINER_EVALUATED:
        advance(p, line);
        on_evaluated(jobs, job, line, is_news);
        return;
    case SV_TRAINER_SAVED: on_saved(jobs, job, line, is_news); return;
    case SV_TRAINER_FAILED:
    case SV_TRAINER_PUBLISHED:
    case SV_TRAINER_ENDED:
    case SV_TRAINER_EVENTS: return;
    }
}

void sv_job_read_log(struct sv_jobs *jobs, struct sv_job *job)
{
    struct reader reader;
    struct sv_trainer_log_line line;
    const char *text;
    size_t bytes;
    bool any = false;
    reader_open(&reader, jobs, job, job->run.log_offset);
    while ((text = next_line(&reader, &bytes))) {
        bool is_news = job->run.log_offset >= job->run.event_offset;
        job->run.log_offset = reader.offset;
        any = true;
        if (sv_trainer_log_line_read(text, bytes, &line))
            on_line(jobs, job, &line, is_news);
    }
    reader_close(&reader);
    if (!any || sv_job_phase_has_ended(job->phase))
        return;
    sv_job_set_metrics(jobs, job);
    int64_t now = sl_now_ns();
    if (now - job->indexed_ns < 1000000000)
        return;
    job->indexed_ns = now;
    sv_job_index(jobs, job);
}

/* ---- the CSV --------------------------------------------------------------------------------- */

static void add_cell(struct sl_buffer *out, double value)
{
    if (isfinite(value))
        sl_buffer_printf(out, ",%.6g", value);
    else
        sl_buffer_append(out, ",", 1);
}

static void add_row(struct sl_buffer *out, const struct sv_trainer_log_line *row)
{
    if (row->step == 0)
        return;
    sl_buffer_append_int(out, row->step);
    add_cell(out, row->train_loss);
    add_cell(out, row->train_accuracy);
    add_cell(out, row->validation_loss);
    add_cell(out, row->validation_accuracy);
    sl_buffer_append(out, "\n", 1);
}

/* An evaluation belongs to the row of its step. */
bool sv_job_write_csv(struct sv_jobs *jobs, const struct sv_job *job, struct sl_buffer *out)
{
    struct reader reader;
    struct sv_trainer_log_line line, row = {0};
    const char *text;
    size_t bytes;
    int64_t last = 0;
    sl_buffer_append_string(
        out, "step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy\n");
    reader_open(&reader, jobs, job, 0);
    while ((text = next_line(&reader, &bytes))) {
        if (!sv_trainer_log_line_read(text, bytes, &line))
            continue;
        bool evaluated = line.event == SV_TRAINER_EVALUATED;
        if (evaluated && line.step == row.step)
            row = line;
        else if (line.step > row.step &&
                 (evaluated || (line.event == SV_TRAINER_STEP && is_due(&last, &line)))) {
            add_row(out, &row);
            row = line;
        }
    }
    add_row(out, &row);
    reader_close(&reader);
    return !out->failed;
}
