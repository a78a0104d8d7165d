/* compressed_file.h - reads plain, gzip and xz files; the format is detected by the first bytes.
 *
 * All members of a gzip file and all streams of an xz file are read. Truncated files, trailing data
 * and files that unpack to more than the limit are errors. */
#pragma once

#include "base/file.h"

#include <stdint.h>

/* A file read from front to back. One thread at a time. */
struct sl_compressed_reader;

/* display_name: the file's name in errors; NULL: its path. bytes_max: limit of the unpacked size; 0
 * for 4 GiB and, of a packed file, 200 times its size or 64 MiB, whichever is more. */
struct sl_compressed_reader *sl_compressed_reader_open(const char *path, const char *display_name,
                                                       int64_t bytes_max, struct sl_err *err)
    SL_MUST_CHECK;
void sl_compressed_reader_close(struct sl_compressed_reader *source); /* NULL is fine */

/* Fills a buffer; *got is less than `bytes` only at the end of the file. Errors do not name the
 * file. After an error only closing is allowed. */
bool sl_compressed_reader_read(struct sl_compressed_reader *source, char *buffer, size_t bytes,
                               size_t *got, struct sl_err *err) SL_MUST_CHECK;

/* A whole file: mapped if it is plain, whatever its size, else unpacked in memory. */
struct sl_decompressed_file {
    const char *data; /* NULL when it is empty */
    size_t size;
    struct sl_map map; /* either this holds the data */
    char *memory;      /* or this */
};

bool sl_decompressed_file_open(struct sl_decompressed_file *file, const char *path,
                               struct sl_err *err) SL_MUST_CHECK;
void sl_decompressed_file_close(struct sl_decompressed_file *file); /* a zeroed one is fine */
