/* record_columns.c - finds the columns that were asked for, or are usual. */
#include "data/record_columns.h"

#include "data/name_list.h"

#include <stdlib.h>
#include <string.h>

void sl_record_columns_release(struct sl_record_columns *columns)
{
    free(columns->label);
    free(columns->text);
    free(columns->names);
    *columns = (struct sl_record_columns){0};
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool add(struct sl_record_columns *c, const char *name, const char *whole,
                struct sl_err *err)
{
    struct sl_chosen *chosen = c->chosen;
    const bool is_label = whole == c->label;
    if (!name[0])
        return sl_fail(err, SL_BAD_INPUT,
                       "empty column name in '%s': expected one name, or several with commas",
                       whole);
    if (chosen->count - chosen->labels == SL_TEXT_COLUMNS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "more than %d text columns in '%s'", SL_TEXT_COLUMNS_MAX,
                       whole);
    if (chosen->count == SL_LABEL_COLUMNS_MAX && is_label)
        return sl_fail(err, SL_BAD_INPUT, "more than %d label columns", SL_LABEL_COLUMNS_MAX);
    for (int i = chosen->unlabelled ? chosen->labels : 0; i < chosen->count; i++)
        if (strcmp(chosen->names[i], name) == 0)
            return sl_fail(err, SL_BAD_INPUT, "column '%s' is chosen twice%s", name,
                           i < chosen->labels && !is_label ? ", for the label and for the text"
                                                           : "");
    chosen->names[chosen->count++] = name;
    chosen->labels += is_label;
    return true;
}

/* names: a copy of `whole`, which is cut at its commas. */
static bool split(struct sl_record_columns *c, char *names, const char *whole, struct sl_err *err)
{
    for (char *name = names;;) {
        size_t length = strcspn(name, ",");
        bool last = name[length] == '\0';
        name[length] = '\0';
        if (!add(c, name, whole, err))
            return false;
        if (last)
            return true;
        name += length + 1;
    }
}

/* The label's name is one whole, or one for each label; the text's one whole, or several. */
static bool name_all(struct sl_record_columns *c, bool label_is_whole, bool text_is_whole,
                     struct sl_err *err)
{
    const size_t label_bytes = strlen(c->label) + 1;
    char *text = c->names + label_bytes;
    memcpy(c->names, c->label, label_bytes);
    memcpy(text, c->text, strlen(c->text) + 1);
    c->chosen->count = c->chosen->labels = 0;
    if (c->chosen->unlabelled)
        c->chosen->count = c->chosen->labels = 1;
    else if (!(label_is_whole ? add(c, c->names, c->label, err)
                              : split(c, c->names, c->label, err)))
        return false;
    if (!(text_is_whole ? add(c, text, c->text, err) : split(c, text, c->text, err)))
        return false;
    if (c->chosen->unlabelled)
        c->chosen->names[0] = c->chosen->names[1];
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_number(const char *name)
{
    return name[0] && name[strspn(name, "0123456789")] == '\0';
}

/* -1: it is no number from 1. 01 would be a second name for 1. */
static int read_place(const char *name)
{
    const long number = strtol(name, NULL, 10);
    return is_number(name) && name[0] != '0' && number <= SL_FIELDS_MAX ? (int)number - 1 : -1;
}

static void read_numbers(struct sl_record_columns *c)
{
    c->numbered = true;
    for (int i = 0; i < c->chosen->count; i++) {
        c->numbered = c->numbered && is_number(c->chosen->names[i]);
        c->places[i] = read_place(c->chosen->names[i]);
    }
}

bool sl_record_columns_choose(struct sl_record_columns *c, const struct sl_record_options *options,
                              const struct sl_column_names *names, struct sl_chosen *chosen,
                              struct sl_err *err)
{
    *c = (struct sl_record_columns){.chosen = chosen};
    *chosen = (struct sl_chosen){.unlabelled = options->unlabelled};
    c->label = strdup(names->label);
    c->text = strdup(names->text);
    c->names = malloc(strlen(names->label) + strlen(names->text) + 2);
    if (!c->label || !c->text || !c->names)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
    for (int i = 0; i < SL_CHOSEN_MAX; i++)
        c->places[i] = i;
    if (!name_all(c, !names->keyed, false, err))
        return false;
    if (!names->keyed)
        read_numbers(c);
    return true;
}

/* ---- the line of names ----------------------------------------------------------------------- */

static const char separators[] = "\t,;|";

/* One field that has the separator of another format in it has not come apart. */
static bool is_whole(const struct sl_row *row)
{
    for (const char *c = separators; row->count == 1 && *c; c++)
        if (memchr(row->fields[0].data, *c, row->fields[0].bytes))
            return true;
    return false;
}

/* A comment, or a title in the first cell of a sheet, instead of names. */
static bool is_title(const struct sl_row *row)
{
    int empty = 0;
    for (int i = 1; i < row->count; i++)
        empty += row->fields[i].bytes == 0;
    return (row->fields[0].bytes > 0 && row->fields[0].data[0] == '#') ||
           (row->count > 1 && empty == row->count - 1);
}

const char *sl_record_columns_hint(const struct sl_row *row)
{
    const struct sl_field *field = &row->fields[0];
    if (row->count != 1)
        return "";
    if (memchr(field->data, '\t', field->bytes))
        return "; it has tabs: the format is tsv";
    if (memchr(field->data, ',', field->bytes) || memchr(field->data, ';', field->bytes))
        return "; it has commas or semicolons: the format is csv";
    return memchr(field->data, '|', field->bytes)
               ? "; it has bars (|): begin the file with the line sep=|, and the format is csv"
               : "";
}

static bool fail_name(const struct sl_record_columns *c, const char *name, const struct sl_row *row,
                      const char *separator, struct sl_err *err)
{
    struct sl_name_list list = {0};
    for (int i = 0; i < row->count; i++)
        sl_name_list_add(&list, row->fields[i].data, row->fields[i].bytes);
    if (is_title(row))
        return sl_fail(err, SL_BAD_INPUT,
                       "no column '%s'; the columns are %s; delete what stands above their names",
                       name, sl_name_list_text(&list));
    if (is_whole(row) || (row->count == 1 && !c->chosen->unlabelled))
        return sl_fail(err, SL_BAD_INPUT,
                       "no column '%s': there is only one, %s; fields must be separated by %s%s",
                       name, sl_name_list_text(&list), separator, sl_record_columns_hint(row));
    return sl_fail(
        err, SL_BAD_INPUT,
        "no column '%s'; the columns are %s; set %s by name or, if the first line is data, by "
        "number: %s",
        name, sl_name_list_text(&list), c->chosen->unlabelled ? "text" : "label and text",
        c->chosen->unlabelled ? "text 1" : "label 1, text 2");
}

/* *place: -1 if there is no such column. */
static bool find(const char *name, const struct sl_row *row, int *place, struct sl_err *err)
{
    *place = -1;
    for (int i = 0; i < row->count; i++) {
        const struct sl_field *field = &row->fields[i];
        if (field->bytes != strlen(name) || memcmp(field->data, name, field->bytes) != 0)
            continue;
        if (*place >= 0)
            return sl_fail(err, SL_BAD_INPUT, "fields %d and %d are both named '%s'; rename one",
                           *place + 1, i + 1, name);
        *place = i;
    }
    return true;
}

bool sl_record_columns_has(const struct sl_row *names, const char *name)
{
    int place;
    struct sl_err twice;
    return !find(name, names, &place, &twice) || place >= 0;
}

bool sl_record_columns_are_names(struct sl_record_columns *c, const struct sl_row *row)
{
    int places[SL_CHOSEN_MAX];
    struct sl_err twice;
    for (int i = 0; i < c->chosen->count; i++)
        if (!find(c->chosen->names[i], row, &places[i], &twice) || places[i] < 0)
            return false;
    memcpy(c->places, places, (size_t)c->chosen->count * sizeof *places);
    return true;
}

bool sl_record_columns_find(struct sl_record_columns *c, const struct sl_row *row,
                            const char *separator, struct sl_err *err)
{
    if (!name_all(c, sl_record_columns_has(row, c->label), sl_record_columns_has(row, c->text),
                  err))
        return false;
    for (int i = 0; i < c->chosen->count; i++) {
        if (!find(c->chosen->names[i], row, &c->places[i], err))
            return false;
        if (c->places[i] < 0)
            c->places[i] = read_place(c->chosen->names[i]);
        if (c->places[i] < 0 || c->places[i] >= row->count)
            return fail_name(c, c->chosen->names[i], row, separator, err);
    }
    return true;
}
