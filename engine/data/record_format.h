/* record_format.h - what a format of record files is inside: lines in, rows of fields out.
 *
 * A format is one file in data/ and one row in the table of records.c. */
#pragma once

#include "data/record_reader.h"

enum { SL_CHOSEN_MAX = 17 }; /* a label and 16 columns of text */

/* Bytes that belong to the format, until its next row. */
struct sl_field {
    const char *data; /* NULL: the record has no such field */
    size_t bytes;
};

struct sl_row {
    int64_t line; /* where it begins */
    int count;    /* of fields; 0 past the last row */
    struct sl_field fields[SL_FIELDS_MAX];
};

/* The columns that the caller wants: the label first, or in its place once more the first text. */
struct sl_chosen {
    const char *names[SL_CHOSEN_MAX];
    int count;
    bool unlabelled;
};

struct sl_record_format {
    const char *name;      /* the ending of its files, too */
    const char *separator; /* what stands between fields, as a plural; NULL when keyed */
    bool keyed;            /* rows hold the chosen columns in their order, not all there are */
    size_t size;           /* of its own state, which starts as zeros */
    bool (*open)(void *state, const struct sl_chosen *chosen, struct sl_err *err);
    /* Errors name the place. */
    bool (*next)(void *state, struct sl_line_reader *lines, struct sl_row *row, struct sl_err *err);
    void (*close)(void *state); /* also of a state that did not open */
};

extern const struct sl_record_format sl_record_format_tsv, sl_record_format_csv,
    sl_record_format_jsonl;
