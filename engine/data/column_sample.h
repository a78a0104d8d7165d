/* column_sample.h - what the first records have in a column, to tell labels from texts: labels are
 * few and short, and occur again. */
#pragma once

#include "data/record_format.h"

enum { SL_SAMPLE_LABELS_MAX = 50, SL_SAMPLE_LABEL_BYTES = 64 };

struct sl_column_sample {
    int fields;    /* that are not blank */
    int64_t bytes; /* of all of them */
    int distinct;  /* values, as long as all are short and few */
    bool is_prose; /* they are not */

    struct sl_sample_value {
        char text[SL_SAMPLE_LABEL_BYTES];
        size_t bytes;
    } values[SL_SAMPLE_LABELS_MAX];
};

void sl_column_sample_add(struct sl_column_sample *sample, const struct sl_field *field);
bool sl_column_sample_has(const struct sl_column_sample *sample, const char *value, size_t bytes);
/* Whether the first column can only be the label of texts that the second has. */
bool sl_column_sample_is_label_of(const struct sl_column_sample *label,
                                  const struct sl_column_sample *text);
