/* job_data.c - the files that a job trains on: uploaded ones, and those of data_directory. */
#include "jobs/job_data.h"
#include "base/file.h"
#include "core/log.h"
#include "core/options.h"
#include "jobs/job_paths.h"
#include "jobs/openai_training_file.h"
#include "state/file_format.h"

#include <errno.h>
#include <fcntl.h>
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

static bool set_task(const char *name, const char *extension, const char *param,
                     struct sv_job_spec *spec, struct sv_error *error)
{
    if (!extension)
        return sv_fail(
            error, SV_INVALID_VALUE, param,
            "The file name '%.200s' must end in .jsonl, .tsv, .csv or .txt; .gz or .xz may "
            "follow.",
            name);
    bool classifies = strncmp(extension, ".txt", 4) != 0;
    if (strcmp(param, "validation_file") == 0 && !classifies)
        return sv_fail(error, SV_INVALID_VALUE, param,
                       "The validation file must hold labelled texts (.jsonl, .tsv, .csv), not a "
                       "plain text.");
    spec->classifies = classifies;
    return true;
}

bool sv_job_data_find(struct sv_jobs *jobs, const char *name, const char *param, const char *as,
                      struct sv_job_spec *spec, char data[static PATH_MAX], struct sv_error *error)
{
    struct sv_file_info info;
    char extension[SV_FILE_EXTENSION_MAX];
    if (strncmp(name, local, sizeof local - 1) == 0)
        return find_local(jobs, name + sizeof local - 1, param, data, error) &&
               set_task(name, sv_file_extension(data, extension), param, spec, error);
    if (!sv_file_find(jobs->server->files, name, param, &info, error) ||
        !set_task(info.filename, sv_file_extension(info.filename, extension), param, spec, error))
        return false;
    (void)snprintf(data, PATH_MAX, "%s%s", as, extension);
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

/* ---- OpenAI's formats ------------------------------------------------------------------------ */

struct output {
    FILE *file;
    int error; /* errno of the first failure; 0: there was none */
};

static bool check_output(struct output *output, bool ok)
{
    output->error = ok || output->error ? output->error : errno;
    return ok;
}

static bool write_line(void *context, const char *line, size_t count)
{
    struct output *output = context;
    return check_output(output, fwrite(line, 1, count, output->file) == count);
}

static void close_synced(struct output *output)
{
    (void)check_output(output, fflush(output->file) == 0 && fsync(fileno(output->file)) == 0);
    (void)check_output(output, fclose(output->file) == 0);
}

static bool fail_conversion(int number, const char *param, struct sv_error *error)
{
    bool is_full = sl_file_error_code(number) == SL_NO_SPACE;
    return sv_fail(error, is_full ? SV_STORAGE_FULL : SV_INTERNAL, param,
                   "The file could not be converted: %s.", strerrordesc_np(number));
}

/* Writes the converted lines beside the file and puts them in its place. */
static bool convert(const char *path, const struct sl_map *map, const char *param,
                    struct sv_error *error)
{
    char fresh[PATH_MAX + 8];
    (void)snprintf(fresh, sizeof fresh, "%s" SV_JOB_UNFINISHED, path);
    struct output output = {.file = fopen(fresh, "we")};
    if (!output.file)
        return fail_conversion(errno, param, error);
    bool ok = sv_openai_training_file_convert(map->data, map->size, write_line, &output, error);
    close_synced(&output);
    ok = ok && output.error == 0 && check_output(&output, rename(fresh, path) == 0);
    if (ok)
        return true;
    if (output.error)
        (void)fail_conversion(output.error, param, error);
    (void)snprintf(error->param, sizeof error->param, "%s", param);
    (void)unlink(fresh);
    return false;
}

static bool prepare_one(const struct sv_jobs *jobs, const struct sv_job_spec *spec,
                        const char *data, const char *param, struct sv_error *error)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    const char *end = strrchr(data, '.');
    if (!end || strcmp(end, ".jsonl") != 0 || data[0] == '/')
        return true;
    (void)snprintf(path, sizeof path, "%s/jobs/%s/%s", sv_state_directory(jobs->server->state),
                   spec->id, data);
    if (!sl_map_open(&map, path, &err))
        return sv_fail(error, SV_INTERNAL, param, "%s.", err.text);
    bool ok = map.size == 0 || !sv_openai_training_file_found(map.data, map.size) ||
              convert(path, &map, param, error);
    sl_map_close(&map);
    return ok;
}

bool sv_job_data_prepare(struct sv_jobs *jobs, const struct sv_job_spec *spec,
                         struct sv_error *error)
{
    return prepare_one(jobs, spec, spec->data, "training_file", error) &&
           prepare_one(jobs, spec, spec->validation, "validation_file", error);
}
