/* similar_labels.h - labels that are perhaps the same one, spelt in two ways.
 *
 * They are alike in Unicode's compatibility form (NFKC) without case, white space, underscores and
 * characters that cannot be seen; or they are the same number, as 0 and 0.0. */
#pragma once

#include "data/labels.h"

/* The smaller id first. */
struct similar_pair {
    int32_t one, other;
};

enum { SIMILAR_PAIRS_SHOWN = 4 };

struct similar_labels {
    int count; /* of such pairs */
    struct similar_pair first[SIMILAR_PAIRS_SHOWN];
};

bool similar_labels_find(struct similar_labels *similar, const struct sl_labels *labels,
                         struct sl_err *err) SL_MUST_CHECK;
