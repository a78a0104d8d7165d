/* text_splits.h - a text cut into pieces that are looked at one by one. */
#pragma once

#include "tokenizer/aligned_text.h"

#include "sluice/err.h"

/* Bytes [start, stop) of a text: an added token, or text of which the model makes tokens. */
struct sl_split {
    uint32_t start, stop;
    int32_t id; /* of the added token; -1: text */
};

/* Starts as zeros. */
struct sl_splits {
    struct sl_split *items;
    size_t count, capacity;
    bool failed; /* out of memory: some are missing */
};

void sl_splits_release(struct sl_splits *splits);
/* Empty pieces are left out. */
void sl_splits_add(struct sl_splits *splits, struct sl_split split);

/* What becomes of the parts of a text that match a pattern. */
enum sl_match_behavior {
    SL_MATCH_REMOVED,
    SL_MATCH_ISOLATED,   /* a piece each */
    SL_MATCH_CONTIGUOUS, /* neighbours are one piece */
    SL_MATCH_MERGED_WITH_PREVIOUS,
    SL_MATCH_MERGED_WITH_NEXT
};

/* By the name in files; false: unknown. */
bool sl_match_behavior_find(const char *name, enum sl_match_behavior *behavior);

/* Cuts one piece: takes the parts that match and those between, in order. */
struct sl_cutter {
    struct sl_splits *out;
    enum sl_match_behavior behavior;
    bool invert;   /* what matches counts as not matching */
    bool previous; /* whether the last part matched */
    bool started;
};

void sl_cutter_put(struct sl_cutter *cutter, size_t start, size_t stop, bool matches);
