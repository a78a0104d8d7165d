/* line_reader.h - the lines of a text file, plain or compressed: numbered, bounded, valid UTF-8. */
#pragma once

#include "data/compressed_file.h"

/* Limits; 0 for the default. */
struct sl_data_limits {
    int64_t file_bytes;  /* of a file when unpacked: 4 GiB */
    size_t record_bytes; /* of a line, and of a record of several: 16 MiB */
};

/* One line, without its end: CR LF, LF, or at the end of a file nothing. The end follows the text:
 * text[bytes] to text[bytes + end_bytes - 1]. Valid until the next line is read. */
struct sl_line {
    const char *text; /* NULL past the last */
    size_t bytes, end_bytes;
    int64_t number; /* from 1 */
};

struct sl_line_reader;

/* display_name: the file's name in errors; NULL: its path. */
struct sl_line_reader *sl_line_reader_open(const char *path, const char *display_name,
                                           const struct sl_data_limits *limits, struct sl_err *err)
    SL_MUST_CHECK;
void sl_line_reader_close(struct sl_line_reader *lines); /* NULL is fine */

/* Skips a byte order mark before the first line. Errors name the file and the line. */
bool sl_line_reader_next(struct sl_line_reader *lines, struct sl_line *line, struct sl_err *err)
    SL_MUST_CHECK;
/* The same, but of the lines that are not empty. */
bool sl_line_reader_next_nonempty(struct sl_line_reader *lines, struct sl_line *line,
                                  struct sl_err *err) SL_MUST_CHECK;
/* The next line, or a piece of one that is long: then end_bytes is 0 and the rest follows, with the
 * same number. */
bool sl_line_reader_piece(struct sl_line_reader *lines, struct sl_line *piece, struct sl_err *err)
    SL_MUST_CHECK;
/* Whether the last failure concerned one line, too long or not UTF-8: then reading may go on. */
bool sl_line_reader_can_continue(const struct sl_line_reader *lines);

/* Records path and line in err, and prefixes it with both: "'news.csv' line 7". */
bool sl_line_reader_wrap(const struct sl_line_reader *lines, int64_t number, struct sl_err *err);

const char *sl_line_reader_name(const struct sl_line_reader *lines);
size_t sl_line_reader_record_bytes(const struct sl_line_reader *lines); /* the limit */
