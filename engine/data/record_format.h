/* record_format.h - a file format of records: reads lines, returns rows of fields.
 *
 * A format is one file in data/ and one row in the table of record_reader.c. */
#pragma once

#include "data/line_reader.h"

enum {
    SL_FIELDS_MAX = 1024, /* of a row */
    SL_CHOSEN_MAX = 17    /* selected columns: a label and 16 columns of text */
};

/* The bytes belong to the format and are valid until its next row. */
struct sl_field {
    const char *data; /* NULL: the record has no such field */
    size_t bytes;
};

struct sl_row {
    int64_t line; /* where it begins */
    int count;    /* of fields; 0 past the last row */
    struct sl_field fields[SL_FIELDS_MAX];
    bool is_list; /* the label's field is a list, of these: */
    const struct sl_field *list;
    int list_count;
};

/* The selected columns: the label first (unlabelled: the first text column once more), then the
 * text columns. */
struct sl_chosen {
    const char *names[SL_CHOSEN_MAX];
    int count;
    bool unlabelled;
};

struct sl_record_format {
    const char *name;      /* also the file extension */
    const char *separator; /* of fields, in plural, for errors; NULL when keyed */
    const char *too_many;  /* how a row may get too many fields, for errors; NULL: no idea */
    bool keyed;            /* rows hold the selected columns only, in their order */
    size_t size;           /* of its state, which starts as zeros */
    bool (*open)(void *state, const struct sl_chosen *chosen, struct sl_err *err);
    /* Errors name file, line and column. */
    bool (*next)(void *state, struct sl_line_reader *lines, struct sl_row *row, struct sl_err *err);
    void (*close)(void *state); /* also after open failed */
};

extern const struct sl_record_format sl_record_format_tsv, sl_record_format_csv,
    sl_record_format_jsonl;
