/* job_state_machine.c - what happens in each phase of a job. Every step can be repeated: after a
 * crash it is, and finds what the first time left. */
#include "jobs/job_state_machine.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/model_names.h"
#include "core/log.h"
#include "core/options.h"
#include "jobs/job_events.h"
#include "jobs/job_log_reader.h"
#include "jobs/job_metrics.h"
#include "jobs/job_object.h"
#include "jobs/job_paths.h"
#include "jobs/job_record.h"
#include "jobs/promote_model.h"
#include "jobs/publish_model.h"
#include "jobs/trainer_command.h"
#include "jobs/trainer_failure.h"
#include "state/file_store.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MS = 1000000 };

static void enter(struct sv_jobs *jobs, struct sv_job *job, enum sv_job_phase phase)
{
    job->phase = phase;
    sv_job_keep(jobs, job);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Its phase is that of its end already, so that the last events find room. */
static void end(struct sv_jobs *jobs, struct sv_job *job)
{
    job->finished_at = sl_wall_ns() / 1000000000;
    sv_job_keep(jobs, job);
    sv_job_drop_metrics(jobs, job);
    sv_job_count_end(jobs, job->phase);
    SV_LOG(SV_LOG_INFO, "job ended", sv_str("job", job->spec.id),
           sv_str("status", sv_job_status(job->phase, SV_DESIRED_RUNNING)),
           sv_str("model", job->spec.name), sv_int("version", job->spec.version));
}

void sv_job_fail(struct sv_jobs *jobs, struct sv_job *job, const char *code, const char *param,
                 const char *message)
{
    (void)snprintf(job->error.code, sizeof job->error.code, "%s", code);
    (void)snprintf(job->error.param, sizeof job->error.param, "%s", param ? param : "");
    (void)snprintf(job->error.message, sizeof job->error.message, "%s", message);
    job->phase = SV_JOB_FAILED;
    sv_job_undo_pin(jobs, job);
    sv_job_event(jobs, job, "error", NULL, "The job failed: %s", message);
    end(jobs, job);
}

/* path: in the job's directory; NULL: it is made here. */
static const struct {
    const char *name, *path;
} results[SV_JOB_RESULTS] = {
    [SV_JOB_METRICS] = {"step_metrics.csv", NULL},
    [SV_JOB_REPORT] = {"report.html", "report/index.html"},
    [SV_JOB_PREDICTIONS] = {"predictions.jsonl", "report/predictions.jsonl"},
};

/* Larger ones are not kept: a list of predictions is about as long as the training file. */
enum { RESULT_BYTES_MAX = 64 << 20 };

/* path: of what the trainer made. */
static bool read_result(const char *path, struct sl_buffer *content)
{
    struct stat found;
    struct sl_err err;
    return stat(path, &found) == 0 && found.st_size <= RESULT_BYTES_MAX &&
           sl_file_append(content, path, &err);
}

static bool put_result(struct sv_jobs *jobs, const struct sv_job *job, enum sv_job_result result,
                       const char *path)
{
    char id[SV_JOB_RESULT_ID_MAX];
    struct sv_error error;
    struct sl_buffer content = {0};
    sv_job_result_id(job, result, id);
    const bool ok = (results[result].path ? read_result(path, &content)
                                          : sv_job_write_csv(jobs, job, &content)) &&
                    sv_file_put(jobs->server->files, id, results[result].name, "fine-tune-results",
                                &content, &error);
    sl_buffer_release(&content);
    return ok;
}

/* Trainings of text generators have metrics only; and not all classifiers a list. */
static bool is_expected(const struct sv_job *job, enum sv_job_result result, const char *path)
{
    return result == SV_JOB_METRICS || (result == SV_JOB_REPORT && job->spec.classifies) ||
           access(path, F_OK) == 0;
}

static void put_results(struct sv_jobs *jobs, struct sv_job *job)
{
    char path[PATH_MAX] = "";
    for (int i = 0; i < SV_JOB_RESULTS; i++) {
        const enum sv_job_result result = (enum sv_job_result)i;
        if (results[i].path)
            sv_job_path(jobs, job, results[i].path, path);
        if (!is_expected(job, result, path))
            continue;
        job->has_result[i] = put_result(jobs, job, result, path);
        if (!job->has_result[i])
            sv_job_event(jobs, job, "warn", NULL, "%s could not be stored", results[i].name);
    }
}

static void succeed(struct sv_jobs *jobs, struct sv_job *job)
{
    char serving[SV_MODEL_ID_MAX], report[SV_JOB_RESULT_ID_MAX];
    put_results(jobs, job);
    job->phase = SV_JOB_SUCCEEDED;
    sv_job_result_id(job, SV_JOB_REPORT, report);
    if (job->has_result[SV_JOB_REPORT])
        sv_job_event(jobs, job, "info", NULL,
                     "The report is a file: `sluicectl files download %s >report.html`", report);
    if (job->spec.promotion == SV_PROMOTE_NEVER && sv_job_find_serving(jobs, job, serving))
        sv_job_event(
            jobs, job, "info", NULL,
            "%s still serves requests that name no version; `sluicectl load %s` changes that",
            serving, job->spec.name);
    sv_job_event(jobs, job, "info", NULL, "The job has successfully completed");
    end(jobs, job);
}

/* ---- what an administrator must mend --------------------------------------------------------- */

/* A full disk, or a store that may not be written: to try again and again is of no use, and nothing
 * of the job must be lost. */
static void pause_until_mended(struct sv_jobs *jobs, struct sv_job *job, const char *reason)
{
    job->run.failures = (struct sv_job_failures){0};
    job->desired = SV_DESIRED_PAUSED;
    size_t bytes = strlen(reason), room = sizeof job->pause_reason - 1;
    bytes -= bytes > 0 && reason[bytes - 1] == '.'; /* the sentence goes on */
    (void)snprintf(job->pause_reason, sizeof job->pause_reason, "%.*s",
                   (int)(bytes < room ? bytes : room), reason);
    SV_LOG(SV_LOG_WARN, "a job is paused until it is resumed", sv_str("job", job->spec.id),
           sv_str("reason", reason));
    enter(jobs, job, SV_JOB_WAITING);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool prepare(struct sv_jobs *jobs, struct sv_job *job)
{
    if (job->desired == SV_DESIRED_PAUSED)
        return false;
    sv_job_event(jobs, job, "info", NULL,
                 "Files found, moving job to queued state; training checks what is in them");
    enter(jobs, job, SV_JOB_WAITING);
    return true;
}

/* ---- training -------------------------------------------------------------------------------- */

void sv_job_begin(struct sv_jobs *jobs, struct sv_job *job)
{
    sv_job_event(jobs, job, "info", NULL, "Fine-tuning job started");
    enter(jobs, job, SV_JOB_TRAINING);
}

/* Tries again from the saved state, later each time; or gives up. */
static void on_failure(struct sv_jobs *jobs, struct sv_job *job, bool disk_is_full,
                       const char *reason)
{
    int64_t wait_ms = sv_job_failed_at(&job->run.failures, job->progress.step);
    if (wait_ms < 0 && disk_is_full) {
        pause_until_mended(jobs, job, reason);
        return;
    }
    if (wait_ms < 0) {
        sv_job_fail(jobs, job, "training_failed", NULL, reason);
        return;
    }
    job->run.try_after_ns = sl_now_ns() + wait_ms * MS;
    sv_job_event(jobs, job, "warn", NULL, "Training was interrupted at step %lld: %s; it %s",
                 (long long)job->progress.step, reason,
                 sv_job_is_automatic(&job->spec) ? "starts again"
                                                 : "continues from the last checkpoint");
}

static void on_stopped(struct sv_jobs *jobs, struct sv_job *job)
{
    if (jobs->stopping)
        sv_job_event(jobs, job, "info", NULL,
                     "The daemon shuts down; training continues when it starts");
    else if (job->desired == SV_DESIRED_PAUSED) {
        sv_job_event(jobs, job, "info", NULL, "Job paused at step %lld",
                     (long long)job->progress.saved_step);
        enter(jobs, job, SV_JOB_WAITING);
    }
}

static void on_exit_of_trainer(struct sv_jobs *jobs, struct sv_job *job, int status)
{
    struct sv_trainer_failure failure;
    bool was_asked = job->run.is_stopping;
    job->run.is_stopping = false;
    sv_job_read_log(jobs, job);
    if (status == 0 && sv_trainer_has_model(jobs, job)) {
        sv_job_event(jobs, job, "info", NULL, "Training has finished at step %lld",
                     (long long)job->progress.step);
        enter(jobs, job, SV_JOB_PUBLISHING);
        return;
    }
    if (was_asked) {
        on_stopped(jobs, job);
        return;
    }
    sv_trainer_failure_find(jobs, job, status, &failure);
    if (failure.is_final)
        sv_job_fail(jobs, job, sv_trainer_failure_code(failure.param), failure.param,
                    failure.reason);
    else
        on_failure(jobs, job, failure.code == SL_NO_SPACE, failure.reason);
}

static bool start_trainer(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sl_err err;
    if (job->desired == SV_DESIRED_PAUSED) { /* between two tries */
        enter(jobs, job, SV_JOB_WAITING);
        return true;
    }
    if (sl_now_ns() < job->run.try_after_ns || sv_trainer_is_locked(jobs, job))
        return false;
    sv_job_read_log(jobs, job);
    /* The last process may have finished the model and been killed before it said so. */
    if (sv_trainer_has_model(jobs, job) && job->progress.saved_step >= job->progress.steps) {
        enter(jobs, job, SV_JOB_PUBLISHING);
        return true;
    }
    if (sv_trainer_start(jobs, job, &err))
        SV_LOG(SV_LOG_INFO, "training", sv_str("job", job->spec.id),
               sv_int("pid", job->run.process.pid), sv_int("step", job->progress.saved_step));
    else
        on_failure(jobs, job, err.code == SL_NO_SPACE, err.text);
    return false;
}

/* A process that a signal such as SIGSTOP has stopped does nothing, and the job would wait for it
 * for ever. (To pause a job is something else.) */
static void end_stopped(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sv_job_run *run = &job->run;
    const int64_t since = run->process.stopped_ns;
    if (since > 0 && !run->stop_reported) {
        sv_job_event(jobs, job, "warn", NULL,
                     "The trainer was stopped by a signal; unless it is continued within %d "
                     "seconds, it is killed",
                     SV_JOB_STOPPED_SECONDS);
        SV_LOG(SV_LOG_WARN, "a trainer was stopped by a signal", sv_str("job", job->spec.id),
               sv_int("pid", run->process.pid), sv_int("killed_after_s", SV_JOB_STOPPED_SECONDS));
    }
    run->stop_reported = since > 0;
    if (since > 0 && sl_now_ns() - since > (int64_t)SV_JOB_STOPPED_SECONDS * 1000 * MS)
        sv_child_process_signal(&run->process, SIGKILL);
}

static bool train(struct sv_jobs *jobs, struct sv_job *job)
{
    int status;
    if (job->run.process.pid == 0)
        return !jobs->stopping && start_trainer(jobs, job);
    sv_job_read_log(jobs, job);
    if (sv_child_process_poll(&job->run.process, &status)) {
        on_exit_of_trainer(jobs, job, status);
        return !jobs->stopping;
    }
    end_stopped(jobs, job);
    if ((job->desired == SV_DESIRED_PAUSED || jobs->stopping) && !job->run.is_stopping) {
        sv_child_process_signal(&job->run.process, SIGTERM);
        sv_child_process_signal(&job->run.process, SIGCONT); /* so that it can save */
        job->run.is_stopping = true;
    }
    return false;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Asks once and takes the answer. True: it is there. */
static bool has_answer(struct sv_jobs *jobs, struct sv_job *job,
                       bool (*ask)(struct sv_jobs *jobs, struct sv_job *job))
{
    if (!job->run.asked)
        (void)!ask(jobs, job);
    if (!job->run.asked || !atomic_load(&job->run.answered))
        return false;
    job->run.asked = false;
    return true;
}

/* The next version of the model. False: the store can hold none, and the job has failed. */
static bool choose_version(struct sv_jobs *jobs, struct sv_job *job)
{
    char model[PATH_MAX];
    (void)snprintf(model, sizeof model, "%s/%s", jobs->server->options->store, job->spec.name);
    int64_t version = sl_version_next(model);
    if (version == 0) {
        sv_job_fail(jobs, job, "publishing_failed", NULL,
                    "the model has the highest possible version already; publish it under "
                    "another name (suffix)");
        return false;
    }
    /* Saved before anything is written, so that a crash does not publish it twice. */
    job->spec.version = version;
    sv_job_keep(jobs, job);
    return true;
}

/* Pins `stable`. That it fails for a model that there is not yet does not matter. */
static bool pin(struct sv_jobs *jobs, struct sv_job *job)
{
    if (!has_answer(jobs, job, sv_job_ask_pin))
        return false;
    if (job->run.answer.kind == SV_INTERNAL) {
        pause_until_mended(jobs, job, job->run.answer.message);
        return true;
    }
    job->run.pinned = true;
    if (job->run.answer.kind == SV_OK && !job->run.was_pinned) {
        job->pins_stable = true;
        sv_job_keep(jobs, job);
    }
    return true;
}

static bool publish(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sl_err err;
    if (!job->run.pinned)
        return pin(jobs, job);
    if (job->spec.version == 0 && !choose_version(jobs, job))
        return true;
    if (job->saves_failed > 0) /* the version must be on the disk first */
        return false;
    pthread_mutex_unlock(&jobs->lock);
    bool ok = sv_job_publish(jobs, &job->spec, &err);
    pthread_mutex_lock(&jobs->lock);
    if (ok) {
        sv_job_event(jobs, job, "info", NULL, "New model created: %s@%lld", job->spec.name,
                     (long long)job->spec.version);
        enter(jobs, job, SV_JOB_LOADING);
    } else if (err.code == SL_BUSY)
        job->spec.version = 0;
    else if (err.code == SL_NO_SPACE || err.code == SL_IO)
        pause_until_mended(jobs, job, err.text);
    else
        sv_job_fail(jobs, job, "publishing_failed", NULL, err.text);
    return true;
}

static bool load(struct sv_jobs *jobs, struct sv_job *job)
{
    if (!has_answer(jobs, job, sv_job_ask_load))
        return false;
    if (job->run.answer.kind != SV_OK) {
        pthread_mutex_unlock(&jobs->lock);
        sv_job_withdraw(jobs, &job->spec);
        pthread_mutex_lock(&jobs->lock);
        sv_job_fail(jobs, job, SV_JOB_LOAD_FAILED, NULL, job->run.answer.message);
    } else if (job->spec.promotion == SV_PROMOTE_NEVER ||
               !sv_job_find_serving(jobs, job, job->run.serving))
        succeed(jobs, job);
    else
        enter(jobs, job,
              job->spec.promotion == SV_PROMOTE_CANARY ? SV_JOB_PROMOTING : SV_JOB_MEASURING);
    return true;
}

/* ---- promotion ------------------------------------------------------------------------------- */

/* Reads what an evaluation wrote. Higher is better. */
static bool read_score(const struct sv_jobs *jobs, const struct sv_job *job, double *score)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    double loss, accuracy;
    sv_job_path(jobs, job, SV_TRAINER_OUTPUT, path);
    if (!sl_map_open(&map, path, &err))
        return false;
    bool ok = map.size > 0 && sv_evaluation_read(map.data, map.size, &loss, &accuracy);
    sl_map_close(&map);
    if (ok)
        *score = isfinite(accuracy) ? accuracy : -loss;
    return ok;
}

static void stay(struct sv_jobs *jobs, struct sv_job *job, const char *reason)
{
    sv_job_event(jobs, job, "warn", NULL, "Not promoted: %s", reason);
    succeed(jobs, job);
}

static void compare(struct sv_jobs *jobs, struct sv_job *job)
{
    const double *score = job->run.score;
    bool better = score[0] >= score[1] + job->spec.margin && score[0] > score[1];
    char needed[32] = "a higher score";
    if (job->spec.margin > 0)
        (void)snprintf(needed, sizeof needed, "%.4g more", job->spec.margin);
    sv_job_event(jobs, job, "info", NULL,
                 "%s: on the validation data the new version scores %.4f and %s %.4f; promotion "
                 "takes %s",
                 better ? "Better" : "Not promoted", score[0], job->run.serving, score[1], needed);
    if (better)
        enter(jobs, job, SV_JOB_PROMOTING);
    else
        succeed(jobs, job);
}

static bool measure(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sv_job_run *run = &job->run;
    struct sv_trainer_failure failure;
    struct sl_err err;
    int status;
    if (jobs->stopping && run->process.pid == 0)
        return false;
    if (run->process.pid == 0) {
        if (!sv_job_find_serving(jobs, job, run->serving))
            succeed(jobs, job);
        else if (!sv_evaluation_start(jobs, job, run->measured, &err))
            stay(jobs, job, err.text);
        return sv_job_phase_has_ended(job->phase);
    }
    if (jobs->stopping)
        sv_child_process_signal(&run->process, SIGKILL);
    if (!sv_child_process_poll(&run->process, &status) || jobs->stopping) {
        end_stopped(jobs, job);
        return false;
    }
    if (status != 0 || !read_score(jobs, job, &run->score[run->measured])) {
        sv_trainer_failure_find(jobs, job, status, &failure);
        stay(jobs, job, failure.reason);
    } else if (++run->measured == 2)
        compare(jobs, job);
    return true;
}

static bool promote(struct sv_jobs *jobs, struct sv_job *job)
{
    if (!has_answer(jobs, job, sv_job_ask_promotion))
        return false;
    if (job->run.answer.kind != SV_OK) {
        stay(jobs, job, job->run.answer.message);
        return true;
    }
    sv_job_audit_promotion(jobs, job);
    if (job->spec.promotion == SV_PROMOTE_CANARY)
        sv_job_event(jobs, job, "info", NULL, "Promoted: %s@%lld is the canary and gets %lld %%",
                     job->spec.name, (long long)job->spec.version, (long long)job->spec.weight);
    else
        sv_job_event(jobs, job, "info", NULL, "Promoted: %s@%lld serves %s", job->spec.name,
                     (long long)job->spec.version, job->spec.name);
    succeed(jobs, job);
    return true;
}

bool sv_job_step(struct sv_jobs *jobs, struct sv_job *job)
{
    int status;
    if (job->saves_failed > 0 && sl_now_ns() >= job->save_again_ns)
        sv_job_keep(jobs, job);
    switch (job->phase) {
    case SV_JOB_PREPARING: return prepare(jobs, job);
    case SV_JOB_WAITING: return false;
    case SV_JOB_TRAINING: return train(jobs, job);
    case SV_JOB_PUBLISHING: return publish(jobs, job);
    case SV_JOB_LOADING: return load(jobs, job);
    case SV_JOB_MEASURING: return measure(jobs, job);
    case SV_JOB_PROMOTING: return promote(jobs, job);
    case SV_JOB_SUCCEEDED:
    case SV_JOB_FAILED:
    case SV_JOB_CANCELLED:
    case SV_JOB_PHASES: break;
    }
    (void)sv_child_process_poll(&job->run.process, &status); /* of a job that was cancelled */
    return false;
}
