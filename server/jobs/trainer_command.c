/* trainer_command.c - the command lines of `sluice train` and `sluice eval` for a job. */
#include "jobs/trainer_command.h"
#include "core/options.h"
#include "jobs/job_paths.h"
#include "jobs/job_settings.h"

#include "sluice/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int count_threads(const struct sv_jobs *jobs)
{
    int half = sl_engine_threads(jobs->server->engine) / 2;
    int64_t asked = jobs->server->options->job_threads;
    return asked > 0 ? (int)asked : half > 0 ? half : 1;
}

static void add_engine(const struct sv_jobs *jobs, struct sv_command_line *line)
{
    const struct sv_options *o = jobs->server->options;
    sv_command_add(line, "--threads=%d", count_threads(jobs));
    if (sv_options_chosen(o->isa))
        sv_command_add(line, "--isa=%s", o->isa);
    if (sv_options_chosen(o->precision) && strcmp(o->precision, "int8") != 0) /* serves only */
        sv_command_add(line, "--precision=%s", o->precision);
}

static void add_path(const struct sv_jobs *jobs, const struct sv_job *job,
                     struct sv_command_line *line, const char *option, const char *name)
{
    char path[PATH_MAX];
    sv_job_data_path(jobs, job, name, path);
    sv_command_add(line, "--%s=%s", option, path);
}

static bool start(struct sv_jobs *jobs, struct sv_job *job, const struct sv_command_line *line,
                  struct sl_err *err)
{
    char errors[PATH_MAX], output[PATH_MAX];
    sv_job_path(jobs, job, SV_TRAINER_ERRORS, errors);
    sv_job_path(jobs, job, SV_TRAINER_OUTPUT, output);
    const struct sv_child_process_options options = {.out = output,
                                                     .err = errors,
                                                     .nice = (int)jobs->server->options->job_nice,
                                                     .cgroup_fd = jobs->cgroup_fd};
    return sv_child_process_start(&job->run.process, line, &options, err);
}

bool sv_trainer_start(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err)
{
    char state[PATH_MAX];
    const struct sv_job_spec *spec = &job->spec;
    const bool automatic = sv_job_is_automatic(spec);
    struct sv_command_line *line = calloc(1, sizeof *line);
    if (!line)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a command line");
    sv_job_path(jobs, job, "run/state", state);
    sv_command_add(line, "%s", jobs->program);
    sv_command_add(line, "train");
    if (!automatic)
        sv_command_add(line, "%s", spec->architecture);
    add_path(jobs, job, line, spec->classifies ? "data" : "corpus", spec->data);
    if (spec->validation[0])
        add_path(jobs, job, line, "validation", spec->validation);
    add_path(jobs, job, line, "run-dir", "run");
    add_path(jobs, job, line, "output", "model/1");
    if (spec->classifies) {
        add_path(jobs, job, line, "report", "report");
        sv_command_add(line, "--report-title=%s", spec->name);
    }
    if (spec->base[0])
        sv_command_add(line, "--init-from=%s/%s", jobs->server->options->store, spec->base);
    if (automatic) /* starts again from nothing */
        sv_command_add(line, "--overwrite");
    else
        sv_command_add(line, "--seed=%lld", (long long)spec->seed);
    add_engine(jobs, line);
    if (access(state, F_OK) == 0)
        sv_command_add(line, "--resume");
    sv_command_add(line, "--json");
    sv_job_settings_add(spec, line);
    bool ok = start(jobs, job, line, err);
    free(line);
    return ok;
}

bool sv_evaluation_start(struct sv_jobs *jobs, struct sv_job *job, int which, struct sl_err *err)
{
    const struct sv_job_spec *spec = &job->spec;
    struct sv_command_line *line = calloc(1, sizeof *line);
    if (!line)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a command line");
    sv_command_add(line, "%s", jobs->program);
    sv_command_add(line, "eval");
    if (which == 0)
        sv_command_add(line, "%s/%s/%lld", jobs->server->options->store, spec->name,
                       (long long)spec->version);
    else
        sv_command_add(line, "%s/%s/%s", jobs->server->options->store, spec->name,
                       strrchr(job->run.serving, '@') + 1);
    add_path(jobs, job, line, spec->classifies ? "data" : "corpus",
             spec->classifies ? spec->validation : spec->data);
    add_engine(jobs, line);
    sv_command_add(line, "--json");
    sv_job_settings_add_reading(spec, line);
    bool ok = start(jobs, job, line, err);
    free(line);
    return ok;
}

bool sv_trainer_is_locked(const struct sv_jobs *jobs, const struct sv_job *job)
{
    char path[PATH_MAX];
    sv_job_path(jobs, job, "run", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        (void)close(fd);
    return locked;
}

bool sv_trainer_has_model(const struct sv_jobs *jobs, const struct sv_job *job)
{
    char path[PATH_MAX];
    sv_job_path(jobs, job, "model/1/manifest.json", path);
    return access(path, F_OK) == 0 && job->progress.steps > 0 &&
           job->progress.step >= job->progress.steps;
}
