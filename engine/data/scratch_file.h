/* scratch_file.h - memory backed by an unnamed file in TMPDIR (default /tmp), for data that may be
 * larger than the memory. It vanishes when it is closed or the process ends. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

/* Zeroed at first; the owner closes. One thread at a time. */
struct sl_scratch_file {
    void *data; /* read and write; moves when the file grows */
    size_t bytes;
    int descriptor; /* 1 + that of the file; 0: not open */
};

/* Grows the file to at least `bytes`; what is new is zero. The size at least doubles, so that
 * growing piece by piece is cheap. */
bool sl_scratch_file_reserve(struct sl_scratch_file *file, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;
void sl_scratch_file_close(struct sl_scratch_file *file); /* a zeroed one is fine */
