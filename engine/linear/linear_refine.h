/* linear_refine.h - what a search does with more time than the grid takes. */
#pragma once

#include "linear/linear_trials.h"

/* Uses the rest of the time that the search was given. */
bool sl_linear_refine(struct sl_linear_run *s, struct sl_err *err) SL_MUST_CHECK;
