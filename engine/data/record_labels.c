/* record_labels.c - splits the label field of a record, or takes its list. */
#include "data/record_labels.h"

#include "base/byte_string.h"
#include "base/dynarray.h"
#include "base/utf8.h"
#include "data/labels.h"
#include "data/name_list.h"

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

static bool check(const struct sl_field *label, const char *column, struct sl_err *err)
{
    if (label->bytes == 0)
        return sl_fail(err, SL_BAD_INPUT, "column '%s': the label is empty", column);
    if (label->bytes > SL_LABEL_BYTES_MAX)
        return sl_fail(
            err, SL_BAD_INPUT,
            "column '%s': the label has %zu bytes, and at most %d are allowed; is this the column "
            "of the labels?",
            column, label->bytes, SL_LABEL_BYTES_MAX);
    const char *control = sl_find_control(label->data, label->bytes);
    if (!control)
        return true;
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

bool sl_record_labels_take(struct sl_record_labels *labels, const struct sl_row *row,
                           struct sl_field field, const char *separator, const char *column,
                           struct sl_err *err)
{
    labels->count = 0;
    for (int i = 0; row->is_list && i < row->list_count; i++)
        if (!add(labels, row->list[i], column, err))
            return false;
    if (row->is_list || (separator && field.bytes == 0 && field.data))
        return true;
    return separator && field.data ? split(labels, field, separator, column, err)
                                   : add(labels, field, column, err);
}

void sl_record_labels_release(struct sl_record_labels *labels)
{
    free(labels->list);
    *labels = (struct sl_record_labels){0};
}
