/* file_store.h - the files that clients uploaded.
 *
 *     <state>/files/<id>/content     the bytes
 *     <state>/files/<id>/file.json   the file object, as clients see it
 *
 * A file is written under tmp/, synced and renamed: it is there whole or not at all. It never
 * changes. Any thread; an upload belongs to one thread at a time. */
#pragma once

#include "core/limits.h"
#include "core/request_error.h"
#include "state/state_directory.h"

#include <stdint.h>

struct sv_server;
struct sv_file_store;
struct sv_upload;

enum { SV_FILE_ID_MAX = 32, SV_FILE_NAME_MAX = 256, SV_FILE_EXTENSION_MAX = 16 }; /* with NUL */

/* Brings the index up to date with the directories. State and server must outlive it; the limits
 * are the server's options. */
struct sv_file_store *sv_file_store_open(struct sv_state *state, struct sv_server *server,
                                         struct sl_err *err) SL_MUST_CHECK;
void sv_file_store_close(struct sv_file_store *store); /* NULL is fine */

/* A file to be written. NULL: too many are being uploaded, or the disk is full. */
struct sv_upload *sv_upload_begin(struct sv_file_store *store, struct sv_error *error);
bool sv_upload_write(struct sv_upload *upload, const char *bytes, size_t count,
                     struct sv_error *error);
/* Syncs, checks and publishes the file, and appends its object to `object`. A name without a format
 * gets that of the content. Waits for the disk. */
bool sv_upload_finish(struct sv_upload *upload, char filename[static SV_FILE_NAME_MAX],
                      const char *purpose, struct sl_buffer *object, struct sv_error *error);
/* Removes what was not published. NULL is fine. */
void sv_upload_destroy(struct sv_upload *upload);

/* These fail with SV_FILE_NOT_FOUND; `param` is the field or path part that named the file. */
bool sv_file_describe(struct sv_file_store *store, const char *id, const char *param,
                      struct sl_buffer *object, struct sv_error *error);
/* Opens the content, read-only; -1 with an error. */
int sv_file_open(struct sv_file_store *store, const char *id, int64_t *bytes,
                 struct sv_error *error);
bool sv_file_delete(struct sv_file_store *store, const char *id, struct sv_error *error);

/* Publishes a file that the daemon made under an id of its own: file-0123456789abcdef. Again is
 * fine. */
bool sv_file_put(struct sv_file_store *store, const char *id, const char *filename,
                 const char *purpose, const struct sl_buffer *content, struct sv_error *error);

struct sv_file_info {
    char path[SV_STATE_PATH_MAX + 64]; /* of the content */
    char filename[SV_FILE_NAME_MAX], purpose[SV_FILE_ID_MAX];
};

bool sv_file_find(struct sv_file_store *store, const char *id, const char *param,
                  struct sv_file_info *info, struct sv_error *error);
