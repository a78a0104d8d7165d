/* file_kind.h - what a file is that is no UTF-8 text, by its first bytes, and what to do then. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sl_file_kind {
    const char *name;    /* "a Parquet file" */
    const char *way_out; /* "write it as JSON Lines, ..." */
    bool is_text;        /* it can be read, but has a syntax of its own, such as HTML */
};

/* NULL: perhaps a text. bytes: SL_FILE_KIND_BYTES, or the whole file if it is shorter. */
const struct sl_file_kind *sl_file_kind_find(const char *beginning, size_t bytes);

enum { SL_FILE_KIND_BYTES = 4096 };

/* How to convert a text that is no UTF-8, in words. text: from the first byte that is wrong on, as
 * much as there is. */
const char *sl_file_encoding(const char *text, size_t bytes);
