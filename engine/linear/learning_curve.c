/* learning_curve.c - divides the texts into parts, and extrapolates the accuracy. */
#include "linear/learning_curve.h"

#include "base/random.h"

#include <assert.h>
#include <stdlib.h>

bool sl_learning_parts(const struct sl_dataset *set, int8_t *part, struct sl_err *err)
{
    struct sl_numbered_example *texts =
        sl_dataset_by_stratum(set, sl_random_key(0, "learning curve"), err);
    if (!texts)
        return false;
    for (int i = 0; i < set->count; i++)
        part[texts[i].example] = (int8_t)(i % SL_LEARNING_PARTS);
    free(texts);
    return true;
}

void sl_learning_curve_add(struct sl_learning_curve *curve, int texts, double accuracy)
{
    assert(curve->count < SL_LEARNING_POINTS);
    curve->points[curve->count++] = (struct sl_learning_point){texts, accuracy};
}

double sl_learning_curve_forecast(const struct sl_learning_curve *curve)
{
    const struct sl_learning_point *last = &curve->points[curve->count - 1];
    const double error = 1.0 - last->accuracy, before = 1.0 - last[-1].accuracy;
    if (!(before > 0.0) || error >= before)
        return last->accuracy;
    return 1.0 - error * error / before;
}
