/* manifest.c - sizes and digests of files, written after them and checked before them. */
#include "checkpoint/manifest.h"

#include "base/model_names.h"
#include "base/sha256.h"
#include "formats/json_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_BYTES_MAX = 1 << 16 };

static const char manifest_name[] = "manifest.json";

static const char suffix[] = SL_VERSION_UNFINISHED_SUFFIX;

bool sl_manifest_path(char path[SL_PATH_MAX], const char *directory, struct sl_err *err)
{
    return sl_path_join(path, directory, manifest_name, err);
}

/* -- writing --------------------------------------------------------------------------- */

static bool is_at(int fd, const char *path)
{
    struct stat opened, there;
    return fstat(fd, &opened) == 0 && lstat(path, &there) == 0 && opened.st_dev == there.st_dev &&
           opened.st_ino == there.st_ino;
}

/* Opens and locks a directory; -1 with errno if that fails, and EWOULDBLOCK if another has it. A
 * file system without locks is taken as it is. */
static int directory_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        (void)close(fd);
        errno = EWOULDBLOCK;
        return -1;
    }
    return fd;
}

static void directory_unlock(int *lock)
{
    if (*lock >= 0)
        (void)close(*lock);
    *lock = -1;
}

/* Another writer may move or remove the directory between two steps; then it is made again. */
static bool writer_lock(struct sl_manifest_writer *w, const char *directory, struct sl_err *err)
{
    enum { ATTEMPTS = 8 };

    for (int i = 0; i < ATTEMPTS; i++) {
        if (!sl_directory_make(w->tmp, err))
            return false;
        w->lock = directory_lock(w->tmp);
        if (w->lock >= 0 && is_at(w->lock, w->tmp))
            return true;
        if (w->lock < 0 && errno == EWOULDBLOCK)
            break;
        if (w->lock < 0 && errno != ENOENT)
            return sl_fail(err, SL_IO, "cannot open '%s': %s", w->tmp, strerrordesc_np(errno));
        directory_unlock(&w->lock);
    }
    return sl_fail(err, SL_BUSY,
                   "another process is writing '%s'; wait for it or choose another directory",
                   directory);
}

bool sl_manifest_begin(struct sl_manifest_writer *writer, const char *directory, struct sl_err *err)
{
    writer->lock = -1;
    /* "x/" and "x" are the same directory, but not with a suffix. */
    size_t bytes = strlen(directory);
    while (bytes > 1 && directory[bytes - 1] == '/')
        bytes--;
    int length = snprintf(writer->tmp, SL_PATH_MAX, "%.*s%s", (int)bytes, directory, suffix);
    if (length <= 0 || length >= SL_PATH_MAX)
        return sl_fail(err, SL_BAD_INPUT, "the path of a directory is longer than %d bytes",
                       SL_PATH_MAX - (int)sizeof suffix);
    if (!sl_manifest_may_replace(directory, err) || !writer_lock(writer, directory, err))
        return false;
    if (sl_directory_empty(writer->tmp, err))
        return true;
    directory_unlock(&writer->lock);
    return false;
}

bool sl_manifest_add(const char *tmp, const char *name, char *text, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    bool ok = text && sl_path_join(path, tmp, name, err);
    if (ok) {
        const struct sl_slice slice = {.data = text, .size = strlen(text)};
        ok = sl_file_replace(path, &slice, 1, err);
    }
    free(text);
    return ok || sl_wrap(err, "'%s'", name);
}

/* The manifest's entry for one file. */
static json_t *member_describe(const char *directory, const char *name, struct sl_err *err)
{
    char path[SL_PATH_MAX], hex[65];
    struct sl_map map = {0};
    if (!sl_path_join(path, directory, name, err) || !sl_map_open(&map, path, err))
        return NULL;
    sl_sha256_hex(map.data, map.size, hex);
    json_t *entry = json_pack("{s:I, s:s}", "size", (json_int_t)map.size, "sha256", hex);
    sl_map_close(&map);
    if (!entry)
        sl_fail(err, SL_NO_MEMORY, "no memory for a manifest");
    return entry;
}

static char *manifest_print(const char *directory, const struct sl_manifest *m, struct sl_err *err)
{
    json_auto_t *files = json_object();
    for (int i = 0; i < m->count; i++) {
        json_t *entry = member_describe(directory, m->members[i].name, err);
        if (!entry)
            return NULL;
        if (json_object_set_new(files, m->members[i].name, entry) != 0) {
            sl_fail(err, SL_NO_MEMORY, "no memory for a manifest");
            return NULL;
        }
    }
    json_auto_t *root = json_pack("{s:s, s:I, s:O}", "format", sl_format, "created",
                                  (json_int_t)m->created, "files", files);
    if (root)
        return sl_json_print(root, 15, err);
    sl_fail(err, SL_NO_MEMORY, "no memory for a manifest");
    return NULL;
}

/* The directory that is replaced is at `tmp` until it is removed. It is locked, too: otherwise a
 * writer that begins then would lose its files. */
bool sl_manifest_commit(struct sl_manifest_writer *writer, const char *directory,
                        const struct sl_manifest *manifest, struct sl_err *err)
{
    char *text = manifest_print(writer->tmp, manifest, err);
    if (!sl_manifest_add(writer->tmp, manifest_name, text, err))
        return false;
    int replaced = directory_lock(directory);
    bool ok = sl_directory_publish(writer->tmp, directory, err);
    directory_unlock(&replaced);
    if (ok)
        directory_unlock(&writer->lock);
    return ok;
}

void sl_manifest_abandon(struct sl_manifest_writer *writer)
{
    bool removed = sl_directory_remove(writer->tmp, NULL);
    (void)removed; /* if not, the next begin tries again and reports the error */
    directory_unlock(&writer->lock);
}

/* -- reading --------------------------------------------------------------------------- */

static bool is_member(const struct sl_manifest *m, const char *name)
{
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->members[i].name, name) == 0)
            return true;
    return false;
}

static bool is_expected(const struct sl_manifest *m, const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, manifest_name) == 0 ||
           is_member(m, name);
}

static bool fail_list(const char *directory, struct sl_err *err)
{
    sl_fail(err, SL_IO, "%s", strerrordesc_np(errno));
    sl_err_set_path(err, directory);
    return sl_wrap(err, "cannot open '%s'", directory);
}

/* Fails for a file that is not in the manifest. */
static bool check_surplus(const struct sl_manifest *m, const char *directory, struct sl_err *err)
{
    DIR *dir = opendir(directory);
    if (!dir)
        return fail_list(directory, err);
    bool ok = true;
    /* The stream is local. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *e; ok && (e = readdir(dir));)
        if (!is_expected(m, e->d_name))
            ok = sl_fail(err, SL_CORRUPT, "file '%s' is not in the manifest", e->d_name);
    (void)closedir(dir);
    return ok;
}

/* Checks that the manifest's files are exactly the members. */
static bool check_names(const struct sl_manifest *m, json_t *files, struct sl_err *err)
{
    const char *name;
    json_t *entry;
    json_object_foreach (files, name, entry) {
        if (!is_member(m, name))
            return sl_fail(err, SL_CORRUPT, "the manifest lists the unexpected file '%.255s'",
                           name);
        if (!json_is_object(entry))
            return sl_fail(err, SL_CORRUPT,
                           "the manifest's entry of '%s' is %s: expected an object", name,
                           sl_json_type(entry));
    }
    for (int i = 0; i < m->count; i++)
        if (!json_object_get(files, m->members[i].name))
            return sl_fail(err, SL_CORRUPT, "file '%s' is missing from the manifest",
                           m->members[i].name);
    return true;
}

static bool member_check(struct sl_manifest_file *member, json_t *entry, struct sl_err *err)
{
    static const char *const keys[] = {"size", "sha256", NULL};
    static const char changed[] =
        "the file is damaged or was changed: copy or publish the model again";
    int64_t size;
    const char *sha256 = sl_json_text(entry, "sha256", err);
    if (!sha256 || !sl_json_keys(entry, keys, err) ||
        !sl_json_whole(entry, "size", (struct sl_bounds){0, INT64_MAX}, &size, err))
        return sl_wrap(err, "the manifest's entry");
    if ((uint64_t)size != member->map.size)
        return sl_fail(err, SL_CORRUPT, "%s (%zu bytes, expected %" PRId64 ")", changed,
                       member->map.size, size);
    sl_sha256_hex(member->map.data, member->map.size, member->sha256);
    return strcmp(sha256, member->sha256) == 0 ||
           sl_fail(err, SL_CORRUPT, "%s (SHA-256 %s, expected %.64s)", changed, member->sha256,
                   sha256);
}

static bool member_open(struct sl_manifest_file *member, const char *directory, json_t *files,
                        struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_join(path, directory, member->name, err))
        return false;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return sl_fail(err, SL_NOT_FOUND,
                       "the model is incomplete: it has no %s; copy or publish it again",
                       member->name);
    if (!sl_map_copy(&member->map, path, err))
        return false;
    return member_check(member, json_object_get(files, member->name), err) ||
           sl_wrap(err, "'%s'", member->name);
}

/* The "files" of the manifest; *root owns them. */
static json_t *manifest_read(struct sl_manifest *m, const char *directory, json_t **root,
                             struct sl_err *err)
{
    static const char *const keys[] = {"format", "created", "files", NULL};
    static const struct sl_bounds any_time = {0, INT64_MAX};
    char path[SL_PATH_MAX];
    struct sl_map map = {0};
    if (!sl_manifest_path(path, directory, err) || !sl_map_copy(&map, path, err))
        return NULL;
    json_t *files = NULL;
    if (map.size > MANIFEST_BYTES_MAX)
        sl_fail(err, SL_CORRUPT, "%zu bytes: expected at most %d", map.size, MANIFEST_BYTES_MAX);
    else if ((*root = sl_json_parse(map.data, map.size, err)) && sl_json_format(*root, err) &&
             sl_json_keys(*root, keys, err) &&
             sl_json_whole(*root, "created", any_time, &m->created, err))
        files = sl_json_object(*root, "files", err);
    sl_map_close(&map);
    if (!files)
        sl_wrap(err, "'%s'", manifest_name);
    return files;
}

bool sl_manifest_open(const char *directory, struct sl_manifest *manifest, struct sl_err *err)
{
    json_auto_t *root = NULL;
    json_t *files = manifest_read(manifest, directory, &root, err);
    bool ok = files && check_names(manifest, files, err) && check_surplus(manifest, directory, err);
    for (int i = 0; i < manifest->count && ok; i++)
        ok = member_open(&manifest->members[i], directory, files, err);
    if (!ok)
        sl_manifest_close(manifest);
    return ok;
}

/* -- what may be replaced ---------------------------------------------------------- */

/* Finds an entry that is neither the manifest nor named in it; false with err when the directory
 * cannot be listed. */
static bool find_foreign_entry(const char *directory, const json_t *files, char name[NAME_MAX + 1],
                               struct sl_err *err)
{
    DIR *dir = opendir(directory);
    name[0] = '\0';
    if (!dir)
        return errno == ENOENT || fail_list(directory, err);
    /* The stream is local. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *e; !name[0] && (e = readdir(dir));) {
        bool ours = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
                    (files && strcmp(e->d_name, manifest_name) == 0) ||
                    json_object_get(files, e->d_name);
        if (!ours)
            (void)snprintf(name, NAME_MAX + 1, "%s", e->d_name);
    }
    (void)closedir(dir);
    return true;
}

bool sl_manifest_may_replace(const char *directory, struct sl_err *err)
{
    json_auto_t *root = NULL;
    struct sl_manifest manifest = {0};
    char foreign[NAME_MAX + 1];
    json_t *files = manifest_read(&manifest, directory, &root, NULL);
    if (!find_foreign_entry(directory, files, foreign, err))
        return false;
    return !foreign[0] ||
           sl_fail(
               err, SL_BAD_INPUT,
               "'%s' contains '%s', which sluice did not write: choose a directory that does not "
               "exist, is empty, or was written by sluice",
               directory, foreign);
}

void sl_manifest_close(struct sl_manifest *manifest)
{
    for (int i = 0; i < manifest->count; i++)
        sl_map_close(&manifest->members[i].map);
}
