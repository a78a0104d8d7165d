/* file_store_internal.h - what file_store.c and upload.c share. */
#pragma once

#include "core/limits.h"
#include "core/server.h"

#include <stdatomic.h>

enum { SV_FILE_PATH_MAX = SV_STATE_PATH_MAX + 64 };

struct sv_file_store {
    struct sv_state *state;
    struct sv_server *server;
    atomic_int_least64_t bytes; /* of all files, those being uploaded among them */
    atomic_int count, uploads;
};

/* files/<id>, or files/<id>/<name> unless the name is "". */
void sv_file_path(const struct sv_file_store *store, const char *id, const char *name,
                  char path[static SV_FILE_PATH_MAX]);
