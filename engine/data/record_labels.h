/* record_labels.h - the labels of a record: its field is one, or several with a separator between
 * them, or a list.
 *
 * A list may be written as text, as Python, JSON and Label Studio do: ['food', 'sport'], [1], [],
 * ('food',), {'food'}, {"choices": ["food"]}. Labels lose fastText's prefix __label__. */
#pragma once

#include "data/record_format.h"
#include "sluice/dataset.h"

struct sl_record_labels {
    struct sl_field *list;
    int count;
    size_t room;
    bool is_list, has_noted, has_noted_prefix;
    char *copy; /* of a list that is written as text, without escapes */
    size_t copy_room;
};

/* Whether a field has only white space and characters that tokenizers remove, or nothing. */
bool sl_field_is_blank(const struct sl_field *field);

/* field: that of the label's column, which is `column`; an empty one has no label if there is a
 * separator. Errors name the column. */
bool sl_record_labels_take(struct sl_record_labels *labels, const struct sl_row *row,
                           struct sl_field field, const char *separator, const char *column,
                           struct sl_err *err) SL_MUST_CHECK;
void sl_record_labels_release(struct sl_record_labels *labels); /* a zeroed one is fine */
