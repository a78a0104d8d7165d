/* learning_curve.c - see learning_curve.h. */
#include "train/learning_curve.h"

#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A text with its random number. */
struct draw {
    uint64_t number;
    int32_t stratum, text;
};

static int compare_draws(const void *a, const void *b)
{
    const struct draw *x = a, *y = b;
    if (x->stratum != y->stratum)
        return x->stratum < y->stratum ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

bool sl_learning_parts(const struct sl_dataset *set, int8_t *part, struct sl_err *err)
{
    const uint64_t key = sl_random_key(0, "learning curve");
    struct draw *draws = malloc((size_t)set->count * sizeof *draws);
    int32_t *strata = malloc((size_t)set->count * sizeof *strata);
    bool ok =
        (draws && strata) || sl_fail(err, SL_NO_MEMORY, "no memory to divide %d texts", set->count);
    ok = ok && sl_dataset_strata(set, strata, err);
    for (int32_t i = 0; ok && i < set->count; i++)
        draws[i] = (struct draw){sl_random_bits(key, (uint64_t)i), strata[i], i};
    if (ok)
        qsort(draws, (size_t)set->count, sizeof *draws, compare_draws);
    for (int i = 0; ok && i < set->count; i++)
        part[draws[i].text] = (int8_t)(i % SL_LEARNING_PARTS);
    free(draws);
    free(strata);
    return ok;
}

void sl_learning_curve_add(struct sl_learning_curve *curve, int texts, double accuracy)
{
    assert(curve->count < SL_LEARNING_POINTS);
    curve->points[curve->count++] = (struct sl_learning_point){texts, accuracy};
}

double sl_learning_curve_forecast(const struct sl_learning_curve *curve)
{
    const struct sl_learning_point *last = &curve->points[curve->count - 1];
    const double error = 1.0 - last->accuracy, before = 1.0 - last[-curve->doublings].accuracy;
    if (!(before > 0.0) || error >= before)
        return last->accuracy;
    return 1.0 - error * pow(error / before, 1.0 / curve->doublings);
}
