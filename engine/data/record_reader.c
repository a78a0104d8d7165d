/* record_reader.c - what formats share: records from rows, their checks, and what is left out. */
#include "data/record_reader.h"

#include "base/dynarray.h"
#include "data/flag_columns.h"
#include "data/name_list.h"
#include "data/record_columns.h"
#include "data/record_formats.h"
#include "data/record_labels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sl_record_reader {
    const struct sl_record_format *format;
    const struct sl_record_shape *shape;
    struct sl_line_reader *lines;
    void *state;
    struct sl_record_input input;
    struct sl_record_columns columns;
    struct sl_notes notes;
    int fields;          /* of every row; 0 before the first */
    int64_t fields_line; /* which was in this line */
    struct sl_row row;
    char *text; /* columns joined */
    size_t room;
    struct sl_field *flags;             /* labels of one column each */
    bool is_used[SL_LABEL_COLUMNS_MAX]; /* some text has the label of this column */
    char *path, *label_separator;       /* label_separator: or NULL */
    struct sl_record_labels labels;
    struct sl_skipped skipped;
    bool can_continue; /* after a failure, which was that of one record */
};

static void take_fields(struct sl_record_reader *r)
{
    r->fields = r->row.count;
    r->fields_line = r->row.line;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool read_row_of_names(struct sl_record_reader *r, struct sl_err *err)
{
    do
        if (!r->format->next(r->state, r->lines, &r->row, err))
            return false;
    while (r->row.count == 1 && sl_field_is_blank(&r->row.fields[0]));
    if (r->row.count == 0)
        return sl_fail(err, SL_BAD_INPUT, "the file is empty: expected a line of column names") ||
               sl_wrap_file(err, sl_line_reader_name(r->lines), 0);
    take_fields(r);
    return true;
}

/* Without a column of labels, a column for each label is one, too. */
static bool find_flag_columns(struct sl_record_reader *r, const struct sl_record_options *options,
                              struct sl_err *err)
{
    char names[SL_FLAG_NAMES_BYTES];
    if (!sl_flag_columns_find(r->format, &r->input, names, err))
        return false;
    if (!names[0])
        return true;
    char *text = strdup(r->columns.text);
    sl_record_columns_release(&r->columns);
    const struct sl_column_names found = {.label = names, .text = text};
    bool ok = (text || sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns")) &&
              sl_record_columns_choose(&r->columns, options, &found, &r->input.chosen, err);
    free(text);
    if (strchr(names, ','))
        sl_note(&r->notes, "labels are the columns that hold 0 or 1: %.150s; label names others",
                names);
    else
        sl_note(&r->notes, "the label is the column that holds 0 or 1: %.150s; label names another",
                names);
    return ok;
}

static bool find_columns(struct sl_record_reader *r, const struct sl_record_options *options,
                         struct sl_err *err)
{
    const bool guesses = !options->label && !options->unlabelled;
    if (!read_row_of_names(r, err))
        return false;
    if (guesses && !sl_record_columns_has(&r->row, r->columns.label) &&
        !find_flag_columns(r, options, err))
        return false;
    return sl_record_columns_find(&r->columns, &r->row, r->format->separator, err) ||
           sl_line_reader_wrap(r->lines, r->row.line, err);
}

static const char *or_else(const char *text, const char *instead)
{
    return text ? text : instead;
}

static bool choose_columns(struct sl_record_reader *r, const struct sl_record_options *options,
                           struct sl_err *err)
{
    const struct sl_record_shape *s = r->shape;
    const char *separator = options->label_separator;
    if (!separator && !r->format->keyed)
        separator = options->table_label_separator;
    r->label_separator = separator ? strdup(separator) : NULL;
    if (separator && !r->label_separator)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
    const struct sl_column_names names = {
        .label = or_else(options->label, s && s->label ? s->label : "label"),
        .text = or_else(options->text, s && s->text ? s->text : "text"),
        .keyed = r->format->keyed};
    return sl_label_separator_check(r->label_separator, err) &&
           sl_record_columns_choose(&r->columns, options, &names, &r->input.chosen, err);
}

static bool open_format(struct sl_record_reader *r, const struct sl_record_options *options,
                        const struct sl_record_choice *choice, struct sl_err *err)
{
    r->path = strdup(r->input.path);
    /* One byte where there is no state, so that NULL says there is no memory. */
    r->state = calloc(1, r->format->size + 1);
    if (!r->state || !r->path)
        return sl_fail(err, SL_NO_MEMORY, "no memory to read '%s'", r->input.path);
    r->input.path = r->path;
    r->input.limits = options->limits;
    r->input.shape = choice->shape;
    r->input.by_lines = choice->by_lines;
    r->input.skips_incomplete = options->skip_incomplete;
    r->row.notes = &r->notes;
    return !r->format->open || r->format->open(r->state, &r->input, err);
}

static bool records_begin(struct sl_record_reader *r, const char *path,
                          const struct sl_record_options *options, struct sl_err *err)
{
    struct sl_record_choice choice;
    if (strcmp(path, "-") == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "'-': records are read from a file, not from standard "
                       "input; give its path");
    r->input.path = path;
    if (!sl_record_choose(path, options, &choice, &r->notes, err))
        return false;
    r->format = choice.format;
    r->shape = choice.shape;
    if (!choose_columns(r, options, err))
        return sl_wrap_file(err, or_else(options->display_name, path), 0);
    if (!open_format(r, options, &choice, err))
        return false;
    r->lines = sl_line_reader_open(path, options->display_name, &options->limits, err);
    return r->lines && (r->format->keyed || r->columns.numbered || find_columns(r, options, err));
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
    sl_record_columns_release(&records->columns);
    free(records->state);
    free(records->text);
    free(records->flags);
    free(records->path);
    free(records->label_separator);
    sl_record_labels_release(&records->labels);
    free(records);
}

/* ---- one record ----------------------------------------------------------------------------- */

static bool number_missing(struct sl_record_reader *r, int column, struct sl_err *err)
{
    const int place = r->columns.places[column];
    r->row.lacks_column = true;
    if (place < 0)
        return sl_fail(err, SL_BAD_INPUT, "invalid column number '%s': expected 1 to %d",
                       r->input.chosen.names[column], SL_FIELDS_MAX);
    if (r->row.count == 1)
        return sl_fail(err, SL_BAD_INPUT,
                       "no column %d: there is only one; fields must be separated by %s%s",
                       place + 1, r->format->separator, sl_record_columns_hint(&r->row));
    return sl_fail(err, SL_BAD_INPUT, "no column %d: there are only %d", place + 1, r->row.count);
}

/* Of a disk that was full or failed, files often end in zeros. */
static bool is_damaged(const struct sl_row *row)
{
    return row->fields[0].bytes > 0 && memchr(row->fields[0].data, '\0', row->fields[0].bytes);
}

/* A row with a field too many or too few has most likely come apart at the wrong place. */
static bool fields_check(struct sl_record_reader *r, struct sl_err *err)
{
    if (r->fields == 0)
        take_fields(r);
    const char *hint = r->row.count > r->fields ? r->format->too_many
                       : is_damaged(&r->row)    ? "; it has NUL bytes: the file is damaged"
                                                : NULL;
    if (r->row.count != r->fields)
        return sl_fail(err, SL_BAD_INPUT, "%d field%s: expected %d as in line %lld%s", r->row.count,
                       r->row.count == 1 ? "" : "s", r->fields, (long long)r->fields_line,
                       hint ? hint : "");
    for (int i = 0; i < r->input.chosen.count; i++)
        if (r->columns.places[i] < 0 || r->columns.places[i] >= r->row.count)
            return number_missing(r, i, err);
    return true;
}

static const struct sl_field *field_at(const struct sl_record_reader *r, int column)
{
    return &r->row.fields[r->columns.places[column]];
}

/* The text columns that are not empty, a space between them. */
static bool text_join(struct sl_record_reader *r, struct sl_field *text, struct sl_err *err)
{
    size_t used = 0;
    for (int i = r->input.chosen.labels; i < r->input.chosen.count; i++) {
        const struct sl_field *field = field_at(r, i);
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

/* ---- labels of one column each --------------------------------------------------------------- */

/* The names of the columns with 1 become a list of labels. An empty field means 0 where others are
 * 1; beside a 0, or if all are empty, nobody said what it means. */
static bool list_flags(struct sl_record_reader *r, struct sl_err *err)
{
    char shown[SL_NAME_SHORT];
    const struct sl_chosen *chosen = &r->input.chosen;
    int empty = 0;
    if (!r->flags)
        r->flags = calloc(SL_LABEL_COLUMNS_MAX, sizeof *r->flags);
    if (!r->flags)
        return sl_fail(err, SL_NO_MEMORY, "no memory for labels");
    r->row.list_count = 0;
    for (int i = 0; i < chosen->labels; i++) {
        const struct sl_field *field = field_at(r, i);
        const int flag = sl_flag_read(field);
        if (flag < 0)
            return sl_fail(err, SL_BAD_INPUT,
                           "column '%s' is '%s': with a column for each label expected 0 or 1",
                           chosen->names[i], sl_name_shorten(field->data, field->bytes, shown));
        if (flag)
            r->flags[r->row.list_count++] =
                (struct sl_field){chosen->names[i], strlen(chosen->names[i])};
        r->is_used[i] = r->is_used[i] || flag;
        empty += field->bytes == 0;
    }
    if (empty > 0 && (r->row.list_count == 0 || r->row.list_count + empty < chosen->labels))
        r->row.left_out = empty < chosen->labels ? "a column of its labels is empty"
                                                 : "the columns of its labels are empty";
    r->row.is_list = true;
    r->row.list = r->flags;
    return true;
}

static void note_unused(struct sl_record_reader *r)
{
    struct sl_name_list names = {0};
    const struct sl_chosen *chosen = &r->input.chosen;
    for (int i = 0; chosen->labels > 1 && i < chosen->labels; i++)
        if (!r->is_used[i])
            sl_name_list_add(&names, chosen->names[i], strlen(chosen->names[i]));
    if (names.count > 0)
        sl_note(&r->notes, "no text has the label of these columns: %.190s",
                sl_name_list_text(&names));
}

/* ---- what is left out ------------------------------------------------------------------------ */

/* Whether there is a label, or it is said that there is none. */
static bool has_label(const struct sl_record_reader *r, const struct sl_field *label)
{
    if (r->input.chosen.unlabelled || (r->label_separator && label->data && !r->row.is_list))
        return true;
    if (!r->row.is_list)
        return !sl_field_is_blank(label);
    for (int i = 0; i < r->row.list_count; i++)
        if (!sl_field_is_blank(&r->row.list[i]))
            return true;
    return r->row.list_count == 0;
}

static const char *state_of(const struct sl_field *field)
{
    if (!field->data)
        return "missing or null";
    return field->bytes == 0 ? "empty" : "blank";
}

/* Says why a record cannot be used; false: it can. */
static bool is_incomplete(const struct sl_record_reader *r, const struct sl_field *label,
                          const struct sl_field *text, char why[SL_WHY_BYTES])
{
    const char *column = !has_label(r, label) ? r->columns.label : r->columns.text;
    const struct sl_field *field = has_label(r, label) ? text
                                   : r->row.is_list    ? &r->row.list[0]
                                                       : label;
    if (r->row.left_out)
        (void)snprintf(why, SL_WHY_BYTES, "%s", r->row.left_out);
    else if (field != text || sl_field_is_blank(text))
        (void)snprintf(why, SL_WHY_BYTES, "'%.48s' is %s", column, state_of(field));
    else
        return false;
    return true;
}

static void skip(struct sl_record_reader *r, const char *why)
{
    if (r->skipped.records++ > 0)
        return;
    r->skipped.line = r->row.line;
    (void)snprintf(r->skipped.why, sizeof r->skipped.why, "%s", why);
}

static bool take_labels(struct sl_record_reader *r, const struct sl_field *label,
                        struct sl_record *record, struct sl_err *err)
{
    if (!sl_record_labels_take(&r->labels, &r->row, *label, r->label_separator, r->columns.label,
                               err))
        return sl_err_set_field(err, r->columns.label);
    record->labels = r->labels.list;
    record->label_count = r->labels.count;
    record->is_list = r->labels.is_list;
    record->is_multi_label = r->label_separator || (r->labels.is_list && r->labels.count != 1);
    return true;
}

static void trim(struct sl_field *field)
{
    static const char blanks[] = " \t\r\n";
    while (field->bytes > 0 && strchr(blanks, field->data[0])) {
        field->data++;
        field->bytes--;
    }
    while (field->bytes > 0 && strchr(blanks, field->data[field->bytes - 1]))
        field->bytes--;
}

/* The fields of the label and of the text. */
static bool find_fields(struct sl_record_reader *r, struct sl_field *label, struct sl_field *text,
                        struct sl_err *err)
{
    const struct sl_chosen *chosen = &r->input.chosen;
    *label = *field_at(r, 0);
    *text = *field_at(r, chosen->labels);
    if (r->shape && r->shape->trims_label && !chosen->unlabelled)
        trim(label);
    return (chosen->labels == 1 || list_flags(r, err)) &&
           (chosen->count == chosen->labels + 1 || text_join(r, text, err));
}

/* Columns that were chosen by number have these numbers as names. */
static void take_names(struct sl_record_reader *r)
{
    take_fields(r);
    sl_note(&r->notes, "line %lld has the names of columns: numbers are taken for names",
            (long long)r->row.line);
}

/* The record's text is NULL if it was skipped. */
static bool record_take(struct sl_record_reader *r, struct sl_record *record, struct sl_err *err)
{
    char why[SL_WHY_BYTES];
    struct sl_field label, text;
    *record = (struct sl_record){0};
    if (r->columns.numbered && r->fields == 0 &&
        sl_record_columns_are_names(&r->columns, &r->row)) {
        take_names(r);
        return true;
    }
    if ((!r->format->keyed && !fields_check(r, err)) || !find_fields(r, &label, &text, err))
        return false;
    if (r->input.skips_incomplete && is_incomplete(r, &label, &text, why)) {
        skip(r, why);
        return true;
    }
    if (r->row.left_out)
        return sl_fail(err, SL_BAD_INPUT, "the record cannot be used: %s", r->row.left_out);
    if (!r->input.chosen.unlabelled && !take_labels(r, &label, record, err))
        return false;
    if (text.bytes == 0)
        return sl_fail(err, SL_BAD_INPUT, "column '%s': the text is %s", r->columns.text,
                       state_of(&text));
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
        records->row.left_out = NULL;
        if (!records->format->next(records->state, records->lines, &records->row, err)) {
            records->can_continue = records->format->keyed && records->row.line > line;
            return false;
        }
        if (records->row.count > 0 && !record_take(records, record, err)) {
            records->can_continue = true;
            return sl_line_reader_wrap(records->lines, records->row.line, err);
        }
    } while (records->row.count > 0 && !record->text);
    if (!record->text)
        note_unused(records);
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
        if (records->row.line == err->line) /* which would only be repeated */
            return false;
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

const struct sl_notes *sl_record_reader_notes(const struct sl_record_reader *records)
{
    return &records->notes;
}

struct sl_record_reader_state sl_record_reader_state(const struct sl_record_reader *records)
{
    const bool is_named = records->shape ? records->shape->is_its_columns
                                         : records->format != &sl_record_format_fasttext;
    return (struct sl_record_reader_state){.can_continue = records->can_continue,
                                           .lacks_column = records->row.lacks_column,
                                           .label = is_named ? records->columns.label : NULL,
                                           .text = is_named ? records->columns.text : NULL};
}
