/* linear_grid.h - the recipes that every search tries. */
#pragma once

#include "linear/linear_trials.h"

bool sl_linear_grid(struct sl_linear_run *s, struct sl_err *err) SL_MUST_CHECK;
