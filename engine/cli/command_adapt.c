/* command_adapt.c - `sluice adapt`: teaches a model of someone else to skip layers. */
#include "base/int_math.h"
#include "checkpoint/base_model.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/report/report_adaptation.h"
#include "cli/report/report_sections.h"
#include "cli/tuning_run.h"
#include "train/select_operating_points.h"
#include "tuning/adaptation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct arguments {
    struct tuning_arguments tuning;
    const char *report, *isa, *precision;
    struct sl_given_real compute_weight, gate_binarization_weight, learning_rate,
        router_learning_rate;
    bool json;
    int threads;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    TUNING_TEXT_OPTIONS(struct arguments),
    {"text-pair", "COLUMN",
     "column of the second text, for rerankers and other classifiers of pairs", SL_OPTION_STRING,
     AT(tuning.text_pair), 0, 0},
    {"compute-weight", "X", "weight of the mean gate in the loss: higher skips more [0.15]",
     SL_OPTION_GIVEN_REAL, AT(compute_weight), 0, 100},
    {"gate-binarization-weight", "X",
     "weight of gates near 0.5 in the loss: higher makes them surer [0.05]", SL_OPTION_GIVEN_REAL,
     AT(gate_binarization_weight), 0, 100},
    {"learning-rate", "X", "peak learning rate [6e-05]", SL_OPTION_GIVEN_REAL, AT(learning_rate),
     1e-9, 1},
    {"router-learning-rate", "X", "that of the routers [0.002]", SL_OPTION_GIVEN_REAL,
     AT(router_learning_rate), 1e-9, 1},
    TUNING_OUTPUT_OPTIONS(struct arguments),
    {"report", "DIR", "directory for a report: similarity by what is skipped, and by time",
     SL_OPTION_STRING, AT(report), 0, 0},
    ENGINE_OPTIONS(struct arguments),
    {0}};

/* ---- the table ------------------------------------------------------------------------------- */

static void print_quality(double limit, const struct sl_likeness *q, double dense, bool json)
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
static bool print_table(struct sl_adaptation *a, struct sl_likeness q[LIMITS], bool json,
                        struct sl_err *err)
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
static int list_points(const struct sl_adaptation *a, const struct sl_likeness q[LIMITS],
                       struct sl_operating_point points[LIMITS])
{
    static const double loss_most = 0.05;
    struct sl_operating_point measured[LIMITS];
    double seconds[LIMITS];
    for (int i = 0; i < LIMITS; i++) {
        seconds[i] = q[i].seconds;
        measured[i] = (struct sl_operating_point){
            .threshold = (double)limits[i],
            .loss = fmax(0.0, 1.0 - q[i].similarity), /* a cosine may be rounded up */
            .accuracy = a->d.target->is_agreement ? q[i].similarity : (double)NAN,
            .layer_ops_skipped = q[i].skipped};
    }
    return sl_operating_points_select(measured, seconds, LIMITS, loss_most, points);
}

static void write_provenance(struct sl_json_writer *json, const char *model, const char *texts,
                             const struct sl_adaptation *a, const struct sl_likeness q[LIMITS])
{
    char name[SL_BASE_NAME_MAX];
    sl_json_add(json,
                "{'adapted_from':%s,'sha256':%s,'data':%s,'texts':%d,'held_out':%d,'steps':%d,"
                "'batch_size':%d,'compute_weight':%f,'finished':%lld,'quality':[",
                sl_base_name(name, model) ? name : sl_path_last(model), a->d.teacher_sha256,
                sl_path_last(texts), a->options.set->count, a->options.set->count - a->d.trained,
                a->options.steps, a->options.batch_size, (double)a->options.compute_weight,
                (long long)time(NULL));
    for (int i = 0; i < LIMITS; i++)
        sl_json_add(json, "{'gate_limit':%f,'layer_ops_skipped':%f,'similarity':%f,'lowest':%f}",
                    (double)limits[i], q[i].skipped, q[i].similarity, q[i].lowest);
    sl_json_add(json, "]}");
}

static bool write_report(const struct sl_adaptation *a, const struct arguments *args,
                         const struct sl_likeness q[LIMITS],
                         const struct sl_operating_point *points, int count, struct sl_err *err)
{
    const struct report_adaptation report = {.adaptation = a,
                                             .texts = args->tuning.texts,
                                             .output = args->tuning.out,
                                             .limits = limits,
                                             .likeness = q,
                                             .count = LIMITS,
                                             .points = points,
                                             .points_count = count};
    return !args->report || report_adaptation_write(&report, args->report, err);
}

static bool publish(const struct sl_adaptation *a, const char *model, const struct arguments *args,
                    const struct sl_likeness q[LIMITS], struct sl_err *err)
{
    struct sl_buffer text = {0};
    struct sl_operating_point points[LIMITS];
    const int count = list_points(a, q, points);
    write_provenance(&(struct sl_json_writer){.out = &text}, model, args->tuning.texts, a, q);
    const bool ok =
        text.failed
            ? sl_fail(err, SL_NO_MEMORY, "no memory for the provenance of the model")
            : sl_adaptation_publish(a, args->tuning.out,
                                    &(struct sl_adaptation_notes){text.data, points, count}, err) &&
                  write_report(a, args, q, points, count, err);
    sl_buffer_release(&text);
    if (ok && !args->json)
        printf("\npublished to %s, with %d operating points\n", args->tuning.out, count);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool check_pairs(const struct sl_model_config *c, const char *text_pair, struct sl_err *err)
{
    const bool can = c->hyper.task == SL_TASK_CLASSIFICATION && c->arch->takes_pairs;
    if (!text_pair && can && c->hyper.classes == 1)
        (void)fprintf(stderr, "sluice adapt: warning: the model has one label, as rerankers do: if "
                              "it reads two texts, name the second with --text-pair\n");
    return !text_pair || can ||
           sl_fail(err, SL_BAD_INPUT,
                   "--text-pair is for classifiers of two texts, such as rerankers");
}

/* Of a long text, a text generator learns enough from the beginning; each of its tokens has as many
 * outputs as the vocabulary has tokens. */
static bool open_texts(struct sl_dataset *set, const char *model, const struct arguments *a,
                       struct sl_err *err)
{
    enum { GENERATION_CONTEXT_MAX = 256 };

    struct sl_checkpoint from;
    if (!sl_checkpoint_open(&from, model, err))
        return false;
    const struct sl_config *c = &from.model_config.hyper;
    const int context = c->task == SL_TASK_COMPLETION
                            ? sl_min(c->context_length, GENERATION_CONTEXT_MAX)
                            : c->context_length;
    const bool ok = check_pairs(&from.model_config, a->tuning.text_pair, err) &&
                    tuning_open_texts(set, &a->tuning, from.tokens, context, err);
    sl_checkpoint_close(&from);
    return ok;
}

static float given(struct sl_given_real value, double standard)
{
    return (float)(value.given ? value.value : standard);
}

static bool adapt(struct sl_engine *engine, const char *model, const struct sl_dataset *set,
                  const struct sl_run_dir *run, const struct arguments *a, struct sl_err *err)
{
    struct sl_adaptation adaptation;
    const struct sl_adaptation_options options = {
        .engine = engine,
        .model = model,
        .set = set,
        .steps = tuning_steps(&a->tuning),
        .batch_size = tuning_batch_size(&a->tuning),
        .learning_rate = given(a->learning_rate, 6e-5),
        .router_learning_rate = given(a->router_learning_rate, 2e-3),
        .compute_weight = given(a->compute_weight, 0.15),
        .gate_binarization_weight = given(a->gate_binarization_weight, 0.05)};
    if (!sl_adaptation_open(&adaptation, &options, err))
        return false;
    struct sl_likeness quality[LIMITS];
    const bool ok = tuning_train(&adaptation.d, run, &a->tuning, a->json, err) &&
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
    if (!sl_options_parse(&parser, count, words, err) ||
        !tuning_check(&command_adapt, model, &a.tuning, err) ||
        !report_prepare(a.report, NULL, err))
        return false;
    struct sl_dataset set = {0};
    struct sl_run_dir run_dir;
    if (!tuning_open_run(&run_dir, &a.tuning, err))
        return false;
    struct sl_engine *engine = command_training_engine(a.threads, a.isa, a.precision, err);
    const bool ok =
        engine && open_texts(&set, model, &a, err) && adapt(engine, model, &set, &run_dir, &a, err);
    sl_dataset_close(&set);
    sl_engine_destroy(engine);
    sl_run_dir_close(&run_dir);
    return ok;
}

const struct command command_adapt = {.name = "adapt",
                                      .operands = "MODEL-DIR",
                                      .help = "teach a transformer to skip layers",
                                      .run = run,
                                      .rows = rows};
