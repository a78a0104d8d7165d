/* dataset_split.c - splits off validation examples, and shuffles the others. */
#include "base/dynarray.h"
#include "base/int_math.h"
#include "base/random.h"
#include "data/dataset.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which examples ------------------------------------------------------------------------- */

void sl_dataset_count_labels(const struct sl_dataset *set, int *counts)
{
    const int64_t all = set->count > 0 ? set->label_lists.first[set->count] : 0;
    memset(counts, 0, (size_t)set->labels.count * sizeof *counts);
    for (int64_t i = 0; i < all; i++)
        counts[set->label_lists.ids[i]]++;
}

bool sl_dataset_strata(const struct sl_dataset *set, int32_t *strata, struct sl_err *err)
{
    int *texts = calloc((size_t)set->labels.count + 1, sizeof *texts);
    if (!texts)
        return sl_fail(err, SL_NO_MEMORY, "no memory to count %d labels", set->labels.count);
    sl_dataset_count_labels(set, texts);
    for (int i = 0; i < set->count; i++) {
        const struct sl_label_list list = sl_label_list(&set->label_lists, i);
        strata[i] = list.count > 0 ? list.ids[0] : set->labels.count;
        for (int k = 1; k < list.count; k++)
            if (texts[list.ids[k]] < texts[strata[i]])
                strata[i] = list.ids[k];
    }
    free(texts);
    return true;
}

static int examples_compare(const void *a, const void *b)
{
    const struct sl_numbered_example *x = a, *y = b;
    if (x->stratum != y->stratum)
        return x->stratum < y->stratum ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->example > y->example) - (x->example < y->example);
}

static struct sl_numbered_example *examples_make(const struct sl_dataset *set, struct sl_err *err)
{
    struct sl_numbered_example *list = calloc((size_t)set->count, sizeof *list);
    for (int32_t i = 0; list && i < set->count; i++)
        list[i].example = i;
    if (!list)
        sl_fail(err, SL_NO_MEMORY, "no memory to divide %d examples", set->count);
    return list;
}

struct sl_numbered_example *sl_dataset_by_stratum(const struct sl_dataset *set, uint64_t key,
                                                  struct sl_err *err)
{
    struct sl_numbered_example *list = examples_make(set, err);
    int32_t *strata = malloc((size_t)set->count * sizeof *strata);
    bool ok = list &&
              (strata || sl_fail(err, SL_NO_MEMORY, "no memory to divide %d examples", set->count));
    ok = ok && sl_dataset_strata(set, strata, err);
    for (int32_t i = 0; ok && i < set->count; i++) {
        list[i].number = sl_random_bits(key, (uint64_t)i);
        list[i].stratum = strata[i];
    }
    free(strata);
    if (!ok) {
        free(list);
        return NULL;
    }
    qsort(list, (size_t)set->count, sizeof *list, examples_compare);
    return list;
}

uint64_t sl_dataset_hash(const struct sl_dataset *set, int example)
{
    int count;
    const int32_t *ids = sl_dataset_ids(set, example, &count);
    uint64_t hash = sl_random_key((uint64_t)count, "texts");
    for (int i = 0; i < count; i++)
        hash = sl_random_bits(hash, (uint64_t)ids[i]);
    return hash;
}

struct sl_numbered_example *sl_dataset_by_hash(const struct sl_dataset *set, struct sl_err *err)
{
    struct sl_numbered_example *list = examples_make(set, err);
    if (!list)
        return NULL;
    for (int i = 0; i < set->count; i++)
        list[i].number = sl_dataset_hash(set, i);
    qsort(list, (size_t)set->count, sizeof *list, examples_compare);
    return list;
}

void sl_dataset_firsts(const struct sl_numbered_example *by_hash, int count, int32_t *first)
{
    for (int i = 0; i < count; i++) {
        const bool repeats = i > 0 && by_hash[i].number == by_hash[i - 1].number;
        first[by_hash[i].example] = repeats ? first[by_hash[i - 1].example] : by_hash[i].example;
    }
}

/* The number to take of one stratum's examples: rounded, but at least one stays for training. */
static int share_of(double share, int examples)
{
    int part = (int)floor(share * examples + 0.5);
    return sl_min(part, examples - 1);
}

/* Marks the examples to take, returns how many. The draws are sorted. */
static int draws_take(const struct sl_numbered_example *draws, int count, double share, bool *taken)
{
    int total = 0;
    for (int first = 0, end = 0; first < count; first = end) {
        while (end < count && draws[end].stratum == draws[first].stratum)
            end++;
        int part = share_of(share, end - first);
        for (int i = first; i < first + part; i++)
            taken[draws[i].example] = true;
        total += part;
    }
    return total;
}

/* Of each stratum, those with the smallest random numbers. */
static bool examples_choose(const struct sl_dataset *set, double share, uint64_t seed, bool *taken,
                            struct sl_err *err)
{
    struct sl_numbered_example *draws =
        sl_dataset_by_stratum(set, sl_random_key(seed, "validation examples"), err);
    if (!draws)
        return false;
    const int total = draws_take(draws, set->count, share, taken);
    free(draws);
    return total > 0 ||
           sl_fail(err, SL_BAD_INPUT,
                   "holding out %g %% for validation needs a label with at least %.0f texts; add "
                   "texts, or give a validation file",
                   100.0 * share, fmax(2, ceil(0.5 / share))) ||
           sl_wrap_file(err, set->path, 0);
}

/* ---- moving them ---------------------------------------------------------------------------- */

/* Reserves memory in the second set. */
static bool cut_make(const struct sl_dataset *set, const bool *taken, struct sl_dataset *cut,
                     struct sl_err *err)
{
    size_t examples = 0, bytes = 0;
    for (int i = 0; i < set->count; i++) {
        examples += taken[i];
        bytes += taken[i] ? (size_t)set->examples[i].bytes + 1 : 0;
    }
    cut->path = strdup(set->path);
    cut->multi_label = set->multi_label;
    return (cut->path || sl_fail(err, SL_NO_MEMORY, "no memory to divide '%s'", set->path)) &&
           sl_dynarray_reserve(&cut->examples, &cut->examples_room, examples, sizeof *cut->examples,
                               err) &&
           sl_dynarray_reserve(&cut->text, &cut->text_room, bytes, 1, err) &&
           sl_labels_copy(&cut->labels, &set->labels, err);
}

/* Divides the labels of the examples. */
static bool divide_labels(const struct sl_dataset *set, const bool *taken,
                          struct sl_label_lists *left, struct sl_label_lists *cut,
                          struct sl_err *err)
{
    for (int i = 0; i < set->count; i++) {
        const struct sl_label_list list = sl_label_list(&set->label_lists, i);
        if (!sl_label_lists_add(taken[i] ? cut : left, list.ids, list.count, err))
            return false;
    }
    return true;
}

/* Appends an example, with its text and the line feed, to a set: to the second one, or to its own
 * again, which closes the gaps. */
static void example_move(struct sl_dataset *to, const char *text, struct sl_example example)
{
    size_t bytes = (size_t)example.bytes + 1;
    memmove(to->text + to->text_bytes, text + example.text, bytes);
    example.text = (int64_t)to->text_bytes;
    to->text_bytes += bytes;
    to->examples[to->count++] = example;
}

static void examples_move(struct sl_dataset *set, const bool *taken, struct sl_dataset *cut)
{
    int count = set->count;
    set->count = 0;
    set->text_bytes = 0;
    for (int i = 0; i < count; i++)
        example_move(taken[i] ? cut : set, set->text, set->examples[i]);
    sl_dynarray_shrink(&set->examples, &set->examples_room, (size_t)set->count,
                       sizeof *set->examples);
    sl_dynarray_shrink(&set->text, &set->text_room, set->text_bytes, 1);
}

static bool share_check(double share, struct sl_err *err)
{
    /* Written so that NaN fails. */
    bool fine = share > 0 && share < 1;
    return fine ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid validation fraction %g: expected more than 0 and less than 1", share);
}

bool sl_dataset_split(struct sl_dataset *set, double share, uint64_t seed, struct sl_dataset *cut,
                      struct sl_err *err)
{
    assert(set->text);
    assert(!set->ids);
    struct sl_dataset fresh = {0};
    if (!share_check(share, err))
        return false;
    bool *taken = calloc((size_t)set->count, sizeof *taken);
    struct sl_label_lists left = {0};
    if (!taken)
        return sl_fail(err, SL_NO_MEMORY, "no memory to divide %d examples", set->count);
    bool ok = examples_choose(set, share, seed, taken, err) && cut_make(set, taken, &fresh, err) &&
              divide_labels(set, taken, &left, &fresh.label_lists, err);
    if (ok) {
        examples_move(set, taken, &fresh);
        sl_label_lists_release(&set->label_lists);
        set->label_lists = left;
        *cut = fresh;
    } else {
        sl_label_lists_release(&left);
        sl_dataset_close(&fresh);
    }
    free(taken);
    return ok;
}

/* Fisher and Yates, as in Durstenfeld 1964: from the back, each place gets what a random one up to
 * itself holds. */
void sl_dataset_order(uint64_t seed, uint64_t epoch, int count, int32_t *out)
{
    assert(count >= 0);
    assert(out || count == 0);
    uint64_t key = sl_random_bits(sl_random_key(seed, "order of examples"), epoch);
    for (int32_t i = 0; i < count; i++)
        out[i] = i;
    for (int32_t i = count - 1; i > 0; i--) {
        int32_t j = (int32_t)sl_random_below(key, (uint64_t)i, (uint64_t)i + 1);
        int32_t other = out[j];
        out[j] = out[i];
        out[i] = other;
    }
}
