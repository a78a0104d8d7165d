/* command_operating_points.c - `sluice operating-points`: measures quality and time of a model at
 * several thresholds, and writes the useful ones to its config.json. */
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/eval_source.h"
#include "cli/model_path.h"
#include "cli/operating_point_list.h"
#include "cli/policy_options.h"
#include "model/model.h"
#include "train/int8_loss.h"
#include "train/select_operating_points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *out, *thresholds, *isa, *precision;
    struct sl_given_int rounds;
    struct sl_given_real max_loss_increase;
    bool overwrite, json;
    int threads;
};

static const char default_thresholds[] = "0.99,0.95,0.9,0.8,0.7,0.6,0.5,0.4,0.3,0.2,0.1";

enum { ROUNDS = 3 };

static const double loss_increase = 0.1;

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"thresholds", "X[,X...]",
     "thresholds to measure besides 1, which computes everything "
     "[0.99,0.95,0.9,0.8,0.7,0.6,0.5,0.4,0.3,0.2,0.1]",
     SL_OPTION_STRING, AT(thresholds), 0, 0},
    {"rounds", "N", "passes at each threshold, of which the fastest counts [3]",
     SL_OPTION_GIVEN_INT, AT(rounds), 1, 1000},
    {"max-loss-increase", "X",
     "leave out what raises the loss by more than this fraction of that of computing everything "
     "[0.1]",
     SL_OPTION_GIVEN_REAL, AT(max_loss_increase), 0, 100},
    {"output", "DIR", "write a copy of the model with the operating points to DIR",
     SL_OPTION_STRING, AT(out), 0, 0},
    {"overwrite", NULL, "replace the model that is in --output", SL_OPTION_FLAG, AT(overwrite), 0,
     0},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static void options(const char *operand)
{
    (void)operand;
    char list[SL_ARCH_LIST];
    command_help(
        &command_operating_points,
        &(struct sl_option_parser){.tables = {{.rows = eval_source_rows}, {.rows = rows}}});
    printf("\nThresholds: %s.\n", policy_thresholds(list));
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* What was measured, by falling threshold. */
struct measured {
    struct sl_operating_point points[SL_OPERATING_POINTS_MAX];
    double seconds[SL_OPERATING_POINTS_MAX];
    int count;
    struct sl_operating_point useful[SL_OPERATING_POINTS_MAX]; /* those to offer */
    int useful_count;
    struct sl_precision_cost int8_loss;
};

static bool add_threshold(struct measured *d, double threshold, struct sl_err *err)
{
    if (d->count == SL_OPERATING_POINTS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "--thresholds: more than %d",
                       SL_OPERATING_POINTS_MAX - 1);
    if (d->count > 0 && !(threshold < d->points[d->count - 1].threshold))
        return sl_fail(err, SL_BAD_INPUT,
                       "--thresholds: %g follows %g: expected each to be less than the one before, "
                       "and the first less than 1",
                       threshold, d->points[d->count - 1].threshold);
    d->points[d->count] = (struct sl_operating_point){.threshold = threshold};
    d->seconds[d->count++] = (double)INFINITY;
    return true;
}

static bool read_thresholds(const char *text, struct measured *d, struct sl_err *err)
{
    if (!add_threshold(d, 1, err))
        return false;
    for (const char *at = text;;) {
        char *end;
        double threshold = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(threshold >= 0 && threshold <= 1))
            return sl_fail(err, SL_BAD_INPUT,
                           "invalid --thresholds '%.*s': expected numbers from 0 to 1, separated "
                           "by commas",
                           (int)strcspn(at, ","), at);
        if (!add_threshold(d, threshold, err))
            return false;
        if (!*end)
            return true;
        at = end + 1;
    }
}

static bool measure_point(const struct eval_source *source, struct measured *d, int i,
                          struct sl_err *err)
{
    struct sl_operating_point *point = &d->points[i];
    struct sl_evaluation e;
    struct sl_policy policy = sl_model_policy_at(source->model, point->threshold);
    if (!eval_source_run(source, &policy, &e, err))
        return false;
    point->loss = e.loss;
    point->accuracy = e.accuracy;
    point->layer_ops_skipped = 1.0 - e.layers_mean / source->model->config.depth;
    d->seconds[i] = fmin(d->seconds[i], e.seconds);
    return true;
}

/* Every round goes through all thresholds, so that all of them meet the same disturbances. A pass
 * before them brings texts and weights into memory and caches. */
static bool measure(const struct eval_source *source, int64_t rounds, struct measured *d,
                    struct sl_err *err)
{
    struct sl_evaluation ignored;
    if (!eval_source_run(source, &source->model->policy, &ignored, err))
        return false;
    for (int64_t round = 0; round < rounds; round++)
        for (int i = 0; i < d->count; i++)
            if (!measure_point(source, d, i, err))
                return false;
    return true;
}

/* ---- the results ----------------------------------------------------------------------------- */

static double rounded(double x, double unit)
{
    return round(x / unit) * unit;
}

static void print_json(const struct sl_model *m, const struct measured *d)
{
    const struct sl_precision_cost *int8 = &d->int8_loss;
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    sl_json_add(&json, "{'operating_points':");
    operating_points_write(&json, m, d->useful, d->useful_count);
    sl_json_add(&json, "'int8_loss_increase':%f}", int8->measured ? int8->increase : (double)NAN);
    command_print_json(&text);
}

static bool evaluate_copy(const void *context, const struct sl_model *copy,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_err *err)
{
    struct eval_source source = *(const struct eval_source *)context;
    source.model = copy;
    return eval_source_run(&source, policy, out, err);
}

/* A copy of the model with these points, with as many digits as were measured. */
static bool write_points(const char *model, const char *out, const struct measured *d,
                         struct sl_err *err)
{
    struct sl_checkpoint checkpoint;
    if (!sl_checkpoint_open(&checkpoint, model, err))
        return false;
    struct sl_model_config config = checkpoint.model_config;
    config.precision_costs[SL_PRECISION_INT8] =
        (struct sl_precision_cost){d->int8_loss.measured, rounded(d->int8_loss.increase, 1e-6)};
    config.operating_point_count = d->useful_count;
    for (int i = 0; i < d->useful_count; i++) {
        struct sl_operating_point *p = &config.operating_points[i];
        *p = d->useful[i];
        p->loss = rounded(p->loss, 1e-4);
        p->accuracy = rounded(p->accuracy, 1e-4);
        p->layer_ops_skipped = rounded(p->layer_ops_skipped, 1e-4);
    }
    bool ok = sl_checkpoint_copy(&checkpoint, out, &config, err);
    sl_checkpoint_close(&checkpoint);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool check_model(const struct sl_model *m, struct sl_err *err)
{
    char list[SL_ARCH_LIST];
    return sl_policy_threshold(m->arch) ||
           sl_fail(err, SL_BAD_INPUT,
                   "%s models compute all of every token; operating points differ in a threshold: "
                   "%s",
                   m->arch->name, policy_thresholds(list));
}

static void print_table(const struct sl_model *m, const struct measured *d)
{
    operating_points_print(m, d->useful, d->useful_count);
    if (d->int8_loss.measured)
        printf("int8 changes the loss by %+.3f %%\n", 100.0 * d->int8_loss.increase);
}

static bool run_on(const char *directory, const struct eval_source *source,
                   const struct arguments *a, struct measured *d, struct sl_err *err)
{
    double increase = a->max_loss_increase.given ? a->max_loss_increase.value : loss_increase;
    if (!measure(source, a->rounds.given ? a->rounds.value : ROUNDS, d, err) ||
        !sl_int8_loss_measure(source->model, &source->model->policy, evaluate_copy, source,
                              &d->int8_loss, err))
        return false;
    d->useful_count = sl_operating_points_select(d->points, d->seconds, d->count,
                                                 d->points[0].loss * (1.0 + increase), d->useful);
    if (a->json)
        print_json(source->model, d);
    else
        print_table(source->model, d);
    if (d->useful_count == 1)
        return sl_fail(err, SL_BAD_INPUT,
                       "no threshold saves time within --max-loss-increase %g: the model has no "
                       "operating points to offer",
                       increase);
    return !a->out || write_points(directory, a->out, d, err);
}

static bool check_output(const struct arguments *a, struct sl_err *err)
{
    return !a->out ||
           (model_path_check_output(a->out, NULL, err) &&
            (a->overwrite || model_path_check_new(a->out, "or replace it with --overwrite", err)));
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *directory = NULL;
    struct arguments a = {0};
    struct eval_source_options from = {.columns.skip_incomplete = true};
    struct eval_source source = {0};
    struct measured measured = {0};
    struct sl_option_parser parser = {
        .tables = {{.rows = eval_source_rows, .values = &from}, {.rows = rows, .values = &a}},
        .operands = &directory,
        .operands_max = 1};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!directory)
        return fail_missing(&command_operating_points, "MODEL-DIR", err);
    if (!eval_source_check(&from, err) || !check_output(&a, err) ||
        !read_thresholds(a.thresholds ? a.thresholds : default_thresholds, &measured, err))
        return false;
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    if (engine)
        engine->keeps_values = true; /* for copies in int8 and without */
    struct sl_model *m = engine ? command_model(engine, directory, err) : NULL;
    bool ok = m && check_model(m, err) &&
              eval_source_open(&source, &from, m, command_operating_points.name, err) &&
              run_on(directory, &source, &a, &measured, err);
    eval_source_close(&source);
    sl_model_close(m);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_operating_points = {
    .name = "operating-points",
    .operands = "MODEL-DIR (--corpus | --data) FILE",
    .help = "measure the quality and time of a model at several thresholds",
    .run = run,
    .print_help = options,
};
