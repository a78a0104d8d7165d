/* command_adapt.c - `sluice adapt`: teaches a model of someone else to skip layers. */
#include "base/clock.h"
#include "checkpoint/base_model.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/model_path.h"
#include "train/select_operating_points.h"
#include "tuning/adaptation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct arguments {
    const char *texts, *text, *format, *out, *isa, *precision;
    struct sl_given_int steps, batch_size;
    struct sl_given_real compute_weight, gate_binarization_weight, learning_rate,
        router_learning_rate;
    bool overwrite, json;
    int threads;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"texts", "FILE", "texts to learn from, without labels: one per line, or a column of --text",
     SL_OPTION_STRING, AT(texts), 0, 0},
    {"text", "COLUMN", "column of CSV, TSV or JSON Lines that has the texts [1]", SL_OPTION_STRING,
     AT(text), 0, 0},
    {"format", "NAME", "file format, as of `sluice train` [from the file]", SL_OPTION_STRING,
     AT(format), 0, 0},
    {"steps", "N", "optimizer steps [2000]", SL_OPTION_GIVEN_INT, AT(steps), 1, 100000000},
    {"batch-size", "N", "texts of a step [32]", SL_OPTION_GIVEN_INT, AT(batch_size), 1, 65536},
    {"compute-weight", "X", "weight of the mean gate in the loss: higher skips more [0.15]",
     SL_OPTION_GIVEN_REAL, AT(compute_weight), 0, 100},
    {"gate-binarization-weight", "X",
     "weight of gates near 0.5 in the loss: higher makes them surer [0.05]", SL_OPTION_GIVEN_REAL,
     AT(gate_binarization_weight), 0, 100},
    {"learning-rate", "X", "peak learning rate [6e-05]", SL_OPTION_GIVEN_REAL, AT(learning_rate),
     1e-9, 1},
    {"router-learning-rate", "X", "that of the routers [0.002]", SL_OPTION_GIVEN_REAL,
     AT(router_learning_rate), 1e-9, 1},
    {"output", "DIR", "where to publish the model, <store>/<model>/<version>", SL_OPTION_STRING,
     AT(out), 0, 0},
    {"overwrite", NULL, "replace the model that is in --output", SL_OPTION_FLAG, AT(overwrite), 0,
     0},
    ENGINE_OPTIONS(struct arguments),
    {0}};

/* ---- progress -------------------------------------------------------------------------------- */

static void show(const struct sl_adaptation *a, double begun, bool json)
{
    const double seconds = sl_now_seconds() - begun;
    const int steps = a->options.steps;
    const double left = seconds / a->step * (steps - a->step);
    const double loss = a->tuner.tape.stats.loss;
    if (json) {
        struct sl_buffer line = {0};
        sl_json_add(&(struct sl_json_writer){.out = &line},
                    "{'step':%d,'steps':%d,'loss':%f,'gate_mean':%f,'seconds':%f,"
                    "'seconds_left':%f}",
                    a->step, steps, loss, a->tuner.gates, seconds, left);
        command_print_json(&line);
        return;
    }
    const bool terminal = isatty(STDOUT_FILENO);
    printf("%sstep %d of %d, loss %.4f, mean gate %.3f, %.0f s left%s", terminal ? "\r" : "",
           a->step, steps, loss, a->tuner.gates, left, terminal ? "\033[K" : "\n");
    (void)fflush(stdout);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_quality(double limit, const struct sl_adaptation_quality *q, double dense,
                          bool json)
{
    if (!json) {
        printf("%10.2f  %6.1f %%  %10.4f  %9.4f  %5.2f\n", limit, 100.0 * q->skipped, q->similarity,
               q->lowest, dense / q->seconds);
        return;
    }
    struct sl_buffer line = {0};
    sl_json_add(&(struct sl_json_writer){.out = &line},
                "{'gate_limit':%f,'layer_ops_skipped':%f,'similarity':%f,'lowest':%f,'speed':%f}",
                limit, q->skipped, q->similarity, q->lowest, dense / q->seconds);
    command_print_json(&line);
}

enum { LIMITS = 6 };

static const float limits[LIMITS] = {1.0f, 0.9f, 0.7f, 0.5f, 0.3f, 0.1f};

/* q: of each limit */
static bool print_table(const struct sl_adaptation *a, struct sl_adaptation_quality q[LIMITS],
                        bool json, struct sl_err *err)
{
    if (!json)
        printf("\n\ngate_limit  skipped  similarity  5 %% below  times as fast\n");
    for (int i = 0; i < LIMITS; i++) {
        if (!sl_adaptation_measure(a, limits[i], &q[i], err))
            return false;
        print_quality((double)limits[i], &q[i], q[0].seconds, json);
    }
    return true;
}

/* ---- what is published ----------------------------------------------------------------------- */

/* What is offered: up to a twentieth less similar. */
static int list_points(const struct sl_adaptation *a, const struct sl_adaptation_quality q[LIMITS],
                       struct sl_operating_point points[LIMITS])
{
    static const double least = 0.05;
    struct sl_operating_point measured[LIMITS];
    double seconds[LIMITS];
    for (int i = 0; i < LIMITS; i++) {
        seconds[i] = q[i].seconds;
        measured[i] = (struct sl_operating_point){
            .threshold = (double)limits[i],
            .loss = 1.0 - q[i].similarity,
            .accuracy = a->teacher->config.classes > 0 ? q[i].similarity : (double)NAN,
            .layer_ops_skipped = q[i].skipped};
    }
    return sl_operating_points_select(measured, seconds, LIMITS, least / measured[0].loss - 1.0,
                                      points);
}

/* Models are passed on, and directories are private. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void write_provenance(struct sl_json_writer *json, const char *model, const char *texts,
                             const struct sl_adaptation *a,
                             const struct sl_adaptation_quality q[LIMITS])
{
    char name[SL_BASE_NAME_MAX];
    sl_json_add(json,
                "{'adapted_from':%s,'sha256':%s,'data':%s,'texts':%d,'held_out':%d,'steps':%d,"
                "'batch_size':%d,'compute_weight':%f,'finished':%lld,'quality':[",
                sl_base_name(name, model) ? name : last_part(model), a->teacher->info.sha256,
                last_part(texts), a->options.set->count, a->options.set->count - a->trained,
                a->options.steps, a->options.batch_size, (double)a->options.compute_weight,
                (long long)time(NULL));
    for (int i = 0; i < LIMITS; i++)
        sl_json_add(json, "{'gate_limit':%f,'layer_ops_skipped':%f,'similarity':%f,'lowest':%f}",
                    (double)limits[i], q[i].skipped, q[i].similarity, q[i].lowest);
    sl_json_add(json, "]}");
}

static bool publish(const struct sl_adaptation *a, const char *model, const struct arguments *args,
                    const struct sl_adaptation_quality q[LIMITS], struct sl_err *err)
{
    struct sl_buffer text = {0};
    struct sl_operating_point points[LIMITS];
    const int count = list_points(a, q, points);
    write_provenance(&(struct sl_json_writer){.out = &text}, model, args->texts, a, q);
    const bool ok =
        text.failed
            ? sl_fail(err, SL_NO_MEMORY, "no memory for the provenance of the model")
            : sl_adaptation_publish(a, args->out,
                                    &(struct sl_adaptation_notes){text.data, points, count}, err);
    sl_buffer_release(&text);
    if (ok && !args->json)
        printf("\npublished to %s, with %d operating points\n", args->out, count);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool check(const char *model, const struct arguments *a, struct sl_err *err)
{
    if (!a->texts)
        return sl_fail(err, SL_BAD_INPUT,
                       "missing --texts FILE: texts such as the model will read");
    if (!a->out)
        return sl_fail(err, SL_BAD_INPUT,
                       "missing --output DIR: where to publish the model, "
                       "<store>/<model>/<version>");
    return model_path_check_input(model, err) && model_path_check_output(a->out, NULL, err) &&
           (a->overwrite || model_path_check_new(a->out, "or replace it with --overwrite", err));
}

static bool open_texts(struct sl_dataset *set, const char *model, const struct arguments *a,
                       struct sl_err *err)
{
    enum { FEWEST = 100 };

    struct sl_checkpoint from;
    const struct sl_record_options columns = {.unlabelled = true,
                                              .text = a->text ? a->text : "1",
                                              .format = a->text ? a->format : "tsv",
                                              .skip_incomplete = true};
    if (!sl_checkpoint_open(&from, model, err))
        return false;
    const struct sl_dataset_encoding how = {.context = from.model_config.hyper.context_length,
                                            .unknown = SL_UNKNOWN_REPLACE};
    const bool ok = sl_dataset_open(set, a->texts, &columns, NULL, err) &&
                    sl_dataset_encode(set, from.tokens, &how, err);
    sl_checkpoint_close(&from);
    return ok && (set->count >= FEWEST ||
                  sl_fail(err, SL_BAD_INPUT, "'%s' has %d texts: expected at least %d", a->texts,
                          set->count, FEWEST));
}

static bool train(struct sl_adaptation *adaptation, bool json, struct sl_err *err)
{
    const double begun = sl_now_seconds(), interval = 5.0;
    double shown = begun;
    while (adaptation->step < adaptation->options.steps) {
        if (!sl_adaptation_step(adaptation, err))
            return false;
        if (sl_now_seconds() - shown < interval && adaptation->step < adaptation->options.steps)
            continue;
        shown = sl_now_seconds();
        show(adaptation, begun, json);
    }
    return true;
}

static float given(struct sl_given_real value, double standard)
{
    return (float)(value.given ? value.value : standard);
}

static bool adapt(struct sl_engine *engine, const char *model, const struct sl_dataset *set,
                  const struct arguments *a, struct sl_err *err)
{
    enum { STEPS = 2000, BATCH = 32 };

    struct sl_adaptation adaptation;
    const struct sl_adaptation_options options = {
        .engine = engine,
        .model = model,
        .set = set,
        .steps = a->steps.given ? (int)a->steps.value : STEPS,
        .batch_size = a->batch_size.given ? (int)a->batch_size.value : BATCH,
        .learning_rate = given(a->learning_rate, 6e-5),
        .router_learning_rate = given(a->router_learning_rate, 2e-3),
        .compute_weight = given(a->compute_weight, 0.15),
        .gate_binarization_weight = given(a->gate_binarization_weight, 0.05)};
    if (!sl_adaptation_open(&adaptation, &options, err))
        return false;
    struct sl_adaptation_quality quality[LIMITS];
    const bool ok = train(&adaptation, a->json, err) &&
                    print_table(&adaptation, quality, a->json, err) &&
                    publish(&adaptation, model, a, quality, err);
    sl_adaptation_close(&adaptation);
    return ok;
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *model = NULL;
    struct arguments a = {0};
    struct sl_option_parser parser = {
        .tables = {{.rows = rows, .values = &a}}, .operands = &model, .operands_max = 1};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!model)
        return fail_missing(&command_adapt, "MODEL-DIR", err);
    if (!check(model, &a, err))
        return false;
    struct sl_dataset set = {0};
    struct sl_engine *engine = command_training_engine(a.threads, a.isa, a.precision, err);
    const bool ok =
        engine && open_texts(&set, model, &a, err) && adapt(engine, model, &set, &a, err);
    sl_dataset_close(&set);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_adapt = {.name = "adapt",
                                      .operands = "MODEL-DIR",
                                      .help = "teach a transformer to skip layers",
                                      .run = run,
                                      .rows = rows};
