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

/* An example with its random number: of each label, those with the smallest numbers are taken. */
struct draw {
    uint64_t number;
    int32_t label, example;
};

static int draws_compare(const void *a, const void *b)
{
    const struct draw *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->example > y->example) - (x->example < y->example);
}

/* The number to take of one label's examples: rounded, but at least one stays for training. */
static int share_of(double share, int examples)
{
    int part = (int)floor(share * examples + 0.5);
    return sl_min(part, examples - 1);
}

/* Marks the examples to take, returns how many. The draws are sorted. */
static int draws_take(const struct draw *draws, int count, double share, bool *taken)
{
    int total = 0;
    for (int first = 0, end = 0; first < count; first = end) {
        while (end < count && draws[end].label == draws[first].label)
            end++;
        int part = share_of(share, end - first);
        for (int i = first; i < first + part; i++)
            taken[draws[i].example] = true;
        total += part;
    }
    return total;
}

static bool examples_choose(const struct sl_dataset *set, double share, uint64_t seed, bool *taken,
                            struct sl_err *err)
{
    uint64_t key = sl_random_key(seed, "validation examples");
    struct draw *draws = malloc((size_t)set->count * sizeof *draws);
    if (!draws)
        return sl_fail(err, SL_NO_MEMORY, "no memory to divide %d examples", set->count);
    for (int32_t i = 0; i < set->count; i++)
        draws[i] = (struct draw){sl_random_bits(key, (uint64_t)i), set->examples[i].label, i};
    qsort(draws, (size_t)set->count, sizeof *draws, draws_compare);
    int total = draws_take(draws, set->count, share, taken);
    free(draws);
    return total > 0 ||
           sl_fail(err, SL_BAD_INPUT,
                   "'%s': holding out %g %% for validation needs a label with at least %.0f texts; "
                   "add texts, or give --validation FILE",
                   set->path, 100.0 * share, fmax(2, ceil(0.5 / share)));
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
    return (cut->path || sl_fail(err, SL_NO_MEMORY, "no memory to divide '%s'", set->path)) &&
           sl_dynarray_reserve(&cut->examples, &cut->examples_room, examples, sizeof *cut->examples,
                               err) &&
           sl_dynarray_reserve(&cut->text, &cut->text_room, bytes, 1, err) &&
           sl_labels_copy(&cut->labels, &set->labels, err);
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
    if (!taken)
        return sl_fail(err, SL_NO_MEMORY, "no memory to divide %d examples", set->count);
    bool ok = examples_choose(set, share, seed, taken, err) && cut_make(set, taken, &fresh, err);
    if (ok) {
        examples_move(set, taken, &fresh);
        *cut = fresh;
    } else {
        sl_dataset_close(&fresh);
    }
    free(taken);
    return ok;
}

/* ---- the order of an epoch ------------------------------------------------------------------ */

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
