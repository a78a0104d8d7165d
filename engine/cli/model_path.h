/* model_path.h - checks paths of models given on the command line: for output and for input. */
#pragma once

#include "sluice/err.h"

/* Checks that a model can be published to `out`, without creating anything: the path ends in
 * <model>/<version>, is writable, is empty or holds a model, and is outside of `run` (NULL: no
 * run). */
bool model_path_check_output(const char *out, const char *run, struct sl_err *err) SL_MUST_CHECK;

/* Checks that `out` has no model yet; if it has one, err suggests the next version, and `otherwise`
 * (NULL: nothing else). */
bool model_path_check_new(const char *out, const char *otherwise, struct sl_err *err) SL_MUST_CHECK;

/* Checks that `directory` has a model; if not, err suggests one nearby. */
bool model_path_check_input(const char *directory, struct sl_err *err) SL_MUST_CHECK;
