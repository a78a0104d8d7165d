/* file_columns.c - reads the first records of a file for the names and the kinds of its columns. */
#include "data/file_columns.h"

#include "base/byte_string.h"
#include "base/dynarray.h"
#include "data/column_sample.h"
#include "data/json_members.h"
#include "data/record_formats.h"
#include "data/record_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORDS_READ = 1000,
    MEMBERS_READ = 50000,
    PAIR = 2 /* columns: one of them may be the label, and the other the text */
};

/* What one reading needs. */
struct reading {
    struct sl_file_columns *columns;
    const char *path;
    const struct sl_record_options *options;
    struct sl_record_choice choice;
    struct sl_line_reader *lines;
    struct sl_column_sample samples[PAIR];
    struct sl_notes notes;
    int members; /* of JSON objects, read so far */
};

static bool add_name(struct sl_file_columns *c, const char *name, size_t bytes, struct sl_err *err)
{
    if (!sl_dynarray_reserve(&c->names, &c->room, (size_t)c->count + 1, sizeof *c->names, err))
        return false;
    c->names[c->count] = sl_bytes_copy(name, bytes);
    if (!c->names[c->count])
        return sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
    c->count++;
    return true;
}

int sl_file_columns_find(const struct sl_file_columns *columns, const char *name)
{
    for (int i = 0; i < columns->count; i++)
        if (strcmp(columns->names[i], name) == 0)
            return i;
    return -1;
}

static void drop_names(struct sl_file_columns *c)
{
    while (c->count > 0)
        free(c->names[--c->count]);
}

void sl_file_columns_release(struct sl_file_columns *columns)
{
    drop_names(columns);
    free(columns->names);
    *columns = (struct sl_file_columns){0};
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool are_numbers(const struct sl_file_columns *c, const char *names)
{
    return names && names[0] && names[strspn(names, "0123456789,")] == '\0' &&
           sl_file_columns_find(c, names) < 0;
}

/* As records are read, or because the first line has a label that lines below have, too. */
static bool is_numbered(const struct reading *r)
{
    const struct sl_file_columns *c = r->columns;
    const struct sl_record_shape *shape = r->choice.shape;
    const char *label = r->options->label, *text = r->options->text;
    if (!label && shape)
        label = shape->label;
    if (!text && shape)
        text = shape->text;
    if (label || text)
        return are_numbers(c, label) && are_numbers(c, text);
    for (int i = 0; i < PAIR && c->count == PAIR; i++)
        if (sl_column_sample_is_label_of(&r->samples[i], &r->samples[1 - i]) &&
            sl_column_sample_has(&r->samples[i], c->names[i], strlen(c->names[i])))
            return true;
    return false;
}

static bool add_numbers(struct sl_file_columns *c, struct sl_err *err)
{
    char number[SL_COLUMN_NUMBER_BYTES];
    const int count = c->count;
    drop_names(c);
    for (int i = 1; i <= count; i++) {
        (void)snprintf(number, sizeof number, "%d", i);
        if (!add_name(c, number, strlen(number), err))
            return false;
    }
    c->numbered = true;
    return true;
}

static bool add_names(struct sl_file_columns *c, const struct sl_row *row, struct sl_err *err)
{
    for (int i = 0; i < row->count; i++)
        if (!add_name(c, row->fields[i].data, row->fields[i].bytes, err))
            return false;
    return true;
}

static bool read_rows(struct reading *r, void *state, struct sl_row *row, struct sl_err *err)
{
    struct sl_err ignored;
    const struct sl_record_format *format = r->choice.format;
    do
        if (!format->next(state, r->lines, row, &ignored))
            return true;
    while (row->count == 1 && sl_field_is_blank(&row->fields[0]));
    if (!add_names(r->columns, row, err))
        return false;
    for (int i = 0; i < RECORDS_READ; i++) {
        if (!format->next(state, r->lines, row, &ignored) || row->count == 0)
            break;
        for (int k = 0; k < PAIR && r->columns->count == PAIR && row->count == PAIR; k++)
            sl_column_sample_add(&r->samples[k], &row->fields[k]);
    }
    return !is_numbered(r) || add_numbers(r->columns, err);
}

static bool read_table(struct reading *r, struct sl_err *err)
{
    const struct sl_record_format *format = r->choice.format;
    const struct sl_record_input input = {.path = r->path,
                                          .limits = r->options->limits,
                                          .chosen = {.names = {"label", "text"}, .count = PAIR}};
    void *state = calloc(1, format->size + 1);
    struct sl_row *row = calloc(1, sizeof *row);
    bool ok =
        (state && row) || sl_fail(err, SL_NO_MEMORY, "no memory to read the file's first rows");
    if (ok) {
        row->notes = &r->notes;
        ok = format->open(state, &input, err) && read_rows(r, state, row, err);
    }
    if (state)
        format->close(state);
    free(state);
    free(row);
    return ok;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool take_member(void *context, const char *path, const struct sl_field *text,
                        struct sl_err *err)
{
    struct reading *r = context;
    if (r->members++ >= MEMBERS_READ)
        return true; /* each is looked up among all */
    int column = sl_file_columns_find(r->columns, path);
    if (column < 0 && r->columns->count < SL_FIELDS_MAX) {
        column = r->columns->count;
        if (!add_name(r->columns, path, strlen(path), err))
            return false;
    }
    if (column >= 0 && column < PAIR && text->data)
        sl_column_sample_add(&r->samples[column], text);
    return true;
}

static bool read_objects(struct reading *r, struct sl_err *err)
{
    struct sl_err ignored;
    struct sl_json_reader json = {.by_lines = r->choice.by_lines};
    bool ok = true;
    for (int i = 0; ok && i < RECORDS_READ; i++) {
        if (!sl_json_reader_next(&json, r->lines, &ignored) || !json.value)
            break;
        ok = sl_json_each_member(json.value, take_member, r, err);
    }
    sl_json_reader_release(&json);
    return ok;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* A name with a comma would be several where names are joined by commas. */
static bool can_be_named(const struct reading *r, const char *name)
{
    return name[0] && !(r->choice.format->keyed && strchr(name, ','));
}

/* The usual names are no surprise: a column that has one is what it says. */
static bool contradicts(const struct sl_file_columns *c, int label, int text)
{
    const int usual_label = sl_file_columns_find(c, "label"),
              usual_text = sl_file_columns_find(c, "text");
    return (usual_label >= 0 && usual_label != label) || (usual_text >= 0 && usual_text != text);
}

static void guess(struct reading *r)
{
    struct sl_file_columns *c = r->columns;
    for (int i = 0; i < PAIR && c->count == PAIR; i++)
        if (sl_column_sample_is_label_of(&r->samples[i], &r->samples[1 - i]) &&
            can_be_named(r, c->names[0]) && can_be_named(r, c->names[1]) &&
            strcmp(c->names[0], c->names[1]) != 0 && !contradicts(c, i, 1 - i)) {
            c->label = i;
            c->text = 1 - i;
        }
}

static bool read_columns(struct reading *r, struct sl_err *err)
{
    struct sl_err ignored;
    const struct sl_record_format *format = r->choice.format;
    r->columns->format = format->name;
    if (format == &sl_record_format_fasttext)
        return true;
    r->lines =
        sl_line_reader_open(r->path, r->options->display_name, &r->options->limits, &ignored);
    if (!r->lines)
        return true;
    const bool ok = format->keyed ? read_objects(r, err) : read_table(r, err);
    sl_line_reader_close(r->lines);
    if (ok)
        guess(r);
    return ok;
}

bool sl_file_columns_read(struct sl_file_columns *columns, const char *path,
                          const struct sl_record_options *options, struct sl_err *err)
{
    struct sl_err ignored;
    *columns = (struct sl_file_columns){.label = -1, .text = -1};
    struct reading *r = calloc(1, sizeof *r);
    if (!r)
        return sl_fail(err, SL_NO_MEMORY, "no memory to read '%s'", path);
    r->columns = columns;
    r->path = path;
    r->options = options;
    bool ok =
        !sl_record_choose(path, options, &r->choice, &r->notes, &ignored) || read_columns(r, err);
    free(r);
    if (!ok)
        sl_file_columns_release(columns);
    return ok;
}
