/* column_sample.c - counts the distinct values of a column. */
#include "data/column_sample.h"

#include "base/byte_string.h"
#include "data/record_labels.h"

#include <string.h>

bool sl_column_sample_has(const struct sl_column_sample *sample, const char *value, size_t bytes)
{
    for (int i = 0; i < sample->distinct; i++)
        if (sample->values[i].bytes == bytes && memcmp(sample->values[i].text, value, bytes) == 0)
            return true;
    return false;
}

void sl_column_sample_add(struct sl_column_sample *sample, const struct sl_field *field)
{
    if (sl_field_is_blank(field))
        return;
    sample->fields++;
    sample->bytes += (int64_t)field->bytes;
    if (sample->is_prose || sl_column_sample_has(sample, field->data, field->bytes))
        return;
    sample->is_prose = sample->distinct == SL_SAMPLE_LABELS_MAX ||
                       field->bytes > SL_SAMPLE_LABEL_BYTES ||
                       sl_find_control(field->data, field->bytes);
    if (sample->is_prose)
        return;
    struct sl_sample_value *value = &sample->values[sample->distinct++];
    memcpy(value->text, field->data, field->bytes);
    value->bytes = field->bytes;
}

/* Each value occurs at least twice, on average. */
static bool is_label(const struct sl_column_sample *s)
{
    return !s->is_prose && s->distinct > 1 && 2 * s->distinct <= s->fields;
}

bool sl_column_sample_is_label_of(const struct sl_column_sample *label,
                                  const struct sl_column_sample *text)
{
    return is_label(label) && text->fields > 0 && !is_label(text) &&
           text->bytes * label->fields > label->bytes * text->fields;
}
