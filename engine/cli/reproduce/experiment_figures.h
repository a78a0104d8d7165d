/* experiment_figures.h - the figures of an experiment, drawn from its results. */
#pragma once

#include "cli/reproduce/experiment.h"
#include "sluice/err.h"

/* Writes OUTPUT/PAPER/NAME-FIGURE.svg of each figure that has enough points: of evaluations a line
 * for each row, with its first seed; of rows a line through their means, in the order of x. */
bool experiment_figures_write(const struct experiment_run *run, struct sl_err *err) SL_MUST_CHECK;
