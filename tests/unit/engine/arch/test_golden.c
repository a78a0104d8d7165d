/* test_golden.c - logits, losses, gradients and optimiser steps against numbers that PyTorch
 * recorded in double precision (golden/record*.py). */
#include "base/file.h"
#include "formats/safetensors.h"
#include "sluice/classifier.h"
#include "sluice/session.h"
#include "support/model_fixture.h"
#include "support/reference_math.h"
#include "support/test.h"
#include "train/optimizer.h"

#include <math.h>

/* -- what was recorded ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    const char *modes[4]; /* of logits: choices of the policy's gate, ends with NULL */
    bool steps;           /* of the optimiser */
    bool exits;           /* logits of tokens that leave early */
} records[] = {
    {.name = "vanilla", .modes = {"soft"}},
    {.name = "translator", .modes = {"soft"}},
    {.name = "tsa", .modes = {"soft", "hard", "mixed"}, .steps = true},
    {.name = "early_exit", .modes = {"soft"}, .exits = true},
    {.name = "encoder", .modes = {"soft"}, .steps = true},
    {.name = "encoder_matched", .modes = {"soft"}},
    {.name = "encoder_relu", .modes = {"soft"}},
    {.name = "epsilon", .modes = {"soft"}},
    {.name = "epsilon_published", .modes = {"soft"}},
    {.name = "epsilon_causal", .modes = {"soft"}},
    {.name = "eam", .modes = {"soft"}},
    {.name = "eam_top1", .modes = {"soft"}},
    {.name = "transevolve_full_2", .modes = {"soft"}},
    {.name = "transevolve_random_1", .modes = {"soft"}},
    {.name = "transevolve_causal", .modes = {"soft"}},
    {.name = "transevolve_translator", .modes = {"soft"}},
};

enum { RECORDS = sizeof records / sizeof records[0], THREADS = 2 };

/* How far off is still right, by what matrix products read: two to seven times the worst seen.
 * fp32: the order of additions; what PyTorch recorded is exact beside it. bf16: 8 bits of each
 * factor of each product, through up to five blocks and back. A wrong formula is off by its own
 * size. AdamW divides a gradient by its size: its first steps are little but signs, and where a
 * gradient is near zero its sign is noise. So a step tells less than the gradient it came from. */
struct bounds {
    double logits;   /* largest difference, of the largest logit */
    double loss;     /* of the loss; likewise the price, and the norm of all gradients */
    double gradient; /* of one parameter: norm of the difference, of the norm */
    double change;   /* likewise, of what the steps changed */
};

static const struct bounds bounds[] = {
    [SL_F32] = {.logits = 2e-6, .loss = 3e-7, .gradient = 5e-6, .change = 1e-4},
    [SL_BF16] = {.logits = 0.02, .loss = 5e-3, .gradient = 0.2, .change = 0.4},
};

/* -- one record, loaded ----------------------------------------------------------------------- */

struct golden {
    const char *name; /* of the record */
    struct sl_map map;
    struct sl_safetensors file;
    struct sl_engine *engine;
    struct sl_model *m;
    struct bounds bounds;
    struct sl_batch batch;
    struct sl_sequence *sequences;
    int32_t *tokens, *targets, *labels; /* of a classifier there are labels in place of targets */
};

static const char *fact_text(const struct golden *g, const char *name)
{
    const char *text = sl_safetensors_metadata(&g->file, name);
    cr_assert(text, "no %s is recorded", name);
    return text;
}

static double fact(const struct golden *g, const char *name)
{
    const char *text = fact_text(g, name);
    char *end;
    double value = strtod(text, &end);
    cr_assert(end != text && *end == '\0', "%s is '%s'", name, text);
    return value;
}

/* A fact that is a whole number. */
static int count_fact(const struct golden *g, const char *name)
{
    const char *text = fact_text(g, name);
    char *end;
    long value = strtol(text, &end, 10);
    cr_assert(end != text && *end == '\0' && value >= 0 && value <= INT_MAX, "%s is '%s'", name,
              text);
    return (int)value;
}

/* A tensor "prefix.name" as an array, to be freed. */
static float *recorded(const struct golden *g, const char *prefix, const char *name, size_t count)
{
    char full[160];
    (void)snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct sl_safetensor *t = sl_safetensors_find(&g->file, full);
    cr_assert(t, "no %s is recorded", full);
    cr_assert_eq(t->count, count, "%s: %zu numbers, want %zu", full, t->count, count);
    float *out = malloc(count * sizeof *out);
    cr_assert(out);
    sl_safetensor_read(t, out);
    return out;
}

static size_t count_of(const struct sl_parameter *p)
{
    return (size_t)p->rows * (size_t)p->cols;
}

static bool classifies(const struct golden *g)
{
    return g->m->config.task == SL_TASK_CLASSIFICATION;
}

/* Rows that have logits: not those of texts to translate. */
static int predicted_rows(const struct golden *g)
{
    int rows = g->batch.rows;
    for (int i = 0; i < g->batch.count; i++)
        rows -= g->sequences[i].source;
    return rows;
}

static size_t logits_count(const struct golden *g)
{
    if (classifies(g))
        return (size_t)g->batch.count * (size_t)g->m->config.classes;
    return (size_t)predicted_rows(g) * (size_t)g->m->config.vocab;
}

/* Hyper-parameters that are not recorded keep their standard: they say how to draw. */
static struct sl_config config_of(const struct golden *g, const struct sl_arch *arch)
{
    struct sl_config config;
    struct sl_err err;
    sl_config_set_defaults(arch, &config);
    config.vocab = count_fact(g, "vocab");
    config.padding_token = 1;
    if (sl_safetensors_metadata(&g->file, "classes")) {
        config.task = SL_TASK_CLASSIFICATION;
        config.classes = count_fact(g, "classes");
    }
    if (sl_safetensors_find(&g->file, "sources"))
        config.task = SL_TASK_TRANSLATION;
    for (const struct sl_param *h = arch->hypers; h->name; h++) {
        char name[64];
        (void)snprintf(name, sizeof name, "hyper.%s", h->name);
        if (sl_safetensors_metadata(&g->file, name))
            EXPECT_OK(sl_param_set(h, &config, fact(g, name), &err), err);
    }
    EXPECT_OK(sl_config_check(arch, &config, &err), err);
    return config;
}

static int32_t *ids(const struct golden *g, const char *name, int count)
{
    cr_assert_gt(count, 0);
    float *numbers = recorded(g, name, "", (size_t)count);
    int32_t *out = malloc((size_t)count * sizeof *out);
    cr_assert(out);
    for (int i = 0; i < count; i++)
        out[i] = (int32_t)numbers[i];
    free(numbers);
    return out;
}

/* Texts are as long as the context, unless lengths are recorded; with texts to translate, theirs
 * are, and the lengths are of both. */
static void load_batch(struct golden *g)
{
    int count = count_fact(g, "sequences"), context = g->m->config.context_length;
    int32_t *lengths = NULL, *sources = NULL;
    if (sl_safetensors_find(&g->file, "lengths"))
        lengths = ids(g, "lengths", count);
    if (sl_safetensors_find(&g->file, "sources"))
        sources = ids(g, "sources", count);
    g->batch = (struct sl_batch){.count = count};
    g->sequences = calloc((size_t)count, sizeof *g->sequences);
    cr_assert(g->sequences);
    for (int i = 0; i < count; i++) {
        int rows = lengths ? lengths[i] : context;
        g->sequences[i] = (struct sl_sequence){
            .first = g->batch.rows, .rows = rows, .source = sources ? sources[i] : 0};
        g->batch.rows += rows;
    }
    free(lengths);
    free(sources);
    g->tokens = ids(g, "tokens", g->batch.rows);
    g->targets = classifies(g) ? NULL : ids(g, "targets", g->batch.rows);
    g->labels = classifies(g) ? ids(g, "labels", count) : NULL;
    g->batch.tokens = g->tokens;
    g->batch.targets = g->targets;
    g->batch.labels = g->labels;
    g->batch.sequences = g->sequences;
    g->batch.loss_scale = 1.0f / (float)(classifies(g) ? count : predicted_rows(g));
    if (sl_safetensors_metadata(&g->file, "label_smoothing"))
        g->batch.label_smoothing = (float)fact(g, "label_smoothing");
    g->batch.row_scale = 1.0f / (float)g->batch.rows;
}

/* And the buffers that belong to a checkpoint. */
static void load_parameters(const struct golden *g)
{
    for (int i = 0; i < g->m->state_dict_count; i++) {
        const struct sl_parameter *p = &g->m->state_dict[i];
        bool buffer = i >= g->m->builder.count;
        float *values = recorded(g, buffer ? "buffer." : "parameter.", p->name, count_of(p));
        memcpy(p->data, values, count_of(p) * sizeof *values);
        free(values);
    }
    sl_model_pack(g->m);
}

/* As many parameters on both sides: a missing one is caught by name, a surplus one here. */
static int recorded_parameters(const struct golden *g)
{
    int count = 0;
    for (int i = 0; i < g->file.count; i++)
        count += strncmp(g->file.tensors[i].name, "parameter.", strlen("parameter.")) == 0;
    return count;
}

static void golden_open(struct golden *g, const char *name)
{
    char path[PATH_MAX];
    struct sl_err err;
    (void)snprintf(path, sizeof path, SL_SOURCE_DIR "/tests/golden/%s.safetensors", name);
    *g = (struct golden){.name = name, .engine = fixture_engine(NULL, THREADS)};
    g->bounds = bounds[g->engine->kernels->operand];
    EXPECT_OK(sl_map_open(&g->map, path, &err), err);
    EXPECT_OK(sl_safetensors_parse(&g->file, g->map.data, g->map.size, &err), err);
    const struct sl_arch *arch = sl_arch_find(sl_safetensors_metadata(&g->file, "architecture"));
    cr_assert(arch);
    struct sl_config config = config_of(g, arch);
    EXPECT_OK((g->m = sl_model_create(g->engine, arch, &config, &err)), err);
    EXPECT_OK(sl_model_allocate_gradients(g->m, &err), err);
    cr_assert_eq(recorded_parameters(g), g->m->builder.count);
    load_parameters(g);
    load_batch(g);
}

static void golden_close(struct golden *g)
{
    free(g->tokens);
    free(g->targets);
    free(g->labels);
    free(g->sequences);
    sl_model_close(g->m);
    sl_engine_destroy(g->engine);
    sl_safetensors_close(&g->file);
    sl_map_close(&g->map);
}

/* Runs a check on every record. */
static void each_record(void (*check)(struct golden *g, int record))
{
    for (int i = 0; i < RECORDS; i++) {
        struct golden g;
        golden_open(&g, records[i].name);
        check(&g, i);
        golden_close(&g);
    }
}

/* -- distances -------------------------------------------------------------------------------- */

static double norm_of(const float *x, size_t count)
{
    double squares = 0.0;
    for (size_t i = 0; i < count; i++)
        squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

/* Norm of the difference over the norm of what is wanted; where that is nothing, the difference
 * itself. NaN stays NaN and fails any bound. */
static double relative(const float *have, const float *want, size_t count)
{
    double squares = 0.0, size = norm_of(want, count);
    for (size_t i = 0; i < count; i++)
        squares += pow((double)have[i] - (double)want[i], 2.0);
    return sqrt(squares) / (size > 0.0 ? size : 1.0);
}

/* -- logits ----------------------------------------------------------------------------------- */

static void expect_logits(const struct golden *g, const char *mode, const char *how,
                          const float *have)
{
    float *want = recorded(g, "logits.", mode, logits_count(g));
    double error = reference_max_relative(have, want, logits_count(g));
    cr_expect_leq(error, g->bounds.logits, "%s, %s, %s: %g", g->name, mode, how, error);
    free(want);
}

/* Texts given to a classifier, all in one run. */
static void serve_classes(const struct golden *g, float *out)
{
    struct sl_err err;
    struct sl_classifier_item items[16] = {0};
    struct sl_classifier_options options = {.max_batch_size = g->batch.count,
                                            .max_batch_tokens = g->batch.rows};
    struct sl_classifier *c = sl_classifier_create(g->m, &options, &err);
    cr_assert(c, "%s", err.text);
    cr_assert_leq(g->batch.count, 16);
    for (int i = 0; i < g->batch.count; i++)
        items[i] = (struct sl_classifier_item){.tokens = g->tokens + g->sequences[i].first,
                                               .count = g->sequences[i].rows};
    EXPECT_OK(sl_classifier_run(c, items, g->batch.count, &err), err);
    size_t each = (size_t)g->m->config.classes;
    for (int i = 0; i < g->batch.count; i++)
        memcpy(out + (size_t)i * each, items[i].logits, each * sizeof *out);
    sl_classifier_destroy(c);
}

/* Texts fed to a session as requests are: each in a slot of its own, all in one run. */
static void serve(const struct golden *g, float *out)
{
    struct sl_err err;
    struct sl_chunk feeds[16] = {0};
    struct sl_session_options options = {.max_sequences = g->batch.count,
                                         .max_batch_tokens = g->batch.rows};
    struct sl_session *s = sl_session_create(g->m, &options, &err);
    cr_assert(s, "%s", err.text);
    cr_assert_leq(g->batch.count, 16);
    for (int i = 0; i < g->batch.count; i++) {
        const struct sl_sequence *text = &g->sequences[i];
        feeds[i] = (struct sl_chunk){.slot = i,
                                     .tokens = g->tokens + text->first + text->source,
                                     .count = text->rows - text->source,
                                     .source = g->tokens + text->first,
                                     .source_count = text->source,
                                     .all_logits = true};
    }
    EXPECT_OK(sl_session_run(s, feeds, g->batch.count, &err), err);
    for (int i = 0; i < g->batch.count; i++) {
        const size_t numbers = (size_t)feeds[i].count * (size_t)g->m->config.vocab;
        memcpy(out, feeds[i].logits, numbers * sizeof *out);
        out += numbers;
    }
    sl_session_destroy(s);
}

static void choose(struct sl_model *m, const char *name, const char *text)
{
    struct sl_err err;
    const struct sl_param *row = sl_param_find(sl_policy_rows(m->arch), name);
    cr_assert(row, "%s has no %s", m->arch->name, name);
    EXPECT_OK(sl_param_parse(row, m->policy.own, text, &err), err);
}

static void check_served(struct golden *g, int record)
{
    float *have = calloc(logits_count(g), sizeof *have);
    cr_assert(have);
    for (const char *const *mode = records[record].modes; *mode; mode++) {
        g->m->policy = (struct sl_policy){0};
        if (sl_param_find(sl_policy_rows(g->m->arch), "gate")) {
            choose(g->m, "gate", *mode);
            choose(g->m, "gate_limit", sl_safetensors_metadata(&g->file, "gate_limit"));
        }
        if (classifies(g))
            serve_classes(g, have);
        else
            serve(g, have);
        expect_logits(g, *mode, "served", have);
    }
    free(have);
}

Test(golden, served_logits_in_every_gate_mode)
{
    each_record(check_served);
}

/* Every token's logits from the block where it leaves, with what later tokens see of it there. */
static void check_exits(struct golden *g, int record)
{
    if (!records[record].exits)
        return;
    float *have = calloc(logits_count(g), sizeof *have);
    cr_assert(have);
    for (int oracle = 0; oracle <= 1; oracle++) {
        choose(g->m, "exit_threshold", sl_safetensors_metadata(&g->file, "exit_threshold"));
        choose(g->m, "exit_oracle", oracle ? "true" : "false");
        serve(g, have);
        expect_logits(g, oracle ? "exit_oracle" : "exit_copy", "served", have);
    }
    free(have);
}

Test(golden, served_logits_of_tokens_that_leave_early)
{
    each_record(check_exits);
}

/* A tape at the point of the training that was recorded, if any. */
static void training_tape(const struct golden *g, struct sl_tape *t)
{
    fixture_tape_init(t, g->m, &g->batch, true);
    if (sl_safetensors_metadata(&g->file, "progress"))
        t->progress = (float)fact(g, "progress");
}

static void check_trained_logits(const struct golden *g, const struct sl_tensor *logits)
{
    float *have = calloc(logits_count(g), sizeof *have);
    cr_assert(have);
    for (int r = 0; r < logits->rows; r++)
        memcpy(have + (size_t)r * (size_t)logits->cols, sl_row(logits, r),
               (size_t)logits->cols * sizeof *have);
    expect_logits(g, "soft", "trained", have);
    free(have);
}

/* Where every block has a loss, no logits are left over. */
static void check_trained(struct golden *g, int record)
{
    struct sl_tape t;
    training_tape(g, &t);
    sl_tape_begin(&t, &g->batch, true);
    const struct sl_tensor *logits = sl_model_forward(g->m, &t);
    cr_assert_eq(logits == NULL, records[record].exits);
    if (logits)
        check_trained_logits(g, logits);
    double loss = fact(g, "loss"), price = fact(g, "aux_loss");
    cr_expect_float_eq(t.stats.loss, loss, g->bounds.loss * loss, "%s: loss %.9g, want %.9g",
                       g->name, t.stats.loss, loss);
    cr_expect_float_eq(t.stats.aux_loss, price, g->bounds.loss * price + 1e-12,
                       "%s: price %.9g, want %.9g", g->name, t.stats.aux_loss, price);
    sl_tape_release(&t);
}

Test(golden, trained_logits_loss_and_auxiliary_loss)
{
    each_record(check_trained);
}

/* -- gradients -------------------------------------------------------------------------------- */

static void compute_gradients(const struct golden *g, struct sl_tape *t)
{
    sl_model_zero_gradients(g->m);
    (void)fixture_loss(g->m, t, &g->batch);
    sl_tape_backward(t);
    sl_model_backprop_buffers(g->m);
}

static void check_gradients(struct golden *g, int record)
{
    (void)record;
    struct sl_tape t;
    training_tape(g, &t);
    compute_gradients(g, &t);
    for (int i = 0; i < g->m->builder.count; i++) {
        const struct sl_parameter *p = &g->m->builder.parameters[i];
        float *want = recorded(g, "gradient.", p->name, count_of(p));
        double error = relative(p->grad, want, count_of(p));
        cr_expect_leq(error, g->bounds.gradient, "%s: gradient of %s: %g", g->name, p->name, error);
        free(want);
    }
    sl_tape_release(&t);
}

Test(golden, gradients_of_every_parameter)
{
    each_record(check_gradients);
}

/* -- the optimiser ---------------------------------------------------------------------------- */

static struct sl_hyperparameters hyperparameters_of(const struct golden *g)
{
    struct sl_hyperparameters hyperparameters;
    struct sl_err err;
    int found = 0;
    sl_params_set_defaults(sl_hyperparameter_rows, &hyperparameters);
    for (const struct sl_param *r = sl_hyperparameter_rows; r->name; r++) {
        char name[64];
        (void)snprintf(name, sizeof name, "training.%s", r->name);
        if (!sl_safetensors_metadata(&g->file, name))
            continue;
        EXPECT_OK(sl_param_set(r, &hyperparameters, fact(g, name), &err), err);
        found++;
    }
    cr_assert_geq(found, 10, "%d numbers of a hyperparameters", found);
    hyperparameters.steps = count_fact(g, "steps");
    return hyperparameters;
}

/* Of what the steps changed, not of the parameters: those hide a missing step. */
static void expect_change(const struct golden *g, const struct sl_parameter *p)
{
    size_t count = count_of(p);
    float *before = recorded(g, "parameter.", p->name, count);
    float *want = recorded(g, "after.", p->name, count);
    float *have = malloc(count * sizeof *have);
    cr_assert(have);
    for (size_t i = 0; i < count; i++) {
        want[i] -= before[i];
        have[i] = p->data[i] - before[i];
    }
    double error = relative(have, want, count);
    cr_expect_leq(error, g->bounds.change, "%s: change of %s: %g", g->name, p->name, error);
    free(before);
    free(want);
    free(have);
}

static void check_steps(struct golden *g, int record)
{
    if (!records[record].steps)
        return;
    struct sl_tape t;
    struct sl_optimizer o;
    struct sl_err err;
    struct sl_hyperparameters hyperparameters = hyperparameters_of(g);
    EXPECT_OK(sl_optimizer_init(&o, g->m, &hyperparameters, &err), err);
    fixture_tape_init(&t, g->m, &g->batch, true);
    for (int step = 0; step < hyperparameters.steps; step++) {
        compute_gradients(g, &t);
        double norm = sl_optimizer_norm(&o), want = fact(g, "norm");
        if (step == 0)
            cr_expect_float_eq(norm, want, g->bounds.loss * want, "%s: norm %g, want %g", g->name,
                               norm, want);
        sl_optimizer_step(&o, &hyperparameters, step, norm);
        sl_model_pack(g->m);
    }
    for (int i = 0; i < g->m->builder.count; i++)
        expect_change(g, &g->m->builder.parameters[i]);
    sl_tape_release(&t);
    sl_optimizer_release(&o);
}

Test(golden, parameters_after_steps_of_the_optimiser)
{
    each_record(check_steps);
}
