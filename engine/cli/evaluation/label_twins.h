/* label_twins.h - labels that are perhaps the same one, spelt in two ways. */
#pragma once

#include "data/labels.h"

/* Labels that differ only in case, spaces and underscores; the smaller id first. */
struct label_twin {
    int32_t one, other;
};

struct label_twins {
    int count; /* of such pairs */
    struct label_twin first[2];
};

bool label_twins_find(struct label_twins *twins, const struct sl_labels *labels, struct sl_err *err)
    SL_MUST_CHECK;
