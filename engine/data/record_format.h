/* record_format.h - a file format of records: reads lines, returns rows of fields.
 *
 * A format is one file in data/ and one row in the table of record_formats.c. */
#pragma once

#include "data/line_reader.h"
#include "data/notes.h"

enum {
    SL_FIELDS_MAX = 1024,       /* of a row */
    SL_LABEL_COLUMNS_MAX = 256, /* selected: one, or one for each label */
    SL_TEXT_COLUMNS_MAX = 16,
    SL_CHOSEN_MAX = SL_LABEL_COLUMNS_MAX + SL_TEXT_COLUMNS_MAX
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
    bool lacks_column;    /* after a failure: no record of the file has a column that was chosen */
    const char *left_out; /* why the format leaves the record out; NULL: it does not */
    struct sl_notes *notes; /* the reader's */
};

/* The selected columns: the label's first (unlabelled: the first text column once more), then those
 * of the text. */
struct sl_chosen {
    const char *names[SL_CHOSEN_MAX];
    int labels, count; /* labels: how many come first */
    bool unlabelled;
};

struct sl_record_shape;

/* What a format reads; it outlives its state. */
struct sl_record_input {
    const char *path;
    struct sl_data_limits limits;
    struct sl_chosen chosen;
    const struct sl_record_shape *shape; /* NULL: none */
    bool by_lines;                       /* JSON has an object in each line */
    bool skips_incomplete;               /* a record may lack a member if another has it */
};

struct sl_record_format {
    const char *name;
    const char *extensions[4]; /* of files; the first is without a dot */
    const char *separator;     /* of fields, in plural, for errors; NULL when keyed */
    const char *too_many;      /* how a row may get too many fields, for errors; NULL: no idea */
    bool keyed;                /* rows hold the selected columns only, in their order */
    size_t size;               /* of its state, which starts as zeros */
    bool (*open)(void *state, const struct sl_record_input *input, struct sl_err *err);
    /* Errors name file, line and column. */
    bool (*next)(void *state, struct sl_line_reader *lines, struct sl_row *row, struct sl_err *err);
    void (*close)(void *state); /* also after open failed */
};

/* The columns, and what reads them, of a kind of record that other programs write. */
struct sl_record_shape {
    const char *name;
    const char *members[2];                /* that its objects have */
    const char *label, *text;              /* columns; NULL: the format knows */
    const struct sl_record_format *format; /* NULL: that of the file */
    bool trims_label;                      /* of white space */
    bool is_its_columns;                   /* who names these columns reads the same records */
    const char *note;                      /* what is assumed */
};

/* What fastText's labels begin with. */
#define SL_FASTTEXT_PREFIX "__label__"

/* A state of CSV reads TSV with quotes from here on, beginning with this line; NULL: the next. */
void sl_csv_continue_tsv(void *state, const struct sl_line *line);

extern const struct sl_record_format sl_record_format_tsv, sl_record_format_csv,
    sl_record_format_jsonl, sl_record_format_json, sl_record_format_fasttext, sl_record_format_chat;
