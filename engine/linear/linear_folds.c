/* linear_folds.c - gives every text its fold, label by label. */
#include "linear/linear_trials.h"

#include <stdlib.h>

static bool find_firsts(const struct sl_dataset *set, int32_t *first, struct sl_err *err)
{
    struct sl_numbered_example *texts = sl_dataset_by_hash(set, err);
    if (texts)
        sl_dataset_firsts(texts, set->count, first);
    free(texts);
    return texts != NULL;
}

/* The texts of a stratum: all, and those that have a fold. */
struct stratum {
    int texts, before;
};

/* Fold 0 is the last part of each stratum's texts. Those with fewer texts than folds take turns.
 * Equal texts count once, for the first one's stratum. */
static void cut(const struct sl_dataset *set, const int32_t *strata, const int32_t *first,
                struct stratum *all, int folds, int32_t *fold)
{
    int next = 0;
    for (int i = 0; i < set->count; i++)
        all[strata[i]].texts += first[i] == i;
    for (int i = 0; i < set->count; i++) {
        struct stratum *s = &all[strata[i]];
        if (first[i] != i) {
            fold[i] = fold[first[i]];
            continue;
        }
        int64_t part = (int64_t)s->before++ * folds / s->texts;
        if (s->texts < folds)
            part = next++ % folds;
        fold[i] = (int32_t)(folds - 1 - part);
    }
}

bool sl_linear_folds(const struct sl_dataset *set, int folds, int32_t *fold, struct sl_err *err)
{
    size_t count = (size_t)set->count;
    int32_t *first = malloc(count * sizeof *first), *strata = malloc(count * sizeof *strata);
    struct stratum *all = calloc((size_t)set->labels.count + 1, sizeof *all);
    bool ok = (first && strata && all) ||
              sl_fail(err, SL_NO_MEMORY, "no memory to divide %d texts", set->count);
    ok = ok && sl_dataset_strata(set, strata, err) && find_firsts(set, first, err);
    if (ok)
        cut(set, strata, first, all, folds, fold);
    free(first);
    free(strata);
    free(all);
    return ok;
}
