/* lines.h - the lines of a text file, plain or packed: numbered, bounded, and valid UTF-8. */
#pragma once

#include "data/compressed.h"

/* What is read at most; 0 for the standard. */
struct sl_data_limits {
    int64_t file_bytes;  /* of a file when unpacked: 4 GiB */
    size_t record_bytes; /* of a line, and of a record of several: 16 MiB */
};

/* One line, without its end: CR LF, LF, or at the end of a file nothing. The end follows the text:
 * text[bytes] to text[bytes + end_bytes - 1]. Valid until the next line is asked for. */
struct sl_line {
    const char *text; /* NULL past the last */
    size_t bytes, end_bytes;
    int64_t number; /* from 1 */
};

struct sl_lines;

/* called: what errors call the file; NULL: by its path. */
struct sl_lines *sl_lines_open(const char *path, const char *called,
                               const struct sl_data_limits *limits, struct sl_err *err)
    SL_MUST_CHECK;
void sl_lines_close(struct sl_lines *lines); /* NULL is fine */

/* A byte order mark before the first line is passed over. Errors name the file and the line. */
bool sl_lines_next(struct sl_lines *lines, struct sl_line *line, struct sl_err *err) SL_MUST_CHECK;
/* The same, but of the lines that are not empty. */
bool sl_lines_next_full(struct sl_lines *lines, struct sl_line *line, struct sl_err *err)
    SL_MUST_CHECK;
/* Whether the last failure was of one line, too long or not UTF-8: then the next is to be had. */
bool sl_lines_can_go_on(const struct sl_lines *lines);

/* Prefixes err with a place: "'news.csv' line 7". */
bool sl_lines_wrap(const struct sl_lines *lines, int64_t number, struct sl_err *err);

const char *sl_lines_name(const struct sl_lines *lines);
size_t sl_lines_record_bytes(const struct sl_lines *lines); /* the limit */
