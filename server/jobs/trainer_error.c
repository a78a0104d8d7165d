/* trainer_error.c - errors of `sluice train` in words of the API: files as the client named them,
 * and settings instead of options. */
#include "jobs/job.h"
#include "state/file_store.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_BYTES = 64 };

void sv_job_file_name(const struct sv_jobs *jobs, const char *id,
                      char name[static SV_FILE_NAME_MAX])
{
    struct sv_file_info info;
    struct sv_error ignored;
    bool is_uploaded = strncmp(id, "local:", strlen("local:")) != 0 &&
                       sv_file_find(jobs->server->files, id, "training_file", &info, &ignored);
    (void)snprintf(name, SV_FILE_NAME_MAX, "%s", is_uploaded ? info.filename : id);
}

/* Replaces a path of this machine; false: it is not in the text. */
static bool name_file(const struct sv_jobs *jobs, const struct sv_job *job, const char *id,
                      const char *data, char text[static SV_TRAINER_REASON_MAX])
{
    char path[PATH_MAX], name[SV_FILE_NAME_MAX], rest[SV_TRAINER_REASON_MAX];
    if (!data[0])
        return false;
    sv_job_data_path(jobs, job, data, path);
    char *at = strstr(text, path);
    if (!at)
        return false;
    sv_job_file_name(jobs, id, name);
    (void)snprintf(rest, sizeof rest, "%s", at + strlen(path));
    (void)snprintf(at, SV_TRAINER_REASON_MAX - (size_t)(at - text), "%s%s", name, rest);
    return true;
}

/* The paths in the job's directory become relative to it. */
static void hide_directory(const struct sv_jobs *jobs, const struct sv_job *job,
                           char text[static SV_TRAINER_REASON_MAX])
{
    char directory[PATH_MAX];
    sv_job_path(jobs, job, "", directory);
    size_t bytes = strlen(directory);
    for (char *at = text; (at = strstr(at, directory));)
        if (at[bytes] == '/')
            memmove(at, at + bytes + 1, strlen(at + bytes + 1) + 1);
        else
            at += bytes;
}

/* Options that no setting of a job stands for. */
static bool is_foreign(const char *option)
{
    static const char *const foreign[] = {"labels", "vocab-file", "resume", "overwrite",
                                          "output", "run-dir",    "report", "report-title"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (strcmp(foreign[i], option) == 0)
            return true;
    return false;
}

static size_t option_at(const char *text, char option[static OPTION_BYTES])
{
    size_t bytes = strspn(text + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
    bytes = bytes < OPTION_BYTES ? bytes : 0;
    (void)snprintf(option, OPTION_BYTES, "%.*s", (int)bytes, text + 2);
    return bytes;
}

/* Removes advice, the parts between semicolons, that has such an option. The first part says what
 * is wrong and stays. */
static void cut_foreign(char text[static SV_TRAINER_REASON_MAX])
{
    char option[OPTION_BYTES];
    for (char *part = strstr(text, "; "); part;) {
        char *end = strstr(part + 2, "; ");
        size_t bytes = end ? (size_t)(end - part) : strlen(part);
        const char *dashes = memmem(part, bytes, "--", 2);
        if (dashes && option_at(dashes, option) > 0 && is_foreign(option)) {
            memmove(part, part + bytes, strlen(part + bytes) + 1);
            end = part[0] ? part : NULL;
        }
        part = end;
    }
}

/* "--label 1" is label=1, and "--validation FILE" is validation_file. */
static size_t write_setting(const char *at, struct sl_buffer *out)
{
    char option[OPTION_BYTES];
    size_t bytes = option_at(at, option);
    const char *after = at + 2 + bytes;
    bool is_file = strcmp(option, "validation") == 0;
    for (char *c = option; *c; c++)
        *c = *c == '-' ? '_' : *c;
    sl_buffer_append_string(out, is_file ? "validation_file" : option);
    if (strncmp(after, " FILE", 5) == 0)
        return 2 + bytes + 5;
    if (after[0] == ' ' && isdigit((unsigned char)after[1])) {
        sl_buffer_append_string(out, "=");
        return 2 + bytes + 1;
    }
    return 2 + bytes;
}

static void name_settings(char text[static SV_TRAINER_REASON_MAX])
{
    struct sl_buffer out = {0};
    for (const char *at = text; *at;) {
        bool is_quoted = at > text && at[-1] == '\''; /* the user's own words */
        bool is_option =
            !is_quoted && at[0] == '-' && at[1] == '-' && islower((unsigned char)at[2]);
        size_t used = is_option ? write_setting(at, &out) : 1;
        if (!is_option)
            sl_buffer_append(&out, at, 1);
        at += used;
    }
    if (!out.failed && out.data)
        (void)snprintf(text, SV_TRAINER_REASON_MAX, "%s", out.data);
    sl_buffer_release(&out);
}

const char *sv_trainer_error_explain(const struct sv_jobs *jobs, const struct sv_job *job,
                                     char text[static SV_TRAINER_REASON_MAX])
{
    const struct sv_job_spec *spec = &job->spec;
    (void)name_file(jobs, job, spec->training_file, spec->data, text);
    const bool is_validation = name_file(jobs, job, spec->validation_file, spec->validation, text);
    hide_directory(jobs, job, text);
    cut_foreign(text);
    name_settings(text);
    return is_validation ? "validation_file" : "training_file";
}

const char *sv_trainer_error_code(const char *param)
{
    return strcmp(param, "validation_file") == 0 ? "invalid_validation_file"
                                                 : "invalid_training_file";
}
