/* linear_folds.c - see linear_folds.h. */
#include "train/linear_folds.h"

#include "base/random.h"

#include <stdlib.h>

/* A text's place: texts are sorted by stratum, then equal ones together. */
struct place {
    int32_t stratum, text;
    uint64_t hash;
};

static uint64_t hash_text(const struct sl_dataset *set, int text)
{
    int count;
    const int32_t *ids = sl_dataset_ids(set, text, &count);
    uint64_t hash = sl_random_key(0, "folds");
    for (int i = 0; i < count; i++)
        hash = sl_random_bits(hash, (uint64_t)ids[i]);
    return hash;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->stratum != y->stratum)
        return x->stratum < y->stratum ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

/* first[i]: the first text that equals text i and has its stratum. */
static void find_firsts(const struct sl_dataset *set, const int32_t *strata, struct place *places,
                        int32_t *first)
{
    for (int i = 0; i < set->count; i++)
        places[i] = (struct place){strata[i], i, hash_text(set, i)};
    qsort(places, (size_t)set->count, sizeof *places, compare_places);
    for (int i = 0; i < set->count; i++) {
        const struct place *p = &places[i], *before = i > 0 ? p - 1 : NULL;
        bool same = before && before->stratum == p->stratum && before->hash == p->hash;
        first[p->text] = same ? first[before->text] : p->text;
    }
}

/* The texts of a stratum: all, and those that have a fold. */
struct stratum {
    int texts, before;
};

/* Fold 0 is the last part of each stratum's texts, equal ones counted once. Those with fewer texts
 * than folds take turns. */
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
    struct place *places = malloc(count * sizeof *places);
    int32_t *first = malloc(count * sizeof *first), *strata = malloc(count * sizeof *strata);
    struct stratum *all = calloc((size_t)set->labels.count + 1, sizeof *all);
    bool ok = (places && first && strata && all) ||
              sl_fail(err, SL_NO_MEMORY, "no memory to divide %d texts", set->count);
    ok = ok && sl_dataset_strata(set, strata, err);
    if (ok) {
        find_firsts(set, strata, places, first);
        cut(set, strata, first, all, folds, fold);
    }
    free(places);
    free(first);
    free(strata);
    free(all);
    return ok;
}
