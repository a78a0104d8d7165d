/* job_data.c - the files that a job trains on: uploaded ones, and those of data_directory. */
#include "jobs/job_data.h"
#include "base/file.h"
#include "core/options.h"
#include "jobs/job_paths.h"
#include "sluice/dataset.h"
#include "state/file_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char local[] = "local:";

static bool is_inside(const char *path, const char *directory)
{
    size_t bytes = strlen(directory);
    return strncmp(path, directory, bytes) == 0 && path[bytes] == '/';
}

/* Links are followed before the check, so that none leads out of the directory. */
static bool find_local(const struct sv_jobs *jobs, const char *name, const char *param,
                       char data[static PATH_MAX], struct sv_error *error)
{
    char wanted[2 * PATH_MAX], directory[PATH_MAX];
    struct stat status;
    const char *allowed = jobs->server->options->data_directory;
    if (!allowed[0])
        return sv_fail(
            error, SV_INVALID_VALUE, param,
            "This daemon has no data_directory, so local: files cannot be used; upload the "
            "file.");
    (void)snprintf(wanted, sizeof wanted, "%s/%s", allowed, name);
    if (name[0] && realpath(allowed, directory) && realpath(wanted, data) &&
        is_inside(data, directory) && stat(data, &status) == 0 && S_ISREG(status.st_mode))
        return true;
    return sv_fail(error, SV_FILE_NOT_FOUND, param,
                   "There is no file 'local:%.200s' in the daemon's data_directory.", name);
}

static bool is_validation(const char *param)
{
    return strcmp(param, "validation_file") == 0;
}

/* path: of the content. A text may hold labelled ones, in fastText's format. */
static bool set_task(const char *name, const char *extension, const char *path, const char *param,
                     struct sv_job_spec *spec, struct sv_error *error)
{
    if (!extension)
        return sv_fail(
            error, SV_INVALID_VALUE, param,
            "The file name '%.200s' must end in .jsonl, .json, .tsv, .csv or .txt; .gz or .xz may "
            "follow.",
            name);
    bool classifies = strncmp(extension, ".txt", 4) != 0 || sl_dataset_is_recognised(path);
    if (is_validation(param) && !classifies)
        return sv_fail(error, SV_INVALID_VALUE, param,
                       "The validation file must hold labelled texts (.jsonl, .tsv, .csv), not a "
                       "plain text.");
    spec->classifies = classifies;
    return true;
}

bool sv_job_data_find(struct sv_jobs *jobs, const char *name, const char *param,
                      struct sv_job_spec *spec, char data[static PATH_MAX], struct sv_error *error)
{
    struct sv_file_info info;
    char extension[SV_FILE_EXTENSION_MAX];
    if (strncmp(name, local, sizeof local - 1) == 0)
        return find_local(jobs, name + sizeof local - 1, param, data, error) &&
               set_task(name, sv_file_extension(data, extension), data, param, spec, error);
    if (!sv_file_find(jobs->server->files, name, param, &info, error) ||
        !set_task(info.filename, sv_file_extension(info.filename, extension), info.path, param,
                  spec, error))
        return false;
    (void)snprintf(data, PATH_MAX, "%s%s", is_validation(param) ? "validation" : "data", extension);
    return true;
}

void sv_job_file_name(const struct sv_jobs *jobs, const char *id,
                      char name[static SV_FILE_NAME_MAX])
{
    struct sv_file_info info;
    struct sv_error ignored;
    bool is_uploaded = strncmp(id, local, sizeof local - 1) != 0 &&
                       sv_file_find(jobs->server->files, id, "training_file", &info, &ignored);
    (void)snprintf(name, SV_FILE_NAME_MAX, "%s", is_uploaded ? info.filename : id);
}

static bool link_one(struct sv_jobs *jobs, const struct sv_job *job, const char *id,
                     const char *data, const char *param, struct sv_error *error)
{
    char path[PATH_MAX];
    struct sl_err err;
    struct sv_file_info info;
    if (!data[0] || data[0] == '/')
        return true;
    sv_job_data_path(jobs, job, data, path);
    if (!sv_file_find(jobs->server->files, id, param, &info, error))
        return false;
    if (link(info.path, path) == 0 || errno == EEXIST)
        return true;
    (void)sl_fail(&err, sl_file_error_code(errno), "link '%s': %s", id, strerrordesc_np(errno));
    return sv_state_fail_disk("The file could not be used", &err, error);
}

bool sv_job_data_link(struct sv_jobs *jobs, const struct sv_job *job, struct sv_error *error)
{
    const struct sv_job_spec *spec = &job->spec;
    return link_one(jobs, job, spec->training_file, spec->data, "training_file", error) &&
           link_one(jobs, job, spec->validation_file, spec->validation, "validation_file", error);
}
