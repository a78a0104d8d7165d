/* file.c - mapped files, and atomic replacement of files and directories. */
#include "base/file.h"
#include "base/buffer.h"
#include "base/clock.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool sl_path_join(char path[SL_PATH_MAX], const char *directory, const char *name,
                  struct sl_err *err)
{
    int length = snprintf(path, SL_PATH_MAX, "%s/%s", directory, name);
    return (length > 0 && length < SL_PATH_MAX) ||
           sl_fail(err, SL_BAD_INPUT, "the path of '%s' is longer than %d bytes", name,
                   SL_PATH_MAX - 1);
}

bool sl_path_find(char path[SL_PATH_MAX], const char *directory, const char *name)
{
    struct sl_err ignored;
    return sl_path_join(path, directory, name, &ignored) && access(path, F_OK) == 0;
}

enum sl_code sl_file_error_code(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR: return SL_NOT_FOUND;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return SL_NO_SPACE;
    default: return SL_IO;
    }
}

void sl_output_streams_open(void)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        int null = open("/dev/null", O_WRONLY); /* children have it, too */
        if (null >= 0 && null != fd) {
            (void)dup2(null, fd);
            (void)close(null);
        }
    }
}

/* An error about a path, from errno. */
static bool fail_errno(struct sl_err *err, const char *step, const char *path)
{
    int number = errno;
    const char *why = strerrordesc_np(number);
    sl_fail(err, sl_file_error_code(number), "%s", why ? why : "unknown error");
    sl_err_set_path(err, path);
    return sl_wrap(err, "cannot %s '%s'", step, path);
}

/* The same about a directory entry. */
static bool fail_entry(struct sl_err *err, const char *step, const char *path, const char *name)
{
    char whole[PATH_MAX];
    int number = errno;
    (void)snprintf(whole, sizeof whole, "%s/%s", path, name);
    errno = number;
    return fail_errno(err, step, whole);
}

static bool fail_kind(struct sl_err *err, const char *path, const char *what)
{
    sl_fail(err, SL_BAD_INPUT, "%s", what);
    sl_err_set_path(err, path);
    return sl_wrap(err, "'%s'", path);
}

static bool fail_long(struct sl_err *err, const char *path)
{
    return sl_fail(err, SL_BAD_INPUT, "path of %zu bytes is too long: '%s'", strlen(path), path);
}

/* ---- reading ------------------------------------------------------------------------------ */

static const char *irregular(const struct stat *status)
{
    return S_ISDIR(status->st_mode)    ? "a directory, not a file"
           : S_ISFIFO(status->st_mode) ? "a pipe, which is not read: write it to a file first"
                                       : "not a regular file";
}

/* The size of a file that is to be read. */
static bool size_of(int fd, const char *path, size_t *size, struct sl_err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail_errno(err, "stat", path);
    *size = (size_t)status.st_size;
    return S_ISREG(status.st_mode) || fail_kind(err, path, irregular(&status));
}

static bool map_descriptor(struct sl_map *map, int fd, const char *path, struct sl_err *err)
{
    size_t size = 0;
    if (!size_of(fd, path, &size, err))
        return false;
    void *data = NULL;
    if (size > 0) {
        data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            return fail_errno(err, "map", path);
    }
    *map = (struct sl_map){.data = data, .size = size};
    return true;
}

bool sl_map_open(struct sl_map *map, const char *path, struct sl_err *err)
{
    assert(map);
    assert(path);
    /* NONBLOCK: a named pipe without a writer is refused below instead of waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(err, "open", path);
    bool ok = map_descriptor(map, fd, path, err);
    (void)close(fd);
    return ok;
}

/* Reads the whole file into fresh pages. */
static bool copy_descriptor(struct sl_map *map, int fd, const char *path, struct sl_err *err)
{
    size_t size = 0, read_bytes = 0;
    if (!size_of(fd, path, &size, err))
        return false;
    *map = (struct sl_map){.size = size};
    if (size == 0)
        return true;
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return fail_errno(err, "allocate memory for", path);
    (void)madvise(data, size, MADV_HUGEPAGE); /* a hint: fewer page faults */
    map->data = data;
    while (read_bytes < size) {
        ssize_t got = read(fd, data + read_bytes, size - read_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, "read", path);
        if (got == 0)
            return fail_kind(err, path, "the file became shorter while it was read");
        read_bytes += (size_t)got;
    }
    return true;
}

bool sl_map_copy(struct sl_map *map, const char *path, struct sl_err *err)
{
    *map = (struct sl_map){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 && errno == ELOOP)
        return fail_kind(err, path, "a symbolic link, not a file");
    if (fd < 0)
        return fail_errno(err, "open", path);
    bool ok = copy_descriptor(map, fd, path, err);
    (void)close(fd);
    if (!ok)
        sl_map_close(map);
    return ok;
}

void sl_map_close(struct sl_map *map)
{
    assert(map);
    if (map->data)
        (void)munmap((void *)(uintptr_t)map->data, map->size);
    *map = (struct sl_map){0};
}

/* ---- durability -------------------------------------------------------------------- */

static bool sync_path(const char *path, int flags, struct sl_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return fail_errno(err, "open", path);
    bool ok = fsync(fd) == 0 || fail_errno(err, "fsync", path);
    (void)close(fd);
    return ok;
}

/* The directory of a path; false: it is too long. */
static bool parent_of(const char *path, char parent[PATH_MAX], struct sl_err *err)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length >= PATH_MAX)
        return fail_long(err, path);
    memcpy(parent, path, length);
    parent[length] = '\0';
    if (length == 0)
        memcpy(parent, ".", 2);
    return true;
}

/* A new name is durable only after an fsync of its directory. */
static bool sync_parent(const char *path, struct sl_err *err)
{
    char parent[PATH_MAX];
    return parent_of(path, parent, err) && sync_path(parent, O_DIRECTORY, err);
}

/* ---- replacing a file ---------------------------------------------------------------------- */

static bool write_slice(int fd, const struct sl_slice *slice, const char *path, struct sl_err *err)
{
    const char *data = slice->data;
    size_t left = slice->size;
    while (left > 0) {
        ssize_t n = write(fd, data, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "write", path);
        data += n;
        left -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const char *path, const struct sl_slice *slices, int count,
                      struct sl_err *err)
{
    for (int i = 0; i < count; i++)
        if (!write_slice(fd, &slices[i], path, err))
            return false;
    /* It is readable by the owner only; the directory decides who may read it. */
    if (fchmod(fd, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0)
        return fail_errno(err, "chmod", path);
    return fsync(fd) == 0 || fail_errno(err, "fsync", path);
}

/* A file on its way to a path. */
struct fresh_file {
    int fd;
    bool has_name;
    char name[PATH_MAX]; /* which it has, or will have */
};

/* Without a name until it is whole: a process that is killed leaves nothing behind. Where the file
 * system has no such files, one with a name of its own. */
static bool fresh_open(struct fresh_file *f, const char *path, struct sl_err *err)
{
    char parent[PATH_MAX];
    if (!parent_of(path, parent, err))
        return false;
    f->fd = access("/proc/self/fd", X_OK) == 0
                ? open(parent, O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR)
                : -1;
    f->has_name = f->fd < 0;
    const int length = f->has_name ? snprintf(f->name, sizeof f->name, "%s.XXXXXX", path)
                                   : snprintf(f->name, sizeof f->name, "%s.%d-%llx", path, gettid(),
                                              (unsigned long long)sl_now_ns());
    if (length < 0 || (size_t)length >= sizeof f->name) {
        if (!f->has_name)
            (void)close(f->fd);
        return fail_long(err, path);
    }
    if (f->has_name)
        f->fd = mkostemp(f->name, O_CLOEXEC);
    return f->fd >= 0 || fail_errno(err, "create", path);
}

static bool fresh_set_name(struct fresh_file *f, const char *path, struct sl_err *err)
{
    char own[32];
    if (f->has_name)
        return true;
    (void)snprintf(own, sizeof own, "/proc/self/fd/%d", f->fd);
    f->has_name = linkat(AT_FDCWD, own, AT_FDCWD, f->name, AT_SYMLINK_FOLLOW) == 0;
    return f->has_name || fail_errno(err, "create", path);
}

bool sl_file_replace(const char *path, const struct sl_slice *slices, int count, struct sl_err *err)
{
    assert(path);
    assert(slices || count == 0);
    struct fresh_file fresh;
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return fail_kind(err, path, "exists and is not a regular file");
    if (!fresh_open(&fresh, path, err))
        return false;
    bool ok = write_all(fresh.fd, path, slices, count, err) && fresh_set_name(&fresh, path, err);
    if (close(fresh.fd) != 0 && ok)
        ok = fail_errno(err, "close", path);
    if (ok && rename(fresh.name, path) != 0)
        ok = fail_errno(err, "rename to", path);
    if (!ok && fresh.has_name)
        (void)unlink(fresh.name);
    if (!ok)
        return false;
    return sync_parent(path, err);
}

/* ---- directories --------------------------------------------------------------------------- */

static bool make_one(const char *path, struct sl_err *err)
{
    struct stat status;
    if (mkdir(path, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) == 0)
        return true;
    if (errno != EEXIST)
        return fail_errno(err, "make directory", path);
    if (stat(path, &status) != 0)
        return fail_errno(err, "stat", path);
    return S_ISDIR(status.st_mode) ||
           sl_fail(err, SL_IO, "make directory '%s': a file of that name exists", path);
}

bool sl_directory_make(const char *path, struct sl_err *err)
{
    assert(path);
    char partial[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof partial)
        return fail_long(err, path);
    memcpy(partial, path, length + 1);
    for (size_t i = 1; i < length; i++) {
        if (partial[i] != '/')
            continue;
        partial[i] = '\0';
        if (!make_one(partial, err))
            return false;
        partial[i] = '/';
    }
    return make_one(partial, err);
}

/* The length of a path of that many bytes without its last component. */
static size_t bytes_above(const char *path, size_t bytes)
{
    while (bytes > 0 && path[bytes - 1] != '/')
        bytes--;
    while (bytes > 0 && path[bytes - 1] == '/')
        bytes--;
    return bytes;
}

size_t sl_path_there(const char *path)
{
    char part[SL_PATH_MAX];
    size_t bytes = strlen(path);
    if (bytes >= sizeof part)
        return 0;
    memcpy(part, path, bytes + 1);
    while (bytes > 0 && access(part, F_OK) != 0) {
        bytes = bytes_above(part, bytes);
        part[bytes] = '\0';
    }
    return bytes;
}

void sl_directory_remove_empty(const char *path, size_t there)
{
    char part[SL_PATH_MAX];
    (void)snprintf(part, sizeof part, "%s", path);
    size_t bytes = strlen(part);
    while (bytes > there && (rmdir(part) == 0 || errno == ENOENT)) {
        bytes = bytes_above(part, bytes);
        part[bytes] = '\0';
    }
}

/* Calls f with the directory's descriptor and the name of each entry but "." and "..". */
static bool for_each_entry(DIR *directory, const char *path,
                           bool (*f)(int fd, const char *path, const char *name,
                                     struct sl_err *err),
                           struct sl_err *err)
{
    for (;;) {
        errno = 0;
        /* Safe: the DIR is local. */
        /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
        const struct dirent *entry = readdir(directory);
        if (!entry)
            return errno == 0 || fail_errno(err, "list", path);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!f(dirfd(directory), path, entry->d_name, err))
            return false;
    }
}

/* Opens a directory for listing; NULL with errno set. Does not follow a symbolic link. */
static DIR *open_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *directory = fdopendir(fd);
    if (!directory)
        (void)close(fd);
    return directory;
}

static bool sync_entry(int fd, const char *path, const char *name, struct sl_err *err)
{
    int file = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return fail_entry(err, "open", path, name);
    bool ok = fsync(file) == 0 || fail_entry(err, "fsync", path, name);
    (void)close(file);
    return ok;
}

static bool sync_directory(const char *path, struct sl_err *err)
{
    DIR *directory = open_directory(path);
    if (!directory)
        return fail_errno(err, "open directory", path);
    bool ok = for_each_entry(directory, path, sync_entry, err);
    if (ok && fsync(dirfd(directory)) != 0)
        ok = fail_errno(err, "fsync", path);
    (void)closedir(directory);
    return ok;
}

bool sl_directory_publish(const char *tmp, const char *path, struct sl_err *err)
{
    assert(tmp);
    assert(path);
    if (!sync_directory(tmp, err))
        return false;
    bool replaced = false;
    if (rename(tmp, path) != 0) {
        if (errno != ENOTEMPTY && errno != EEXIST)
            return fail_errno(err, "rename to", path);
        if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
            return fail_errno(err, "exchange with", path);
        replaced = true;
    }
    return sync_parent(path, err) && (!replaced || sl_directory_remove(tmp, err));
}

bool sl_directory_publish_new(const char *tmp, const char *path, struct sl_err *err)
{
    assert(tmp);
    assert(path);
    if (!sync_directory(tmp, err))
        return false;
    if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return sync_parent(path, err);
    return errno == EEXIST ? sl_fail(err, SL_BUSY, "'%s' exists already", path)
                           : fail_errno(err, "rename to", path);
}

static bool remove_entry(int fd, const char *path, const char *name, struct sl_err *err)
{
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
        return true;
    return fail_entry(err, "remove", path, name);
}

bool sl_directory_empty(const char *path, struct sl_err *err)
{
    assert(path);
    DIR *directory = open_directory(path);
    if (!directory)
        return errno == ENOENT || fail_errno(err, "open directory", path);
    bool ok = for_each_entry(directory, path, remove_entry, err);
    (void)closedir(directory);
    return ok;
}

bool sl_directory_remove(const char *path, struct sl_err *err)
{
    return sl_directory_empty(path, err) &&
           (rmdir(path) == 0 || errno == ENOENT || fail_errno(err, "remove directory", path));
}

bool sl_file_append(struct sl_buffer *to, const char *path, struct sl_err *err)
{
    struct sl_map map = {0};
    if (!sl_map_open(&map, path, err))
        return false;
    sl_buffer_append(to, map.data, map.size);
    sl_map_close(&map);
    return sl_buffer_check(to, err);
}
