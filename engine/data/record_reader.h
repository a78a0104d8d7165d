/* record_reader.h - labelled texts read one by one, plain or packed.
 *
 *   tsv       a record per line, fields separated by tabs; quotes as in CSV if the whole file has
 *             them so, and else part of the text
 *   csv       RFC 4180: commas, "quoted, fields", "doubled "" quotes", line breaks in quotes; or
 *             semicolons, if the first line has some and no comma
 *   jsonl     an object per line
 *   json      an array of objects, or objects one after another
 *   fasttext  words that begin with __label__ are labels, all others are the text
 *
 * Objects of JSON have columns, or a shape that other programs write, such as conversations
 * (record_formats.c). Empty lines are skipped, except inside quotes.
 *
 * Every error names the file, the line and the column, what was found and what was expected. */
#pragma once

#include "data/record_format.h"
#include "data/record_options.h"

/* Valid until the next record is read. */
struct sl_record {
    int64_t line; /* where it begins, from 1 */
    /* Each has 1 to SL_LABEL_BYTES_MAX bytes, no NUL. Unlabelled: there is none. */
    const struct sl_field *labels;
    int label_count;
    bool is_multi_label; /* a separator allows for another number than one, or a list has it */
    bool is_list;        /* the labels are in a list */
    const char *text;    /* 1 byte or more of UTF-8; NULL past the last record */
    size_t text_bytes;
};

struct sl_record_reader;

struct sl_record_reader *sl_record_reader_open(const char *path,
                                               const struct sl_record_options *options,
                                               struct sl_err *err) SL_MUST_CHECK;
void sl_record_reader_close(struct sl_record_reader *records); /* NULL is fine */

enum { SL_WHY_BYTES = 96 };

/* How many records were skipped so far, and the line of the first and why. */
struct sl_skipped {
    int64_t records, line;
    char why[SL_WHY_BYTES]; /* "'text' is empty" */
};

/* What had to be assumed. Labels are known to be lists only when all records are read. */
const struct sl_notes *sl_record_reader_notes(const struct sl_record_reader *records);

/* What it reads from, to name file and line in the errors of others. */
const struct sl_line_reader *sl_record_reader_lines(const struct sl_record_reader *records);

struct sl_skipped sl_record_reader_skipped(const struct sl_record_reader *records);

bool sl_record_reader_next(struct sl_record_reader *records, struct sl_record *record,
                           struct sl_err *err) SL_MUST_CHECK;

/* For who looks at a whole file before it is trained on. */
struct sl_record_reader_state {
    /* After a failure. */
    bool can_continue; /* the next record may be read */
    bool lacks_column; /* no record of the file has a column that was chosen */
    /* The columns, as options name them; NULL: the kind of the file says what is read. */
    const char *label, *text;
};

struct sl_record_reader_state sl_record_reader_state(const struct sl_record_reader *records);

/* After a failure, with its error: reads on, if that is possible, and adds to the error which other
 * records are refused, so that all of them can be mended at once. */
bool sl_record_reader_fail_all(struct sl_record_reader *records, struct sl_err *err);
