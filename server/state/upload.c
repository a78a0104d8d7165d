/* upload.c - a file on its way from a client to the disk. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "core/options.h"
#include "core/request.h"
#include "state/file_format.h"
#include "state/file_store.h"
#include "state/file_store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct sv_upload {
    struct sv_file_store *store;
    char id[SV_FILE_ID_MAX];
    char directory[SV_FILE_PATH_MAX]; /* under tmp/ */
    int fd;
    int64_t bytes, checked; /* written; when the free space of the disk was looked at last */
    bool published;
};

static bool fail_full(const char *why, struct sv_error *error)
{
    return sv_fail(error, SV_STORAGE_FULL, "file", "%s; delete files that are not needed.", why);
}

static bool has_free_space(const struct sv_upload *upload, struct sv_error *error)
{
    struct statvfs disk;
    const struct sv_options *o = upload->store->server->options;
    if (fstatvfs(upload->fd, &disk) != 0)
        return true;
    int64_t available = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    return available > o->disk_reserve ||
           fail_full("The disk of the state directory is almost full", error);
}

static bool open_content(struct sv_upload *upload, struct sl_err *err)
{
    char path[SV_FILE_PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/content", upload->directory);
    if (mkdir(upload->directory, S_IRWXU) != 0)
        return sl_fail(err, sl_file_error_code(errno), "make directory '%s': %s", upload->directory,
                       strerrordesc_np(errno));
    upload->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return upload->fd >= 0 ||
           sl_fail(err, sl_file_error_code(errno), "create '%s': %s", path, strerrordesc_np(errno));
}

static struct sv_upload *begin_as(struct sv_file_store *store, const char *id,
                                  struct sv_error *error)
{
    struct sl_err err;
    struct sv_upload *upload = sv_new(sizeof *upload, error);
    if (!upload)
        return NULL;
    upload->store = store;
    upload->fd = -1;
    (void)snprintf(upload->id, sizeof upload->id, "%s", id);
    (void)snprintf(upload->directory, sizeof upload->directory, "%s/tmp/%s",
                   sv_state_directory(store->state), upload->id);
    bool ok = true;
    if (atomic_fetch_add(&store->uploads, 1) >= SV_UPLOADS_MAX)
        ok = sv_fail(error, SV_OVERLOADED, NULL, "%d files are being uploaded; retry later.",
                     SV_UPLOADS_MAX);
    if (ok && atomic_load(&store->count) >= SV_FILES_MAX)
        ok = fail_full("The daemon keeps no more files", error);
    ok = ok && (open_content(upload, &err) ||
                sv_state_fail_disk("The file could not be stored", &err, error));
    if (ok && has_free_space(upload, error))
        return upload;
    sv_upload_destroy(upload);
    return NULL;
}

struct sv_upload *sv_upload_begin(struct sv_file_store *store, struct sv_error *error)
{
    char id[SV_FILE_ID_MAX];
    (void)snprintf(id, sizeof id, "file-%016llx", (unsigned long long)sv_next_id(store->server));
    return begin_as(store, id, error);
}

static bool check_size(struct sv_upload *upload, size_t count, struct sv_error *error)
{
    enum { CHECK_BYTES = 4 << 20 };

    const struct sv_options *o = upload->store->server->options;
    if (upload->bytes + (int64_t)count > o->max_upload_bytes)
        return sv_fail(error, SV_BODY_TOO_LARGE, "file",
                       "The file is larger than %lld bytes, the maximum.",
                       (long long)o->max_upload_bytes);
    if (atomic_fetch_add(&upload->store->bytes, (int64_t)count) + (int64_t)count >
        o->max_uploads_total_bytes) {
        atomic_fetch_sub(&upload->store->bytes, (int64_t)count);
        return fail_full("The files would take more room than max_uploads_total_bytes", error);
    }
    upload->bytes += (int64_t)count;
    if (upload->bytes - upload->checked < CHECK_BYTES)
        return true;
    upload->checked = upload->bytes;
    return has_free_space(upload, error);
}

bool sv_upload_write(struct sv_upload *upload, const char *bytes, size_t count,
                     struct sv_error *error)
{
    struct sl_err err;
    if (!check_size(upload, count, error))
        return false;
    while (count > 0) {
        ssize_t written = write(upload->fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            (void)sl_fail(&err, sl_file_error_code(errno), "write '%s/content': %s",
                          upload->directory, strerrordesc_np(errno));
            return sv_state_fail_disk("The file could not be stored", &err, error);
        }
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* What is certain to be useless is refused at once; training reads the rest in full. A name without
 * a format gets the content's. */
static bool check_content(const struct sv_upload *upload, char filename[static SV_FILE_NAME_MAX],
                          struct sv_error *error)
{
    char path[SV_FILE_PATH_MAX + 16];
    struct sl_map map;
    struct sl_err err;
    if (upload->bytes == 0)
        return sv_fail(error, SV_INVALID_VALUE, "file", "The file is empty.");
    (void)snprintf(path, sizeof path, "%s/content", upload->directory);
    if (!sl_map_open(&map, path, &err))
        return sv_state_fail_disk("The file could not be stored", &err, error);
    bool ok = sv_file_format_check(filename, map.data, map.size, error);
    sl_map_close(&map);
    return ok;
}

static void write_object(const struct sv_upload *upload, const char *filename, const char *purpose,
                         struct sl_buffer *out)
{
    struct sl_json_writer json = {.out = out};
    sl_json_add(&json,
                "{'id':%s,'object':'file','bytes':%lld,'created_at':%lld,'filename':%s,"
                "'purpose':%s,'status':'processed'}",
                upload->id, (long long)upload->bytes, (long long)(sl_wall_ns() / 1000000000),
                filename, purpose);
}

static bool publish(struct sv_upload *upload, const char *object, struct sl_err *err)
{
    char path[SV_FILE_PATH_MAX + 16];
    const struct sl_slice slice = {object, strlen(object)};
    (void)snprintf(path, sizeof path, "%s/file.json", upload->directory);
    if (!sl_file_replace(path, &slice, 1, err))
        return false;
    sv_file_path(upload->store, upload->id, "", path);
    if (!sl_directory_publish(upload->directory, path, err))
        return false;
    bool indexed = sv_state_put(upload->store->state, SV_FILES, upload->id, NULL, object, err);
    /* A file that no list has could not be deleted. */
    upload->published = indexed || rename(path, upload->directory) != 0;
    return indexed;
}

bool sv_upload_finish(struct sv_upload *upload, char filename[static SV_FILE_NAME_MAX],
                      const char *purpose, struct sl_buffer *object, struct sv_error *error)
{
    struct sl_err err;
    struct sl_buffer text = {0};
    if (!check_content(upload, filename, error))
        return false;
    write_object(upload, filename, purpose, &text);
    bool ok = (sl_buffer_check(&text, &err) && publish(upload, text.data, &err)) ||
              sv_state_fail_disk("The file could not be stored", &err, error);
    if (ok) {
        atomic_fetch_add(&upload->store->count, 1);
        sl_buffer_append(object, text.data, text.bytes);
    }
    sl_buffer_release(&text);
    return ok;
}

bool sv_file_put(struct sv_file_store *store, const char *id, const char *filename,
                 const char *purpose, const struct sl_buffer *content, struct sv_error *error)
{
    char path[SV_FILE_PATH_MAX];
    struct sl_err err;
    struct sl_buffer object = {0};
    sv_file_path(store, id, "file.json", path);
    if (access(path, F_OK) == 0)
        return true;
    struct sv_upload *upload = begin_as(store, id, error);
    bool ok = upload && sv_upload_write(upload, content->data, content->bytes, error);
    if (ok) {
        write_object(upload, filename, purpose, &object);
        ok = (sl_buffer_check(&object, &err) && publish(upload, object.data, &err)) ||
             sv_state_fail_disk("The file could not be stored", &err, error);
    }
    if (ok)
        atomic_fetch_add(&store->count, 1);
    sv_upload_destroy(upload);
    sl_buffer_release(&object);
    return ok;
}

void sv_upload_destroy(struct sv_upload *upload)
{
    struct sl_err ignored;
    if (!upload)
        return;
    if (upload->fd >= 0)
        (void)close(upload->fd);
    if (!upload->published) {
        (void)!sl_directory_remove(upload->directory, &ignored);
        atomic_fetch_sub(&upload->store->bytes, upload->bytes);
    }
    atomic_fetch_sub(&upload->store->uploads, 1);
    free(upload);
}
