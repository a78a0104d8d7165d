/* places.h - directories that a command is told: where a model may go, and whether there is one. */
#pragma once

#include "sluice/err.h"

/* Whether a finished model can go to `out`, found out before the work and without making anything:
 * it is <model>/<version>, nothing but a model of ours is there, it can be written, and it does
 * not lie in `run` (NULL: there is no run). */
bool place_for_model(const char *out, const char *run, struct sl_err *err) SL_MUST_CHECK;

/* Whether there is a model in `directory`; else err says what there is instead. */
bool place_of_model(const char *directory, struct sl_err *err) SL_MUST_CHECK;
