/* compressed.h - reads plain, gzip and xz files; the format is detected by the first bytes.
 *
 * All members of a gzip file and all streams of an xz file are read. Truncated files, trailing data
 * and files that unpack to more than the limit are errors. */
#pragma once

#include "base/file.h"

#include <stdint.h>

/* A file read from front to back. One thread at a time. */
struct sl_source;

/* called: the file's name in errors; NULL: its path. bytes_max: limit of the unpacked size; 0 for
 * 4 GiB. */
struct sl_source *sl_source_open(const char *path, const char *called, int64_t bytes_max,
                                 struct sl_err *err) SL_MUST_CHECK;
void sl_source_close(struct sl_source *source); /* NULL is fine */

/* Fills a buffer; *got is less than `bytes` only at the end of the file. Errors do not name the
 * file. After an error only closing is allowed. */
bool sl_source_read(struct sl_source *source, char *buffer, size_t bytes, size_t *got,
                    struct sl_err *err) SL_MUST_CHECK;

/* A whole file: mapped if it is plain, whatever its size, else unpacked in memory. */
struct sl_unpacked {
    const char *data; /* NULL when it is empty */
    size_t size;
    struct sl_map map; /* either this holds the data */
    char *memory;      /* or this */
};

bool sl_unpacked_open(struct sl_unpacked *file, const char *path, struct sl_err *err) SL_MUST_CHECK;
void sl_unpacked_close(struct sl_unpacked *file); /* a zeroed one is fine */
