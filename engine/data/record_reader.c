/* record_reader.c - the table of formats, and what they share: column selection and checks. */
#include "data/record_reader.h"

#include "base/dynarray.h"
#include "base/utf8.h"
#include "data/name_list.h"
#include "data/record_labels.h"
#include "tokenizer/normalizer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sl_record_format *const formats[] = {
    &sl_record_format_tsv, &sl_record_format_csv, &sl_record_format_jsonl};

enum { FORMATS = sizeof formats / sizeof formats[0], LABEL = 0 };

struct sl_record_reader {
    const struct sl_record_format *format;
    struct sl_line_reader *lines;
    void *state;
    char *label_column, *text_columns; /* as the caller wrote them, for errors */
    char *names;                       /* the same, cut into names */
    struct sl_chosen chosen;
    bool numbered;             /* columns are chosen by number */
    int places[SL_CHOSEN_MAX]; /* of the chosen columns in a row, from 0 */
    int fields;                /* of every row; 0 before the first */
    int64_t fields_line;       /* which was in this line */
    struct sl_row row;
    char *text; /* columns joined */
    size_t room;
    bool skips_incomplete;
    char *label_separator; /* or NULL */
    struct sl_record_labels labels;
    struct sl_skipped skipped;
    bool can_continue; /* after a failure, which was that of one record */
};

/* ---- which format --------------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t bytes, const char *end)
{
    size_t length = strlen(end);
    return bytes >= length && strncmp(text + bytes - length, end, length) == 0;
}

static const struct sl_record_format *format_of_path(const char *path)
{
    size_t bytes = strlen(path);
    if (ends_with(path, bytes, ".xz") || ends_with(path, bytes, ".gz"))
        bytes -= strlen(".xz");
    for (int i = 0; i < FORMATS; i++) {
        size_t name = strlen(formats[i]->name);
        if (bytes > name && path[bytes - name - 1] == '.' &&
            ends_with(path, bytes, formats[i]->name))
            return formats[i];
    }
    return NULL;
}

bool sl_record_reader_knows(const char *path)
{
    return format_of_path(path) != NULL;
}

static const struct sl_record_format *format_find(const char *path, const char *name,
                                                  struct sl_err *err)
{
    if (!name) {
        const struct sl_record_format *found = format_of_path(path);
        if (!found)
            sl_fail(err, SL_BAD_INPUT,
                    "the name '%s' does not end in .tsv, .csv or .jsonl (perhaps with .gz or .xz); "
                    "rename the file, or give its format",
                    path);
        return found;
    }
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    sl_fail(err, SL_BAD_INPUT, "invalid format '%.64s': expected tsv, csv or jsonl", name);
    return NULL;
}

/* ---- which columns -------------------------------------------------------------------------- */

static bool is_number(const char *name)
{
    return name[0] && name[strspn(name, "0123456789")] == '\0';
}

static bool chosen_add(struct sl_record_reader *r, const char *name, struct sl_err *err)
{
    if (!name[0])
        return sl_fail(err, SL_BAD_INPUT,
                       "empty column name in '%s': expected one name, or several with commas",
                       r->chosen.count == LABEL ? r->label_column : r->text_columns);
    if (r->chosen.count == SL_CHOSEN_MAX)
        return sl_fail(err, SL_BAD_INPUT, "more than %d text columns in '%s'", SL_CHOSEN_MAX - 1,
                       r->text_columns);
    for (int i = r->chosen.unlabelled ? LABEL + 1 : LABEL; i < r->chosen.count; i++)
        if (strcmp(r->chosen.names[i], name) == 0)
            return sl_fail(err, SL_BAD_INPUT, "column '%s' is chosen twice%s", name,
                           i == LABEL ? ", for the label and for the text" : "");
    r->chosen.names[r->chosen.count++] = name;
    return true;
}

/* The label's name is one whole; the text's are separated by commas. */
static bool chosen_split(struct sl_record_reader *r, struct sl_err *err)
{
    size_t label_bytes = strlen(r->label_column) + 1, text_bytes = strlen(r->text_columns) + 1;
    r->names = malloc(label_bytes + text_bytes);
    if (!r->names)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
    memcpy(r->names, r->label_column, label_bytes);
    memcpy(r->names + label_bytes, r->text_columns, text_bytes);
    if (r->chosen.unlabelled)
        r->chosen.count = LABEL + 1;
    else if (!chosen_add(r, r->names, err))
        return false;
    for (char *name = r->names + label_bytes;;) {
        size_t length = strcspn(name, ",");
        bool last = name[length] == '\0';
        name[length] = '\0';
        if (!chosen_add(r, name, err))
            return false;
        if (last)
            return true;
        name += length + 1;
    }
}

/* 01 is refused with 0: it would be a second name for 1. */
static bool place_read(struct sl_record_reader *r, int column, struct sl_err *err)
{
    const char *name = r->chosen.names[column];
    long number = strtol(name, NULL, 10);
    if (name[0] == '0' || number > SL_FIELDS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "invalid column number '%s': expected 1 to %d", name,
                       SL_FIELDS_MAX);
    r->places[column] = (int)number - 1;
    return true;
}

static bool columns_number(struct sl_record_reader *r, struct sl_err *err)
{
    int numbers = 0;
    for (int i = 0; i < r->chosen.count; i++)
        numbers += is_number(r->chosen.names[i]);
    if (numbers > 0 && numbers < r->chosen.count)
        return sl_fail(
            err, SL_BAD_INPUT,
            "label column '%s', text column '%s': give both by name, or both by number, as in 1 "
            "and 2",
            r->label_column, r->text_columns);
    r->numbered = numbers > 0;
    for (int i = 0; r->numbered && i < r->chosen.count; i++)
        if (!place_read(r, i, err))
            return false;
    return true;
}

static bool columns_choose(struct sl_record_reader *r, const struct sl_record_options *options,
                           struct sl_err *err)
{
    const char *separator = options->label_separator;
    if (!separator && !r->format->keyed)
        separator = options->table_label_separator;
    r->chosen.unlabelled = options->unlabelled;
    r->skips_incomplete = options->skip_incomplete;
    r->label_column = strdup(options->label ? options->label : "label");
    r->text_columns = strdup(options->text ? options->text : "text");
    r->label_separator = separator ? strdup(separator) : NULL;
    if (!r->label_column || !r->text_columns || (separator && !r->label_separator))
        return sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
    if (!sl_label_separator_check(r->label_separator, err) || !chosen_split(r, err))
        return false;
    if (r->chosen.unlabelled)
        r->chosen.names[LABEL] = r->chosen.names[LABEL + 1];
    for (int i = 0; i < r->chosen.count; i++)
        r->places[i] = i;
    return r->format->keyed || columns_number(r, err);
}

/* ---- the line of names ---------------------------------------------------------------------- */

/* One field that has the separator of another format in it has not come apart. */
static bool is_whole(const struct sl_row *row)
{
    static const char separators[] = {'\t', ',', ';'};
    bool found = false;
    for (size_t i = 0; i < sizeof separators; i++)
        found = found || memchr(row->fields[0].data, separators[i], row->fields[0].bytes);
    return row->count == 1 && found;
}

static bool name_find(struct sl_record_reader *r, int column, struct sl_err *err)
{
    struct sl_name_list list = {0};
    const char *name = r->chosen.names[column];
    int found = -1;
    for (int i = 0; i < r->row.count; i++) {
        const struct sl_field *field = &r->row.fields[i];
        sl_name_list_add(&list, field->data, field->bytes);
        if (field->bytes != strlen(name) || memcmp(field->data, name, field->bytes) != 0)
            continue;
        if (found >= 0)
            return sl_fail(err, SL_BAD_INPUT, "fields %d and %d are both named '%s'", found + 1,
                           i + 1, name);
        found = i;
    }
    r->places[column] = found;
    if (found < 0 && is_whole(&r->row))
        return sl_fail(err, SL_BAD_INPUT,
                       "no column '%s': there is only one, %s; fields must be separated by %s",
                       name, sl_name_list_text(&list), r->format->separator);
    return found >= 0 ||
           sl_fail(
               err, SL_BAD_INPUT,
               "no column '%s'; the columns are %s; set %s by name or, if this line is data, by "
               "number: %s",
               name, sl_name_list_text(&list), r->chosen.unlabelled ? "text" : "label and text",
               r->chosen.unlabelled ? "text 1" : "label 1, text 2");
}

static bool names_read(struct sl_record_reader *r, struct sl_err *err)
{
    if (!r->format->next(r->state, r->lines, &r->row, err))
        return false;
    if (r->row.count == 0)
        return sl_fail(err, SL_BAD_INPUT, "the file is empty: expected a line of column names") ||
               sl_wrap_file(err, sl_line_reader_name(r->lines), 0);
    r->fields = r->row.count;
    r->fields_line = r->row.line;
    for (int i = 0; i < r->chosen.count; i++)
        if (!name_find(r, i, err))
            return sl_line_reader_wrap(r->lines, r->row.line, err);
    return true;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool records_begin(struct sl_record_reader *r, const char *path,
                          const struct sl_record_options *options, struct sl_err *err)
{
    if (strcmp(path, "-") == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "'-': records are read from a file, not from standard "
                       "input; give its path");
    r->format = format_find(path, options->format, err);
    if (!r->format)
        return false;
    if (!columns_choose(r, options, err))
        return sl_wrap_file(err, path, 0);
    /* One byte where there is no state, so that NULL says there is no memory. */
    r->state = calloc(1, r->format->size + 1);
    if (!r->state)
        return sl_fail(err, SL_NO_MEMORY, "no memory to read '%s'", path);
    if (r->format->open && !r->format->open(r->state, &r->chosen, err))
        return false;
    r->lines = sl_line_reader_open(path, options->display_name, &options->limits, err);
    return r->lines && (r->format->keyed || r->numbered || names_read(r, err));
}

struct sl_record_reader *sl_record_reader_open(const char *path,
                                               const struct sl_record_options *options,
                                               struct sl_err *err)
{
    assert(path);
    assert(options);
    struct sl_record_reader *r = calloc(1, sizeof *r);
    if (!r) {
        sl_fail(err, SL_NO_MEMORY, "no memory to read '%s'", path);
        return NULL;
    }
    if (records_begin(r, path, options, err))
        return r;
    sl_record_reader_close(r);
    return NULL;
}

void sl_record_reader_close(struct sl_record_reader *records)
{
    if (!records)
        return;
    if (records->state && records->format->close)
        records->format->close(records->state);
    sl_line_reader_close(records->lines);
    free(records->state);
    free(records->label_column);
    free(records->text_columns);
    free(records->names);
    free(records->text);
    free(records->label_separator);
    sl_record_labels_release(&records->labels);
    free(records);
}

/* ---- one record ----------------------------------------------------------------------------- */

static bool number_missing(const struct sl_record_reader *r, int place, struct sl_err *err)
{
    if (r->row.count == 1)
        return sl_fail(err, SL_BAD_INPUT,
                       "no column %d: there is only one; fields must be separated by %s", place + 1,
                       r->format->separator);
    return sl_fail(err, SL_BAD_INPUT, "no column %d: there are only %d", place + 1, r->row.count);
}

/* A row with a field too many or too few has most likely come apart at the wrong place. */
static bool fields_check(struct sl_record_reader *r, struct sl_err *err)
{
    if (r->fields == 0) {
        r->fields = r->row.count;
        r->fields_line = r->row.line;
    }
    const char *hint = r->row.count > r->fields ? r->format->too_many : NULL;
    if (r->row.count != r->fields)
        return sl_fail(err, SL_BAD_INPUT, "%d field%s: expected %d as in line %lld%s", r->row.count,
                       r->row.count == 1 ? "" : "s", r->fields, (long long)r->fields_line,
                       hint ? hint : "");
    for (int i = 0; i < r->chosen.count; i++)
        if (r->places[i] >= r->row.count)
            return number_missing(r, r->places[i], err);
    return true;
}

/* The text columns that are not empty, a space between them. */
static bool text_join(struct sl_record_reader *r, struct sl_field *text, struct sl_err *err)
{
    size_t used = 0;
    for (int i = LABEL + 1; i < r->chosen.count; i++) {
        const struct sl_field *field = &r->row.fields[r->places[i]];
        if (!sl_dynarray_reserve(&r->text, &r->room, used + 1 + field->bytes, 1, err))
            return false;
        if (used > 0 && field->bytes > 0)
            r->text[used++] = ' ';
        if (field->bytes > 0)
            memcpy(r->text + used, field->data, field->bytes);
        used += field->bytes;
    }
    *text = (struct sl_field){.data = r->text, .bytes = used};
    return true;
}

static bool skip(struct sl_record_reader *r)
{
    if (r->skipped.records++ == 0)
        r->skipped.line = r->row.line;
    return true;
}

/* Whether there is a label, or it is said that there is none. */
static bool has_label(const struct sl_record_reader *r, const struct sl_field *label)
{
    return r->chosen.unlabelled || r->row.is_list || label->bytes > 0 ||
           (r->label_separator && label->data);
}

/* Whether a text has only white space and characters that tokenizers remove. */
static bool is_blank(const struct sl_field *text)
{
    static const struct sl_normalizer cased = {0};
    struct sl_codepoint codepoints[SL_NORMALIZED_MAX];
    size_t at = 0;
    uint32_t point;
    while (at < text->bytes && sl_utf8_next(text->data, text->bytes, &at, &point)) {
        (void)sl_normalizer_apply(&cased, point, codepoints);
        if (codepoints[0].kind != SL_CODEPOINT_NONE && codepoints[0].kind != SL_CODEPOINT_SPACE)
            return false;
    }
    return at == text->bytes;
}

static bool take_labels(struct sl_record_reader *r, const struct sl_field *label,
                        struct sl_record *record, struct sl_err *err)
{
    if (!sl_record_labels_take(&r->labels, &r->row, *label, r->label_separator, r->label_column,
                               err))
        return sl_err_set_field(err, r->label_column);
    record->labels = r->labels.list;
    record->label_count = r->labels.count;
    record->is_multi_label = r->label_separator || r->row.is_list;
    return true;
}

/* The record's text is NULL if it was skipped. */
static bool record_take(struct sl_record_reader *r, struct sl_record *record, struct sl_err *err)
{
    if (!r->format->keyed && !fields_check(r, err))
        return false;
    const struct sl_field label = r->row.fields[r->places[LABEL]];
    struct sl_field text = r->row.fields[r->places[LABEL + 1]];
    if (r->chosen.count > LABEL + 2 && !text_join(r, &text, err))
        return false;
    *record = (struct sl_record){0};
    if (r->skips_incomplete && (!has_label(r, &label) || is_blank(&text)))
        return skip(r);
    if (!r->chosen.unlabelled && !take_labels(r, &label, record, err))
        return false;
    if (text.bytes == 0)
        return sl_fail(err, SL_BAD_INPUT, "column '%s': the text is empty", r->text_columns);
    record->line = r->row.line;
    record->text = text.data;
    record->text_bytes = text.bytes;
    return true;
}

bool sl_record_reader_next(struct sl_record_reader *records, struct sl_record *record,
                           struct sl_err *err)
{
    assert(records);
    assert(record);
    *record = (struct sl_record){0};
    do {
        const int64_t line = records->row.line;
        if (!records->format->next(records->state, records->lines, &records->row, err)) {
            records->can_continue = records->format->keyed && records->row.line > line;
            return false;
        }
        if (records->row.count > 0 && !record_take(records, record, err)) {
            records->can_continue = true;
            return sl_line_reader_wrap(records->lines, records->row.line, err);
        }
    } while (records->row.count > 0 && !record->text);
    return true;
}

bool sl_record_reader_fail_all(struct sl_record_reader *records, struct sl_err *err)
{
    enum { LISTED = 8, LINE_BYTES = 24 };

    char lines[LISTED * LINE_BYTES] = "";
    size_t used = 0;
    long long refused = 0;
    struct sl_err other = {.code = err->code}; /* without memory, nothing more is to be learnt */
    struct sl_record record = {.text = ""};
    while (records->can_continue && record.text && other.code == SL_BAD_INPUT) {
        if (sl_record_reader_next(records, &record, &other))
            continue;
        record.text = ""; /* it was not the last one */
        if (refused++ < LISTED)
            used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%lld",
                                     used > 0 ? ", " : "", (long long)records->row.line);
    }
    return refused > 0 &&
           sl_err_append(err, "; %lld more record%s refused: line%s %s%s", refused,
                         refused == 1 ? " is" : "s are", refused == 1 ? "" : "s", lines,
                         refused > LISTED ? " and others"
                         : !record.text   ? ""
                                          : ", and perhaps some below");
}

const struct sl_line_reader *sl_record_reader_lines(const struct sl_record_reader *records)
{
    return records->lines;
}

struct sl_skipped sl_record_reader_skipped(const struct sl_record_reader *records)
{
    return records->skipped;
}
