/* experiment.h - a table of a paper as a file, experiments/PAPER/NAME.yaml: data, recipe, and what
 * the paper got.
 *
 *     title: Language modelling on Tiny-Shakespeare
 *     paper: Adaptive Computation Depth via Learned Token Routing, table 2
 *     url: https://arxiv.org/abs/2605.05222
 *     about: what differs from the paper             optional
 *     data:
 *       - file: input.txt                            in --data
 *         origin: https://github.com/karpathy/char-rnn
 *         about: how to make the file of it          optional
 *       - {file: copy.txt, generate: copy, lines: 11000, length: 20, seed: 42}
 *                                                    instead: made by synthetic_task.h
 *     train: --corpus input.txt --steps 5000         arguments of every row
 *     eval: --corpus input.txt                       optional
 *     quick: --steps 50                              more arguments with --quick
 *     seeds: 1 2 3
 *     tolerance: {loss: 0.02}
 *     beside: first row                              optional: rows are compared by how they differ
 *                                                    from the first, where data are others
 *     figures:                                       optional
 *       - name: loss                                 written as NAME-loss.svg
 *         title: Validation loss by step
 *         about: figure 2, left                      optional
 *         points: evaluations                        of the training, a line for each row; or rows
 *         x: step
 *         y: validation_loss
 *     rows:
 *       - name: tsa
 *         train: tsa --compute-weight 0.001          the architecture comes first
 *         eval: --gate hard                          optional: more arguments
 *         paper: {loss: 1.4482}
 *
 * A row is a training for each seed; its value of a metric is the mean. What is measured has a
 * tolerance; what the paper got may be missing. A row whose arguments of training are those of an
 * earlier one has its model. Arguments are words between
 * spaces; a word that is the name of a data file stands for its path. */
#pragma once

#include "cli/reproduce/synthetic_task.h"

#include <stdbool.h>
#include <stddef.h>

struct sl_yaml;
struct json_t;

enum {
    EXPERIMENT_DATA_MAX = 8,
    EXPERIMENT_ROWS_MAX = 32,
    EXPERIMENT_SEEDS_MAX = 16,
    EXPERIMENT_FIGURES_MAX = 8
};

/* What rows are compared by: members of the JSON of `sluice eval`, or of the last evaluation in the
 * log of the training. */
enum {
    METRIC_LOSS,
    METRIC_ACCURACY,
    METRIC_BLEU,
    METRIC_GATE_MEAN,
    METRIC_LAYER_OPS_SKIPPED,
    METRIC_BEST_ACCURACY,
    METRIC_TRAIN_ACCURACY,
    METRIC_VALIDATION_DEPTH,
    METRICS
};

extern const struct metric {
    const char *name;
    bool is_logged; /* by the training */
} metrics[METRICS];

struct experiment_data {
    const char *file, *origin, *about;
    struct synthetic_task task; /* instead of `origin`; its name may be NULL */
};

/* A curve has these of each evaluation: members of its event in the log of the training, and
 *     active_tokens   tokens trained so far, each by the mean gate of its evaluation */
extern const char *const experiment_curve_columns[];

struct experiment_figure {
    const char *name, *title, *about;
    bool of_rows;      /* its points are rows, else evaluations */
    const char *x, *y; /* metrics, or columns of a curve */
};

struct experiment_row {
    const char *name, *train, *eval;
    double paper[METRICS]; /* NAN: not given */
};

/* Optional strings may be NULL. All belong to the file, `yaml`. */
struct experiment {
    char id[128]; /* PAPER/NAME */
    struct sl_yaml *yaml;
    const char *title, *paper, *url, *about, *train, *eval, *quick;
    const char *beside; /* "first row", or NULL */
    int seeds[EXPERIMENT_SEEDS_MAX], seed_count;
    double tolerance[METRICS]; /* NAN: not given */
    struct experiment_data data[EXPERIMENT_DATA_MAX];
    int data_count;
    struct experiment_row rows[EXPERIMENT_ROWS_MAX];
    int row_count;
    struct experiment_figure figures[EXPERIMENT_FIGURES_MAX];
    int figure_count;
};

/* Reads a file .../PAPER/NAME.yaml. Errors name file, line and column. */
bool experiment_open(struct experiment *e, const char *path, struct sl_err *err) SL_MUST_CHECK;
void experiment_close(struct experiment *e); /* a zeroed one is fine */

/* How an experiment is run. */
struct experiment_run {
    const struct experiment *experiment;
    const char *data, *output; /* directories */
    bool quick, json;
    int threads;            /* 0: as `sluice train` chooses */
    struct json_t *results; /* experiment_results.h */
};
