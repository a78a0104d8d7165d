/* publish_model.c - copied under another name, synced, renamed. */
#include "jobs/publish_model.h"
#include "base/file.h"
#include "core/log.h"
#include "core/options.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool copy_file(const char *from, const char *to, struct sl_err *err)
{
    struct sl_map map;
    if (!sl_map_open(&map, from, err))
        return false;
    const struct sl_slice slice = {map.data, map.size};
    bool ok = sl_file_replace(to, &slice, 1, err);
    sl_map_close(&map);
    return ok;
}

/* The plain files of a directory. */
static bool copy_directory(const char *from, const char *to, struct sl_err *err)
{
    char source[2 * PATH_MAX], target[2 * PATH_MAX];
    struct dirent **names;
    if (!sl_directory_remove(to, err) || !sl_directory_make(to, err))
        return false;
    int count = scandir(from, &names, NULL, alphasort);
    bool ok = count >= 0 || sl_fail(err, SL_IO, "list '%s': %s", from, strerrordesc_np(errno));
    for (int i = 0; i < count; i++) {
        if (ok && names[i]->d_name[0] != '.') {
            (void)snprintf(source, sizeof source, "%s/%s", from, names[i]->d_name);
            (void)snprintf(target, sizeof target, "%s/%s", to, names[i]->d_name);
            ok = copy_file(source, target, err);
        }
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return ok;
}

/* Whether two directories hold the same model: a manifest has the digests of all files. */
static bool is_same_model(const char *a, const char *b)
{
    char path[2 * PATH_MAX];
    struct sl_map one = {0}, other = {0};
    struct sl_err err;
    (void)snprintf(path, sizeof path, "%s/manifest.json", a);
    bool same = sl_map_open(&one, path, &err);
    (void)snprintf(path, sizeof path, "%s/manifest.json", b);
    same = same && sl_map_open(&other, path, &err) && one.size == other.size && one.size > 0 &&
           memcmp(one.data, other.data, one.size) == 0;
    sl_map_close(&one);
    sl_map_close(&other);
    return same;
}

bool sv_job_publish(struct sv_jobs *jobs, const struct sv_job_spec *spec, struct sl_err *err)
{
    char model[PATH_MAX], directory[PATH_MAX], path[PATH_MAX + 32], tmp[PATH_MAX + 64];
    struct sl_err ignored;
    (void)snprintf(model, sizeof model, "%s/jobs/%s/model/1",
                   sv_state_directory(jobs->server->state), spec->id);
    (void)snprintf(directory, sizeof directory, "%s/%s", jobs->server->options->store, spec->name);
    (void)snprintf(path, sizeof path, "%s/%lld", directory, (long long)spec->version);
    (void)snprintf(tmp, sizeof tmp, "%s/.%s.tmp", directory, spec->id);
    if (!sl_directory_make(directory, err))
        return false;
    if (is_same_model(model, path))
        return sl_directory_remove(tmp, err);
    if (copy_directory(model, tmp, err) && sl_directory_publish_new(tmp, path, err))
        return true;
    (void)!sl_directory_remove(tmp, &ignored);
    return false;
}

void sv_job_withdraw(struct sv_jobs *jobs, const struct sv_job_spec *spec)
{
    char path[PATH_MAX + 32];
    struct sl_err err;
    (void)snprintf(path, sizeof path, "%s/%s/%lld", jobs->server->options->store, spec->name,
                   (long long)spec->version);
    if (!sl_directory_remove(path, &err))
        SV_LOG(SV_LOG_WARN, "remove", sv_str("path", path), sv_str("reason", err.text));
}
