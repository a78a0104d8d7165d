/* joined_labels.h - labels that are perhaps several labels of one text, such as money|sport. */
#pragma once

#include "data/labels.h"

struct joined_labels {
    int count;             /* of labels whose parts are labels or recur, at least one a label */
    int32_t first;         /* of them, by id */
    const char *separator; /* that most of them have */
};

void joined_labels_find(struct joined_labels *joined, const struct sl_labels *labels);
