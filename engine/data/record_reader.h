/* record_reader.h - labelled texts read one by one from TSV, CSV or JSON Lines, plain or packed.
 *
 *   TSV         a record per line, fields separated by tabs; quotes are text like any other
 *   CSV         RFC 4180: commas, "quoted, fields", "doubled "" quotes", line breaks in quotes
 *   JSON Lines  an object per line
 *
 * Empty lines are passed over, but within a CSV field's quotes.
 *
 * Every error names the file, the line and the column, says what was found and what would do. */
#pragma once

#include "data/line_reader.h"

#include "sluice/model.h"

enum { SL_FIELDS_MAX = 1024 };

/* Which columns to read. They are chosen by name, and then the first line of a TSV or CSV file is
 * one of names; or by number, from 1, and then it is not. Several text columns, as in
 * "title,description", are joined by a space, empty ones passed over. JSON Lines always have
 * names. */
struct sl_record_options {
    const char *format; /* "tsv", "csv", "jsonl"; NULL: by the name of the file */
    const char *label;  /* NULL: "label" */
    const char *text;   /* NULL: "text" */
    bool unlabelled;    /* of no label: no column is looked for, and records have none */
    struct sl_data_limits limits;
};

/* Valid until the next record is asked for. */
struct sl_record {
    int64_t line;      /* where it begins, from 1 */
    const char *label; /* 1 to SL_LABEL_BYTES_MAX bytes, no NUL among them; NULL: unlabelled */
    size_t label_bytes;
    const char *text; /* 1 byte or more of UTF-8; NULL past the last record */
    size_t text_bytes;
};

struct sl_record_reader;

struct sl_record_reader *sl_record_reader_open(const char *path,
                                               const struct sl_record_options *options,
                                               struct sl_err *err) SL_MUST_CHECK;
void sl_record_reader_close(struct sl_record_reader *records); /* NULL is fine */

bool sl_record_reader_next(struct sl_record_reader *records, struct sl_record *record,
                           struct sl_err *err) SL_MUST_CHECK;
