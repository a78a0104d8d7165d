/* experiment_results.h - what an experiment got, as JSON in OUTPUT/PAPER/NAME.json:
 *
 *     {"experiment", "title", "paper", "url", "about", "figures": [{"name", "title", "about"}],
 *      "quick", "version",
 *      "runs": [{"row", "seed", "train", "eval", "cpu", "isa", "threads", "date", "wall_seconds",
 *                "values": {METRIC: number}, "curve": [{COLUMN: number}]}],
 *      "rows": [{"row", "metric", "paper", "ours", "difference", "tolerance", "within",
 *                "wall_seconds"}]}
 *
 * A run is one training, "train" and "eval" are the words of its commands; "eval" may be null. A
 * row is a metric: the mean over the seeds that have run. "within" is null for a quick run, which
 * is no reproduction, and with "paper" and "difference" where the paper has no value. Wall times
 * are those of the trainings. A curve has a point for each evaluation (experiment.h). */
#pragma once

#include "base/file.h"
#include "cli/reproduce/experiment.h"

struct json_t;

/* OUTPUT/PAPER/NAME, with -quick and a suffix; fails if it is too long. */
bool experiment_results_path(const struct experiment_run *run, const char *suffix,
                             char path[static SL_PATH_MAX], struct sl_err *err) SL_MUST_CHECK;

/* Sets run->results to those so far, to be released also after a failure. */
bool experiment_results_open(struct experiment_run *run, struct sl_err *err) SL_MUST_CHECK;

/* Whether they have the run of these commands; eval may be NULL. */
bool experiment_results_have(const struct experiment_run *run, const char *row, int seed,
                             const struct json_t *train, const struct json_t *eval);

struct experiment_result {
    const struct experiment_row *row;
    int seed;
    struct json_t *train, *eval; /* words; eval may be NULL */
    const char *isa;
    int threads;
    double seconds;
    const double *values; /* METRICS; NAN: not measured */
    struct json_t *curve;
};

/* The run of a row and seed; NULL: there is none. */
const struct json_t *experiment_results_find(const struct json_t *results, const char *row,
                                             int seed);

/* Adds a run, in place of an earlier one of its row and seed, and writes the file. */
bool experiment_results_add(struct experiment_run *run, const struct experiment_result *result,
                            struct sl_err *err) SL_MUST_CHECK;

/* Print the rows beside the paper's: as a table, as a line of JSON each, or as the Markdown section
 * of a file of results, with the figures that lie beside it. */
void experiment_results_print(const struct json_t *results);
void experiment_results_print_json(const struct json_t *results);
bool experiment_results_print_page(const char *path, struct sl_err *err) SL_MUST_CHECK;
