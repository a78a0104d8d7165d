/* text_splits.c - what Hugging Face's SplitDelimiterBehavior does, part by part. */
#include "tokenizer/text_splits.h"

#include "base/dynarray.h"

#include <stdlib.h>
#include <string.h>

void sl_splits_release(struct sl_splits *splits)
{
    free(splits->items);
    *splits = (struct sl_splits){0};
}

void sl_splits_add(struct sl_splits *splits, struct sl_split split)
{
    if (split.start >= split.stop)
        return;
    if (sl_dynarray_reserve(&splits->items, &splits->capacity, splits->count + 1,
                            sizeof *splits->items, NULL))
        splits->items[splits->count++] = split;
    else
        splits->failed = true;
}

bool sl_match_behavior_find(const char *name, enum sl_match_behavior *behavior)
{
    static const char *const names[] = {
        [SL_MATCH_REMOVED] = "Removed",
        [SL_MATCH_ISOLATED] = "Isolated",
        [SL_MATCH_CONTIGUOUS] = "Contiguous",
        [SL_MATCH_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [SL_MATCH_MERGED_WITH_NEXT] = "MergedWithNext",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *behavior = (enum sl_match_behavior)i;
            return true;
        }
    return false;
}

/* Whether a part is joined to the one before it, of the same piece. */
static bool joins(const struct sl_cutter *cutter, bool matches)
{
    switch (cutter->behavior) {
    case SL_MATCH_CONTIGUOUS: return matches == cutter->previous;
    case SL_MATCH_MERGED_WITH_PREVIOUS: return matches && !cutter->previous;
    case SL_MATCH_MERGED_WITH_NEXT: return !matches && cutter->previous;
    case SL_MATCH_REMOVED:
    case SL_MATCH_ISOLATED: break;
    }
    return false;
}

void sl_cutter_put(struct sl_cutter *cutter, size_t start, size_t stop, bool matches)
{
    if (start >= stop)
        return;
    matches = matches != cutter->invert;
    if (cutter->started && cutter->out->count > 0 && joins(cutter, matches))
        cutter->out->items[cutter->out->count - 1].stop = (uint32_t)stop;
    else if (!matches || cutter->behavior != SL_MATCH_REMOVED)
        sl_splits_add(cutter->out, (struct sl_split){(uint32_t)start, (uint32_t)stop, -1});
    cutter->started = true;
    cutter->previous = matches;
}
