/* model_path.h - checks paths of models given on the command line: for output and for input. */
#pragma once

#include "sluice/err.h"

/* Whether a finished model can go to `out`, found out before the work and without making anything:
 * it is <model>/<version>, nothing but a model of ours is there, it can be written, and it does
 * not lie in `run` (NULL: there is no run). */
bool model_path_check_output(const char *out, const char *run, struct sl_err *err) SL_MUST_CHECK;

/* Whether there is a model in `directory`; else err says what there is instead. */
bool model_path_check_input(const char *directory, struct sl_err *err) SL_MUST_CHECK;
