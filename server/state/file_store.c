/* file_store.c - the files that clients uploaded. */
#include "state/file_store.h"
#include "base/allocate.h"
#include "base/file.h"
#include "core/log.h"
#include "state/file_store_internal.h"
#include "json/json_schema.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths ----------------------------------------------------------------------------------- */

/* Ids of ours only, so no path leaves the directory. */
static bool is_id(const char *id)
{
    static const char letters[] = "0123456789abcdef";
    return strncmp(id, "file-", 5) == 0 && strlen(id) < SV_FILE_ID_MAX && id[5] &&
           !id[5 + strspn(id + 5, letters)];
}

void sv_file_path(const struct sv_file_store *store, const char *id, const char *name,
                  char path[static SV_FILE_PATH_MAX])
{
    (void)snprintf(path, SV_FILE_PATH_MAX, "%s/files/%s%s%s", sv_state_directory(store->state), id,
                   name[0] ? "/" : "", name);
}

static bool fail_unknown(const char *id, const char *param, struct sv_error *error)
{
    return sv_fail(error, SV_FILE_NOT_FOUND, param,
                   "No file has the id '%.64s'; /v1/files and `sluicectl files` list the files.",
                   id);
}

/* ---- files ----------------------------------------------------------------------------------- */

bool sv_file_describe(struct sv_file_store *store, const char *id, const char *param,
                      struct sl_buffer *object, struct sv_error *error)
{
    struct sl_err err;
    if (is_id(id) && sv_state_get(store->state, SV_FILES, id, object, &err))
        return true;
    return fail_unknown(id, param, error);
}

int sv_file_open(struct sv_file_store *store, const char *id, int64_t *bytes,
                 struct sv_error *error)
{
    char path[SV_FILE_PATH_MAX];
    struct stat status;
    int fd = -1;
    sv_file_path(store, id, "content", path);
    if (is_id(id))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) != 0) {
        (void)fail_unknown(id, NULL, error);
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    *bytes = status.st_size;
    return fd;
}

/* Renamed before its files are removed, so that no crash leaves half of it. *taken: the rename was
 * ours; another request may have deleted the file at the same time. */
static bool remove_directory(struct sv_file_store *store, const char *id, bool *taken,
                             struct sl_err *err)
{
    char path[SV_FILE_PATH_MAX], grave[SV_FILE_PATH_MAX];
    sv_file_path(store, id, "", path);
    (void)snprintf(grave, sizeof grave, "%s/tmp/%s.deleted", sv_state_directory(store->state), id);
    *taken = rename(path, grave) == 0;
    if (!*taken)
        return errno == ENOENT || sl_fail(err, sl_file_error_code(errno), "rename '%s': %s", path,
                                          strerrordesc_np(errno));
    return sl_directory_remove(grave, err);
}

static int64_t content_bytes(struct sv_file_store *store, const char *id)
{
    char path[SV_FILE_PATH_MAX];
    struct stat status;
    sv_file_path(store, id, "content", path);
    return stat(path, &status) == 0 ? status.st_size : 0;
}

bool sv_file_delete(struct sv_file_store *store, const char *id, struct sv_error *error)
{
    struct sl_err err;
    struct sl_buffer object = {0};
    bool found = sv_file_describe(store, id, NULL, &object, error), taken;
    sl_buffer_release(&object);
    if (!found)
        return false;
    int64_t bytes = content_bytes(store, id);
    bool removed = remove_directory(store, id, &taken, &err);
    if (taken) {
        atomic_fetch_sub(&store->bytes, bytes);
        atomic_fetch_sub(&store->count, 1);
    }
    if (!removed)
        return sv_state_fail_disk("The file could not be deleted", &err, error);
    /* The directory counts: a full disk must not keep files from being deleted. */
    if (!sv_state_delete(store->state, SV_FILES, id, &err))
        SV_LOG(SV_LOG_ERROR, "a deleted file is still listed", sv_str("file", id),
               sv_str("reason", err.text));
    return taken || fail_unknown(id, NULL, error);
}

/* ---- a file object read back ----------------------------------------------------------------- */

struct object {
    struct sv_string id, filename, purpose;
    int64_t bytes, created_at;
};

#define AT(member) offsetof(struct object, member)

static const struct sv_field object_fields[] = {
    SV_FIELD("id", STRING, AT(id), 0, SV_FILE_ID_MAX, .required = true, .help = "id"),
    SV_IGNORED_FIELD("object", 16),
    SV_FIELD("bytes", INT, AT(bytes), 0, 1e15, .help = "size"),
    SV_FIELD("created_at", INT, AT(created_at), 0, 1e12, .help = "time"),
    SV_FIELD("filename", STRING, AT(filename), 0, SV_FILE_NAME_MAX, .required = true,
             .help = "name"),
    SV_FIELD("purpose", STRING, AT(purpose), 0, SV_FILE_ID_MAX - 1, .required = true,
             .help = "purpose"),
    SV_IGNORED_FIELD("status", 16),
    {.kind = SV_FIELD_END},
};

bool sv_file_find(struct sv_file_store *store, const char *id, const char *param,
                  struct sv_file_info *info, struct sv_error *error)
{
    struct sl_buffer text = {0};
    struct object object = {0};
    struct sv_json_document *document = NULL;
    if (sv_file_describe(store, id, param, &text, error))
        document = sv_json_read(&text, object_fields, NULL, &object, error);
    if (document) {
        sv_file_path(store, id, "content", info->path);
        (void)snprintf(info->filename, sizeof info->filename, "%s", object.filename.data);
        (void)snprintf(info->purpose, sizeof info->purpose, "%s", object.purpose.data);
    }
    sv_json_document_release(document);
    sl_buffer_release(&text);
    return document;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Reads files/<id>/file.json; false if the directory holds no whole file. */
static bool read_object(const struct sv_file_store *store, const char *id, struct sl_buffer *text)
{
    char path[SV_FILE_PATH_MAX];
    struct sl_err err;
    sv_file_path(store, id, "file.json", path);
    return is_id(id) && sl_file_append(text, path, &err) && text->bytes > 0;
}

/* A file's entry in the index; files that only the index knows are forgotten by `forget_others`. */
static bool index_file(struct sv_file_store *store, const char *id, struct sl_err *err)
{
    struct sl_buffer text = {0};
    bool ok = true;
    if (read_object(store, id, &text))
        ok = sv_state_put(store->state, SV_FILES, id, NULL, text.data, err);
    sl_buffer_release(&text);
    return ok;
}

static bool count_file(struct sv_file_store *store, const char *id, struct sl_err *err)
{
    char path[SV_FILE_PATH_MAX];
    (void)err;
    sv_file_path(store, id, "file.json", path);
    if (is_id(id) && access(path, F_OK) == 0) {
        atomic_fetch_add(&store->bytes, content_bytes(store, id));
        atomic_fetch_add(&store->count, 1);
    }
    return true;
}

/* Calls `each` for every entry of a directory. */
static bool for_each_entry(const char *path, struct sv_file_store *store,
                           bool (*each)(struct sv_file_store *store, const char *name,
                                        struct sl_err *err),
                           struct sl_err *err)
{
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    bool ok = count >= 0 || sl_fail(err, SL_IO, "list '%s': %s", path, strerrordesc_np(errno));
    for (int i = 0; i < count; i++) {
        if (ok && names[i]->d_name[0] != '.')
            ok = each(store, names[i]->d_name, err);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return ok;
}

struct lost {
    struct sv_file_store *store;
    struct sl_buffer ids; /* each with its NUL */
};

static void collect_lost(void *context, const char *id, const char *document)
{
    struct lost *lost = context;
    char path[SV_FILE_PATH_MAX];
    (void)document;
    sv_file_path(lost->store, id, "file.json", path);
    if (access(path, F_OK) != 0)
        sl_buffer_append(&lost->ids, id, strlen(id) + 1);
}

static bool forget_lost(struct sv_file_store *store, struct sl_err *err)
{
    struct lost lost = {.store = store};
    struct sv_page page = {.limit = INT32_MAX - 1, .each = collect_lost, .context = &lost};
    bool ok = sv_state_list(store->state, SV_FILES, &page, err);
    for (size_t at = 0; ok && at < lost.ids.bytes; at += strlen(lost.ids.data + at) + 1)
        ok = sv_state_delete(store->state, SV_FILES, lost.ids.data + at, err);
    sl_buffer_release(&lost.ids);
    return ok;
}

static bool remove_leftover(struct sv_file_store *store, const char *name, struct sl_err *err)
{
    char path[2 * SV_FILE_PATH_MAX + 256];
    struct sl_err ignored;
    (void)err;
    (void)snprintf(path, sizeof path, "%s/tmp/%s", sv_state_directory(store->state), name);
    if (!sl_directory_remove(path, &ignored))
        (void)unlink(path);
    return true;
}

/* If the disk is full, the index stays as it was: models are served all the same. */
static void index_files(struct sv_file_store *store, const char *files)
{
    struct sl_err err;
    if (sv_state_begin(store->state, &err) &&
        sv_state_end(store->state,
                     forget_lost(store, &err) && for_each_entry(files, store, index_file, &err),
                     &err))
        return;
    SV_LOG(SV_LOG_ERROR, "the files could not be indexed", sv_str("reason", err.text));
}

struct sv_file_store *sv_file_store_open(struct sv_state *state, struct sv_server *server,
                                         struct sl_err *err)
{
    char files[SV_FILE_PATH_MAX], tmp[SV_FILE_PATH_MAX];
    struct sv_file_store *store = sl_new(sizeof *store, "the files", err);
    if (!store)
        return NULL;
    store->state = state;
    store->server = server;
    (void)snprintf(files, sizeof files, "%s/files", sv_state_directory(state));
    (void)snprintf(tmp, sizeof tmp, "%s/tmp", sv_state_directory(state));
    if (!for_each_entry(tmp, store, remove_leftover, err) ||
        !for_each_entry(files, store, count_file, err)) {
        sv_file_store_close(store);
        return NULL;
    }
    index_files(store, files);
    return store;
}

void sv_file_store_close(struct sv_file_store *store)
{
    free(store);
}
