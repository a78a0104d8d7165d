/* run_dir.c - claims a run's directory: checks its contents, locks it, cleans up.
 *
 * The lock is on the directory itself, so no lock file can become stale. */
#include "train/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The entries of a run's directory; the last is a state whose writer died. */
static const char *const members[] = {"state", "log.jsonl", "state.sluice-tmp"};

static bool is_member(const char *name)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i], name) == 0)
            return true;
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Finds an entry that does not belong to a run. */
static bool find_foreign_entry(const char *path, char name[NAME_MAX + 1], struct sl_err *err)
{
    DIR *directory = opendir(path);
    name[0] = '\0';
    if (!directory)
        return errno == ENOENT || sl_fail(err, errno == ENOTDIR ? SL_BAD_INPUT : SL_IO,
                                          "cannot open '%s': %s", path, strerrordesc_np(errno));
    /* The stream is local. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *e; !name[0] && (e = readdir(directory));)
        if (!is_member(e->d_name))
            (void)snprintf(name, NAME_MAX + 1, "%s", e->d_name);
    (void)closedir(directory);
    return true;
}

/* Checks whether there is a run, as the caller expects: before the directory is created, so that
 * nothing is created in vain, and again under the lock. */
static bool check(const struct sl_run_dir *run, bool resume, struct sl_err *err)
{
    char foreign[NAME_MAX + 1];
    bool holds = access(run->state, F_OK) == 0;
    if (resume)
        return holds ||
               sl_fail(err, SL_NOT_FOUND,
                       "nothing to resume in '%s'; leave out --resume to start a run", run->path);
    if (holds)
        return sl_fail(
            err, SL_BAD_INPUT,
            "'%s' already holds a run; continue it with --resume, or choose another directory",
            run->path);
    if (!find_foreign_entry(run->path, foreign, err))
        return false;
    return !foreign[0] ||
           sl_fail(err, SL_BAD_INPUT,
                   "'%s' contains '%s', which does not belong to a run; choose a directory that is "
                   "new, empty or holds a run",
                   run->path, foreign);
}

/* File systems without locks are accepted. */
static bool take(struct sl_run_dir *run, struct sl_err *err)
{
    int fd = open(run->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sl_fail(err, errno == ENOTDIR ? SL_BAD_INPUT : SL_IO, "cannot open '%s': %s",
                       run->path, strerrordesc_np(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
        run->lock = fd;
        return true;
    }
    (void)close(fd);
    run->there = strlen(run->path); /* the directory is locked now: keep it even if it is empty */
    return sl_fail(err, SL_BUSY, "another process is training in '%s'", run->path);
}

/* A model's directory with other files in it can no longer be loaded. */
static bool check_above(const struct sl_run_dir *run, struct sl_err *err)
{
    char above[SL_PATH_MAX], manifest[SL_PATH_MAX];
    (void)snprintf(above, sizeof above, "%.*s", (int)run->there, run->path);
    if (run->there == 0)
        return true;
    if (!sl_manifest_path(manifest, above, err))
        return false;
    return access(manifest, F_OK) != 0 ||
           sl_fail(err, SL_BAD_INPUT,
                   "'%s' is inside '%s', which holds a model; choose another directory", run->path,
                   above);
}

bool sl_run_dir_open(struct sl_run_dir *run, const char *path, bool resume, struct sl_err *err)
{
    *run = (struct sl_run_dir){0};
    if (!sl_path_join(run->state, path, "state", err))
        return false;
    (void)snprintf(run->path, sizeof run->path, "%s", path);
    run->there = strlen(path);
    if (access(path, F_OK) != 0) {
        if (!check(run, resume, err))
            return false;
        run->there = sl_path_there(path);
        if (!check_above(run, err) || !sl_directory_make(path, err))
            return false;
    }
    return take(run, err) && check(run, resume, err);
}

void sl_run_dir_close(struct sl_run_dir *run)
{
    sl_directory_remove_empty(run->path, run->there);
    if (run->lock > 0)
        (void)close(run->lock);
    *run = (struct sl_run_dir){0};
}
