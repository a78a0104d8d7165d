/* label_twins.h - labels that are perhaps the same one, spelt in two ways. */
#pragma once

#include "data/labels.h"

/* Labels that differ only in case, spaces and underscores. */
struct label_twins {
    int count;          /* of such pairs */
    int32_t one, other; /* the first of them; the smaller first */
};

bool label_twins_find(struct label_twins *twins, const struct sl_labels *labels, struct sl_err *err)
    SL_MUST_CHECK;
