/* record_labels.c - splits the label field of a record, or takes its list. */
#include "data/record_labels.h"

#include "base/byte_string.h"
#include "base/dynarray.h"
#include "base/utf8.h"
#include "data/labels.h"
#include "data/name_list.h"
#include "tokenizer/normalizer.h"

#include <stdlib.h>
#include <string.h>

bool sl_label_separator_check(const char *separator, struct sl_err *err)
{
    struct sl_err invalid;
    size_t bytes = separator ? strlen(separator) : 0;
    return !separator ||
           (bytes >= 1 && bytes <= SL_LABEL_SEPARATOR_BYTES_MAX &&
            !sl_find_control(separator, bytes) && sl_utf8_check(separator, bytes, &invalid)) ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid label separator '%.16s': expected 1 to %d bytes of UTF-8 "
                   "without control characters, such as '|'",
                   separator, SL_LABEL_SEPARATOR_BYTES_MAX);
}

bool sl_field_is_blank(const struct sl_field *field)
{
    static const struct sl_normalizer cased = {0};
    struct sl_codepoint codepoints[SL_NORMALIZED_MAX];
    size_t at = 0;
    uint32_t point;
    while (at < field->bytes && sl_utf8_next(field->data, field->bytes, &at, &point)) {
        (void)sl_normalizer_apply(&cased, point, codepoints);
        if (codepoints[0].kind != SL_CODEPOINT_NONE && codepoints[0].kind != SL_CODEPOINT_SPACE)
            return false;
    }
    return at == field->bytes;
}

static bool check(const struct sl_field *label, const char *column, struct sl_err *err)
{
    if (!label->data || label->bytes == 0)
        return sl_fail(err, SL_BAD_INPUT, "column '%s': the label is empty", column);
    if (label->bytes > SL_LABEL_BYTES_MAX)
        return sl_fail(
            err, SL_BAD_INPUT,
            "column '%s': the label has %zu bytes, and at most %d are allowed; is this the column "
            "of the labels?",
            column, label->bytes, SL_LABEL_BYTES_MAX);
    const char *control = sl_find_control(label->data, label->bytes);
    if (!control)
        return !sl_field_is_blank(label) ||
               sl_fail(err, SL_BAD_INPUT, "column '%s': the label is blank", column);
    return sl_fail(err, SL_BAD_INPUT,
                   "column '%s': the label contains the control character 0x%02x%s", column,
                   (unsigned)*control,
                   *control == '\t' ? "; if tabs separate the fields, the format is tsv" : "");
}

static bool add(struct sl_record_labels *labels, struct sl_field label, const char *column,
                struct sl_err *err)
{
    if (!check(&label, column, err))
        return false;
    if (labels->count == SL_LABELS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "column '%s': more than %d labels", column,
                       SL_LABELS_MAX);
    if (!sl_dynarray_reserve(&labels->list, &labels->room, (size_t)labels->count + 1,
                             sizeof *labels->list, err))
        return false;
    labels->list[labels->count++] = label;
    return true;
}

static bool fail_empty(const struct sl_field *field, const char *separator, const char *column,
                       struct sl_err *err)
{
    char shown[SL_NAME_SHORT];
    return sl_fail(err, SL_BAD_INPUT,
                   "column '%s': '%s' has an empty label: expected labels with one '%s' between "
                   "them, or nothing for a text without a label",
                   column, sl_name_shorten(field->data, field->bytes, shown), separator);
}

static bool split(struct sl_record_labels *labels, struct sl_field field, const char *separator,
                  const char *column, struct sl_err *err)
{
    const size_t bytes = strlen(separator);
    const char *at = field.data, *end = field.data + field.bytes;
    for (;;) {
        const char *found = memmem(at, (size_t)(end - at), separator, bytes);
        const char *stop = found ? found : end;
        const struct sl_field part = {.data = at, .bytes = (size_t)(stop - at)};
        if (part.bytes == 0)
            return fail_empty(&field, separator, column, err);
        if (!add(labels, part, column, err))
            return false;
        if (!found)
            return true;
        at = found + bytes;
    }
}

/* ---- lists written as text ------------------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* A string in quotes. Returns what follows it; NULL: it is none. */
static const char *read_string(const char *at, const char *end, char **out)
{
    const char quote = *at++;
    for (; at < end && *at != quote; at++) {
        if (*at == '\\' && ++at == end)
            return NULL;
        *(*out)++ = *at;
    }
    return at < end ? at + 1 : NULL;
}

/* A string, or a number. */
static const char *read_item(const char *at, const char *end, char **out)
{
    if (*at == '\'' || *at == '"')
        return read_string(at, end, out);
    const char *first = at;
    while (at < end && *at && strchr("0123456789.+-eE", *at))
        *(*out)++ = *at++;
    return at > first ? at : NULL;
}

/* What stands around a list: Label Studio's, JSON's and Python's, a tuple's, a set's. Words in
 * round or curly brackets may be a label, but not with quotes or commas. */
static const struct brackets {
    const char *begin, *end, *needs; /* needs: one of these characters, or NULL */
} brackets[] = {{"{\"choices\": [", "]}", NULL},
                {"{\"choices\":[", "]}", NULL},
                {"[", "]", NULL},
                {"(", ")", ",'\""},
                {"{", "}", ",'\""}};

/* *inner: what is between the brackets. */
static bool is_in_brackets(struct sl_field field, struct sl_field *inner)
{
    for (size_t i = 0; i < sizeof brackets / sizeof brackets[0]; i++) {
        const struct brackets *b = &brackets[i];
        const size_t begin = strlen(b->begin), around = begin + strlen(b->end);
        if (field.bytes < around || memcmp(field.data, b->begin, begin) != 0 ||
            memcmp(field.data + field.bytes - (around - begin), b->end, around - begin) != 0)
            continue;
        *inner = (struct sl_field){field.data + begin, field.bytes - around};
        for (const char *c = b->needs; c && *c; c++)
            if (memchr(inner->data, *c, inner->bytes))
                return true;
        return !b->needs;
    }
    return false;
}

/* *is_list: whether the field is a list; then its items are added. */
static bool take_written_list(struct sl_record_labels *labels, struct sl_field field,
                              const char *column, bool *is_list, struct sl_err *err)
{
    struct sl_field inner;
    *is_list = false;
    if (!is_in_brackets(field, &inner))
        return true;
    if (!sl_dynarray_reserve(&labels->copy, &labels->copy_room, field.bytes, 1, err))
        return false;
    char *out = labels->copy;
    const char *end = inner.data + inner.bytes, *at = skip_blanks(inner.data, end);
    while (at < end) {
        const char *item = out;
        at = read_item(at, end, &out);
        if (!at) {
            labels->count = 0;
            return true;
        }
        if (!add(labels, (struct sl_field){item, (size_t)(out - item)}, column, err))
            return false;
        at = skip_blanks(at, end);
        at = skip_blanks(at < end && *at == ',' ? at + 1 : at, end);
    }
    *is_list = true;
    return true;
}

static void note_list(const struct sl_row *row, struct sl_field field)
{
    char shown[SL_NAME_SHORT];
    sl_note(row->notes,
            "lists written as text, such as %s, are read as lists of labels; [] is none",
            sl_name_shorten(field.data, field.bytes, shown));
}

static bool take_all(struct sl_record_labels *labels, const struct sl_row *row,
                     struct sl_field field, const char *separator, const char *column,
                     struct sl_err *err)
{
    labels->count = 0;
    labels->is_list = row->is_list;
    for (int i = 0; row->is_list && i < row->list_count; i++)
        if (!add(labels, row->list[i], column, err))
            return false;
    if (row->is_list || (separator && field.bytes == 0 && field.data))
        return true;
    if (field.data && !take_written_list(labels, field, column, &labels->is_list, err))
        return false;
    if (labels->is_list) {
        if (!labels->has_noted)
            note_list(row, field);
        labels->has_noted = true;
        return true;
    }
    return separator && field.data ? split(labels, field, separator, column, err)
                                   : add(labels, field, column, err);
}

bool sl_record_labels_take(struct sl_record_labels *labels, const struct sl_row *row,
                           struct sl_field field, const char *separator, const char *column,
                           struct sl_err *err)
{
    static const char prefix[] = SL_FASTTEXT_PREFIX;

    enum { BYTES = sizeof prefix - 1 };

    if (!take_all(labels, row, field, separator, column, err))
        return false;
    for (int i = 0; i < labels->count; i++) {
        struct sl_field *label = &labels->list[i];
        if (label->bytes <= BYTES || memcmp(label->data, prefix, BYTES) != 0)
            continue;
        *label = (struct sl_field){label->data + BYTES, label->bytes - BYTES};
        if (!labels->has_noted_prefix)
            sl_note(row->notes, "%s is taken off labels, the first in line %lld", prefix,
                    (long long)row->line);
        labels->has_noted_prefix = true;
    }
    return true;
}

void sl_record_labels_release(struct sl_record_labels *labels)
{
    free(labels->list);
    free(labels->copy);
    *labels = (struct sl_record_labels){0};
}
