/* trainer_failure.c - why a trainer or an evaluation ended without a result. */
#include "jobs/trainer_failure.h"
#include "base/file.h"
#include "core/log.h"
#include "core/options.h"
#include "jobs/job_data.h"
#include "jobs/job_paths.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { EXIT_NO_SPACE = 3 }; /* of sluice: its report may not have found room either */

/* ---- the report ------------------------------------------------------------------------------ */

/* The last whole line of the output. NULL: it is no report of a failure. */
static json_t *read_report(const struct sv_jobs *jobs, const struct sv_job *job)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err ignored;
    sv_job_path(jobs, job, SV_TRAINER_OUTPUT, path);
    if (!sl_map_open(&map, path, &ignored))
        return NULL;
    const size_t bytes = map.size > 0 ? map.size - 1 : 0; /* without its line break */
    const char *before = bytes > 0 ? memrchr(map.data, '\n', bytes) : NULL;
    const char *line = before ? before + 1 : map.data;
    json_t *report =
        bytes > 0 ? json_loadb(line, (size_t)(map.data + bytes - line), 0, NULL) : NULL;
    sl_map_close(&map);
    const char *event = json_string_value(json_object_get(report, "event"));
    if (event && strcmp(event, "failed") == 0)
        return report;
    json_decref(report);
    return NULL;
}

static const char *text_of(const json_t *report, const char *name)
{
    const char *text = json_string_value(json_object_get(report, name));
    return text ? text : "";
}

/* ---- where ----------------------------------------------------------------------------------- */

/* Paths in errors may have been cut. */
static bool is_file(const struct sv_jobs *jobs, const struct sv_job *job, const char *data,
                    const char *path)
{
    char known[PATH_MAX];
    sv_job_data_path(jobs, job, data, known);
    return data[0] && strncmp(path, known, SL_ERR_PATH_MAX - 1) == 0;
}

/* The end of a path below a directory; NULL: it is elsewhere. */
static const char *below(const char *path, const char *directory)
{
    size_t bytes = strlen(directory);
    return strncmp(path, directory, bytes) == 0 && path[bytes] == '/' ? path + bytes + 1 : NULL;
}

/* Finds the parameter and the name that stand for a path of this machine; name "": none does. */
static const char *name_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *path,
                             char name[static SV_FILE_NAME_MAX])
{
    char directory[PATH_MAX];
    const struct sv_job_spec *spec = &job->spec;
    name[0] = '\0';
    if (!path[0]) /* the settings were checked, so it is what the data contain */
        return "training_file";
    bool is_validation = is_file(jobs, job, spec->validation, path);
    if (is_validation || is_file(jobs, job, spec->data, path)) {
        sv_job_file_name(jobs, is_validation ? spec->validation_file : spec->training_file, name);
        return is_validation ? "validation_file" : "training_file";
    }
    sv_job_path(jobs, job, "", directory);
    const char *own = below(path, directory), *stored = below(path, jobs->server->options->store);
    (void)snprintf(name, SV_FILE_NAME_MAX, "%s", own ? own : stored ? stored : "");
    return NULL;
}

static void use_report(const struct sv_jobs *jobs, const struct sv_job *job, const json_t *report,
                       struct sv_trainer_failure *failure)
{
    char name[SV_FILE_NAME_MAX], line[32] = "";
    const long long number = json_integer_value(json_object_get(report, "line"));
    failure->code = sl_code_find(text_of(report, "code"));
    failure->is_final = failure->code == SL_BAD_INPUT || failure->code == SL_NOT_FOUND ||
                        failure->code == SL_CORRUPT;
    failure->param = name_path(jobs, job, text_of(report, "path"), name);
    if (number > 0)
        (void)snprintf(line, sizeof line, " line %lld", number);
    (void)snprintf(failure->reason, sizeof failure->reason, "%s%s%s%s%s%s", name[0] ? "'" : "",
                   name, name[0] ? "'" : "", name[0] ? line : "", name[0] ? ": " : "",
                   text_of(report, "reason"));
}

/* ---- without a report ------------------------------------------------------------------------ */

static void use_status(const struct sv_jobs *jobs, const struct sv_job *job, int status,
                       struct sv_trainer_failure *failure)
{
    char errors[PATH_MAX];
    const size_t room = sizeof failure->reason;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (WIFSIGNALED(status))
        (void)snprintf(failure->reason, room, "the trainer was killed by signal %d (%s)",
                       WTERMSIG(status), sigdescr_np(WTERMSIG(status)));
    else if (code == SV_EXIT_NOT_STARTED)
        (void)snprintf(failure->reason, room, "the trainer '%.400s' could not be started",
                       jobs->program);
    else if (code == EXIT_NO_SPACE) {
        failure->code = SL_NO_SPACE;
        (void)snprintf(failure->reason, room, "the disk is full");
    } else
        (void)snprintf(failure->reason, room,
                       "the trainer ended without a model, with exit code %d", code);
    sv_job_path(jobs, job, SV_TRAINER_ERRORS, errors);
    SV_LOG(SV_LOG_WARN, "a trainer ended without saying why", sv_str("job", job->spec.id),
           sv_str("how", failure->reason), sv_str("stderr", errors));
}

void sv_trainer_failure_find(const struct sv_jobs *jobs, const struct sv_job *job, int status,
                             struct sv_trainer_failure *failure)
{
    *failure = (struct sv_trainer_failure){.code = SL_OK};
    json_t *report = WIFSIGNALED(status) ? NULL : read_report(jobs, job);
    if (report)
        use_report(jobs, job, report, failure);
    else
        use_status(jobs, job, status, failure);
    json_decref(report);
}

const char *sv_trainer_failure_code(const char *param)
{
    if (!param)
        return "training_failed";
    return strcmp(param, "validation_file") == 0 ? "invalid_validation_file"
                                                 : "invalid_training_file";
}
