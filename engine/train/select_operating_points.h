/* select_operating_points.h - which thresholds of a model are worth offering. */
#pragma once

#include "sluice/model.h"

/* The points to offer, of those that were measured by falling threshold; the first computed
 * everything. `seconds`: of each. Sets the budgets: the time as a fraction of the first's, in
 * hundredths, rounded up. Offered are the first, and those with a loss of at most `loss_most`,
 * except where a cheaper one has no higher loss, or where the one before costs or computes hardly
 * more. Returns how many there are. */
int sl_operating_points_select(const struct sl_operating_point *measured, const double *seconds,
                               int count, double loss_most, struct sl_operating_point *points);
