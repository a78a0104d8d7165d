/* select_operating_points.c - which thresholds of a model are worth offering. */
#include "train/select_operating_points.h"

#include <math.h>

/* Budgets closer than this are one choice; the time of a pass varies by about as much. What skips
 * no more operations does not take less time, whatever was measured. */
static const double budget_step = 0.03, skipped_step = 0.001;

static double budget_of(double seconds, double full_seconds)
{
    return fmax(0.01, ceil(100 * seconds / full_seconds - 1e-9) / 100);
}

int sl_operating_points_select(const struct sl_operating_point *measured, const double *seconds,
                               int count, double loss_most, struct sl_operating_point *points)
{
    int offered = 1;
    points[0] = measured[0];
    points[0].budget = 1;
    for (int i = 1; i < count; i++) {
        struct sl_operating_point point = measured[i];
        point.budget = budget_of(seconds[i], seconds[0]);
        const struct sl_operating_point *last = &points[offered - 1];
        if (!(point.loss <= loss_most) ||
            point.layer_ops_skipped < last->layer_ops_skipped + skipped_step ||
            point.budget > last->budget - budget_step + 1e-9)
            continue;
        while (offered > 1 && points[offered - 1].loss >= point.loss)
            offered--;
        points[offered++] = point;
    }
    return offered;
}
