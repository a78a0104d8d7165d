/* experiment_run.h - the trainings of an experiment: each is `sluice train` and `sluice eval` as
 * child processes, in a directory of its own. One that was interrupted is resumed. */
#pragma once

#include "cli/reproduce/experiment.h"

/* Prints the data files that are missing and where they are published; fails if there are any. */
bool experiment_run_check_data(const struct experiment_run *run, struct sl_err *err) SL_MUST_CHECK;

/* Runs the trainings that the results lack, and writes the results after each. Fails if SIGINT or
 * SIGTERM, which the children receive, too, comes before the end. */
bool experiment_run_all(struct experiment_run *run, struct sl_err *err) SL_MUST_CHECK;
