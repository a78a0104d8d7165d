/* test_transevolve.c - models whose attention evolves: their exact simplifications against what
 * they simplify, written out in double; all variants' gradients; texts in chunks and in batches. */
#include "arch/transevolve/transevolve.h"
#include "base/random.h"
#include "support/gradient_check.h"
#include "support/model_fixture.h"
#include "support/reference_math.h"
#include "support/test.h"

#include "sluice/classifier.h"
#include "sluice/session.h"
#include "train/hyperparameters.h"

#include <math.h>

static struct sl_parameter *named(struct sl_parameter *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    cr_assert(false, "there is no %s", name);
    return NULL;
}

static struct sl_parameter *parameter(const struct sl_model *m, const char *name)
{
    return named(m->builder.parameters, m->builder.count, name);
}

static struct sl_parameter *buffer(const struct sl_model *m, const char *name)
{
    return named(m->builder.buffers, m->builder.buffer_count, name);
}

/* -- the model --------------------------------------------------------------------------------- */

/* The choices of the table, as tests walk them. */
struct variant {
    int blocks, mixing, time_encoding;
};

static const struct variant variants[] = {{1, 0, 0}, {2, 0, 1}, {1, 1, 0}, {2, 1, 1}};

enum { VARIANTS = sizeof variants / sizeof variants[0], RANDOM = 1, PAPER = 1 };

static struct sl_transevolve_config *own(struct sl_config *c)
{
    return fixture_own(c);
}

static struct sl_config config_of(const struct variant *v, enum sl_task task)
{
    struct sl_config c = fixture_config_for(sl_arch_find("transevolve"), task);
    own(&c)->blocks = v->blocks;
    own(&c)->feed_forward = v->mixing;
    own(&c)->time_encoding = v->time_encoding;
    return c;
}

static struct sl_model *model_of(struct sl_engine *engine, const struct sl_config *config)
{
    return fixture_model(engine, sl_arch_find("transevolve"), config);
}

/* The table's walk has one of them. */
Test(transevolve, gradients_of_every_variant_agree_with_finite_differences)
{
    static const int lengths[] = {24, 1, 7, 17, 0};
    struct sl_engine *engine = fixture_exact_engine(2);
    for (int i = 0; i < VARIANTS; i++)
        for (int task = 0; task < 2; task++) {
            struct sl_config config =
                config_of(&variants[i], task ? SL_TASK_CLASSIFICATION : SL_TASK_COMPLETION);
            struct sl_model *m = model_of(engine, &config);
            gradient_check_model(m, lengths);
            sl_model_close(m);
        }
    sl_engine_destroy(engine);
}

/* So a block of one depth is ordinary attention whose values are what its norm leaves. */
Test(transevolve, without_coefficients_time_moves_nothing)
{
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(&variants[0], SL_TASK_COMPLETION);
    config.depth = 1;
    struct sl_model *m = model_of(engine, &config);
    struct sl_parameter *coefficients = parameter(m, "blocks.0.time_projection.0.coefficients");
    const struct sl_parameter *weight = buffer(m, "blocks.0.time_projection.weight");
    size_t count = (size_t)weight->rows * (size_t)weight->cols;
    cr_expect_gt(reference_dot(weight->data, weight->data, (int)count), 1e-6);
    memset(coefficients->data, 0, (size_t)coefficients->cols * sizeof(float));
    sl_model_pack(m);
    cr_expect_eq(reference_dot(weight->data, weight->data, (int)count), 0.0);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* T of the paper: what is learnt times waves. */
static double time_of(const struct sl_model *m, const struct variant *v, int depth, int column)
{
    char name[64];
    int width = m->config.width, half = width / 2, j = column % half, block = v->blocks - 1;
    int depths = m->config.depth - m->config.depth * block / v->blocks;
    double angle = v->time_encoding == PAPER ? 2.0 * M_PI * (j + 1) * (depth + 1) / (width * depths)
                                             : j * depth * M_PI / 64.0;
    (void)snprintf(name, sizeof name, "blocks.%d.time_projection.%d.coefficients", block, depth);
    return (double)parameter(m, name)->data[column] * (column < half ? sin(angle) : cos(angle));
}

/* One query's four terms with every key, and what is left of them. */
struct terms {
    const struct sl_model *m;
    const struct variant *v;
    int depth, head, width;
    const float *query_time, *key_time; /* the projections of time: 2 width x width */
    const float *bias;                  /* one row of what is derived from them */
};

/* x . (projection of T), over the head's columns. */
static double moved(const struct terms *f, const float *x, const float *projection)
{
    int columns = f->width / f->m->config.heads;
    double sum = 0.0;
    for (int c = f->head * columns; c < (f->head + 1) * columns; c++) {
        double dot = 0.0;
        for (int a = 0; a < 2 * f->width; a++)
            dot += (double)x[a] * (double)projection[a * f->width + c];
        sum += dot * time_of(f->m, f->v, f->depth, c);
    }
    return sum;
}

/* The fourth term: of T with itself, by columns. */
static double alone(const struct terms *f)
{
    int columns = f->width / f->m->config.heads;
    double sum = 0.0;
    for (int c = f->head * columns; c < (f->head + 1) * columns; c++)
        for (int a = 0; a < 2 * f->width; a++)
            sum += (double)f->query_time[a * f->width + c] * (double)f->key_time[a * f->width + c] *
                   pow(time_of(f->m, f->v, f->depth, c), 2.0);
    return sum;
}

/* The largest difference between softmax of all terms and of the two that are computed. */
static double worst_of(const struct terms *f, const float *query, const float *keys, int count)
{
    double all[16], left[16], worst = 0.0;
    int wide = 2 * f->width, each = wide / f->m->config.heads;
    cr_assert_leq(count, 16);
    for (int j = 0; j < count; j++) {
        const float *key = keys + (size_t)j * (size_t)wide;
        double score =
            reference_dot(query + f->head * each, key + f->head * each, each) / sqrt(each);
        all[j] = score + moved(f, query, f->key_time) + moved(f, key, f->query_time) + alone(f);
        left[j] = score + reference_dot(key, f->bias, wide);
    }
    reference_softmax(all, count);
    reference_softmax(left, count);
    for (int j = 0; j < count; j++)
        worst = fmax(worst, fabs(all[j] - left[j]));
    return worst;
}

Test(transevolve, four_terms_of_the_scores_are_one_bias_per_key)
{
    enum { KEYS = 16 };

    struct sl_engine *engine = fixture_engine("ref", 1);
    for (int i = 0; i < 2; i++) {
        const struct variant *v = &variants[i];
        struct sl_config config = config_of(v, SL_TASK_CLASSIFICATION);
        struct sl_model *m = model_of(engine, &config);
        char names[3][64];
        const char *const parts[] = {"query", "key", "weight"};
        for (int n = 0; n < 3; n++)
            (void)snprintf(names[n], sizeof names[n], "blocks.%d.time_projection.%s", v->blocks - 1,
                           parts[n]);
        int depths = buffer(m, names[2])->rows / config.heads;
        float *keys = reference_random("keys", KEYS * 2 * config.width, 1.0);
        float *query = reference_random("a query", 2 * config.width, 1.0);
        for (int row = 0; row < depths * config.heads; row++) {
            struct terms f = {.m = m,
                              .v = v,
                              .depth = row / config.heads,
                              .head = row % config.heads,
                              .width = config.width,
                              .query_time = parameter(m, names[0])->data,
                              .key_time = parameter(m, names[1])->data,
                              .bias = buffer(m, names[2])->data + row * 2 * config.width};
            double worst = worst_of(&f, query, keys, KEYS);
            cr_expect_lt(worst, 1e-6, "variant %d, depth %d, head %d: %g", i, f.depth, f.head,
                         worst);
        }
        free(keys);
        free(query);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}

static double size_of(const struct sl_parameter *p)
{
    return sqrt(reference_dot(p->grad, p->grad, p->rows * p->cols));
}

Test(transevolve, nothing_depends_on_the_projection_of_time_for_queries)
{
    static const int lengths[] = {24, 7, 0};
    struct sl_engine *engine = fixture_engine("ref", 2);
    struct sl_config config = config_of(&variants[0], SL_TASK_CLASSIFICATION);
    struct sl_model *m = model_of(engine, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, lengths, 3);
    fixture_set_task(&f, config.task);
    fixture_tape_init(&t, m, &f.batch, true);
    sl_model_zero_gradients(m);
    double loss = fixture_loss(m, &t, &f.batch);
    sl_tape_backward(&t);
    sl_model_backprop_buffers(m);
    struct sl_parameter *dead = parameter(m, "blocks.0.time_projection.key");
    cr_expect_lt(size_of(dead), 1e-7 * size_of(parameter(m, "blocks.0.time_projection.query")));
    cr_expect_gt(size_of(parameter(m, "blocks.0.time_projection.query")), 1e-3);
    for (int i = 0; i < dead->rows * dead->cols; i++)
        dead->data[i] += 1.0f;
    sl_model_pack(m);
    cr_expect_float_eq(fixture_loss(m, &t, &f.batch), loss, 0.0, "the loss moved");
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* -- random rotations -------------------------------------------------------------------------- */

/* The same parameters in a model without gradients. */
static struct sl_model *served_copy(const struct sl_model *m)
{
    struct sl_err err;
    struct sl_model *copy = sl_model_create(m->engine, m->arch, &m->config, &err);
    cr_assert(copy, "%s", err.text);
    for (int i = 0; i < m->builder.count; i++)
        memcpy(copy->builder.parameters[i].data, m->builder.parameters[i].data,
               sl_parameter_floats(&m->builder.parameters[i]) * sizeof(float));
    sl_model_pack(copy);
    return copy;
}

struct texts {
    int32_t tokens[6][FIXTURE_CONTEXT];
    struct sl_classifier_item items[6];
};

static void draw_texts(struct texts *x)
{
    uint64_t key = sl_random_key(test_seed(), "texts");
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < FIXTURE_CONTEXT; j++)
            x->tokens[i][j] =
                (int32_t)sl_random_below(key, (uint64_t)(i * FIXTURE_CONTEXT + j), FIXTURE_VOCAB);
        x->items[i] =
            (struct sl_classifier_item){.tokens = x->tokens[i], .count = FIXTURE_CONTEXT - 4 * i};
    }
}

/* Logits of some of the texts in one batch. */
static void classify(const struct sl_model *m, struct sl_classifier_item *items, int count,
                     float *out)
{
    struct sl_err err;
    struct sl_classifier_options options = {.max_batch_size = count,
                                            .max_batch_tokens = 6 * FIXTURE_CONTEXT};
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    cr_assert(c, "%s", err.text);
    EXPECT_OK(sl_classifier_run(c, items, count, &err), err);
    for (int i = 0; i < count; i++)
        memcpy(out + i * FIXTURE_CLASSES, items[i].logits, FIXTURE_CLASSES * sizeof *out);
    sl_classifier_destroy(c);
}

Test(transevolve, rotations_in_factors_are_the_weight_that_is_served)
{
    struct sl_engine *engine = fixture_engine("ref", 2);
    struct sl_config config = config_of(&variants[2], SL_TASK_CLASSIFICATION);
    struct sl_model *m = model_of(engine, &config), *served = served_copy(m);
    struct texts x;
    float factors[6 * FIXTURE_CLASSES], weight[6 * FIXTURE_CLASSES], spread = 0.0f;
    draw_texts(&x);
    classify(m, x.items, 6, factors);
    classify(served, x.items, 6, weight);
    for (int i = 0; i < 6 * FIXTURE_CLASSES; i++) {
        cr_expect_float_eq(factors[i], weight[i], 1e-5, "logit %d: %g and %g", i,
                           (double)factors[i], (double)weight[i]);
        spread += fabsf(weight[i] - weight[0]);
    }
    cr_expect_gt(spread, 0.1f);
    sl_model_close(m);
    sl_model_close(served);
    sl_engine_destroy(engine);
}

/* The largest element of W x for an x whose sum is 0. */
static double seen_of_balanced(const struct sl_model *m, const char *name)
{
    const struct sl_parameter *w = buffer(m, name);
    float *x = reference_random("balanced", w->cols, 1.0);
    double mean = 0.0, max = 0.0;
    for (int i = 0; i < w->cols; i++)
        mean += (double)x[i] / w->cols;
    for (int i = 0; i < w->cols; i++)
        x[i] -= (float)mean;
    for (int r = 0; r < w->rows; r++)
        max = fmax(max, fabs(reference_dot(w->data + (size_t)r * (size_t)w->cols, x, w->cols)));
    free(x);
    return max;
}

Test(transevolve, rotations_at_time_0_see_only_a_sum)
{
    struct sl_engine *engine = fixture_engine("ref", 1);
    for (int offset = 0; offset < 2; offset++) {
        struct sl_config config = config_of(&variants[2], SL_TASK_CLASSIFICATION);
        own(&config)->skip_time_zero = offset;
        struct sl_model *m = model_of(engine, &config), *served = served_copy(m);
        double first = seen_of_balanced(served, "blocks.0.layers.0.mlp.up.weight");
        double second = seen_of_balanced(served, "blocks.0.layers.1.mlp.up.weight");
        if (offset == 0)
            cr_expect_lt(first, 1e-5);
        else
            cr_expect_gt(first, 0.01);
        cr_expect_gt(second, 0.01);
        sl_model_close(m);
        sl_model_close(served);
    }
    sl_engine_destroy(engine);
}

/* The released code's factor, element by element: U as published, not turned. */
Test(transevolve, rotations_are_sines_and_cosines_of_frozen_numbers)
{
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(&variants[2], SL_TASK_CLASSIFICATION);
    struct sl_model *m = model_of(engine, &config);
    const char *name = "blocks.0.layers.2.mlp.up.in", *stream = "block.0.2.mixing.up.in";
    const struct sl_parameter *u = buffer(m, name);
    int span = config.width, half = span / 2, l = 2 + own(&config)->skip_time_zero;
    for (int a = 0; a < span; a++)
        for (int p = 0; p < span; p++) {
            uint64_t place = (uint64_t)(a * half + p % half);
            double c = span * sl_random_normal(sl_random_key(0, stream), place);
            double angle = l * M_PI / span * (p % half) * c;
            double want = (p < half ? sin(angle) : cos(angle)) / sqrt(config.ffn_width);
            cr_expect_float_eq(u->data[p * span + a], want, 1e-6, "U[%d, %d]", a, p);
        }
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* -- the same bits ----------------------------------------------------------------------------- */

Test(transevolve, classes_do_not_depend_on_company_or_threads)
{
    for (int i = 0; i < VARIANTS; i++) {
        float alone[FIXTURE_CLASSES], among[2][6 * FIXTURE_CLASSES];
        for (int threads = 0; threads < 2; threads++) {
            struct sl_engine *engine = fixture_engine(NULL, 1 + 2 * threads);
            struct sl_config config = config_of(&variants[i], SL_TASK_CLASSIFICATION);
            struct sl_model *m = model_of(engine, &config);
            struct texts x;
            draw_texts(&x);
            classify(m, x.items, 6, among[threads]);
            for (int t = 0; t < 6; t++) {
                classify(m, &x.items[t], 1, alone);
                cr_expect_eq(memcmp(alone, among[threads] + t * FIXTURE_CLASSES, sizeof alone), 0,
                             "variant %d, text %d", i, t);
            }
            sl_model_close(m);
            sl_engine_destroy(engine);
        }
        cr_expect_eq(memcmp(among[0], among[1], sizeof among[0]), 0, "variant %d", i);
    }
}

enum { LONG = 150 };

/* All logits of a text, fed in pieces of these lengths, over and over. */
static void read_in_pieces(const struct sl_model *m, const int32_t *tokens, const int *pieces,
                           float *out)
{
    struct sl_err err;
    struct sl_session_options options = {.max_sequences = 1, .max_batch_tokens = LONG};
    struct sl_session *s = sl_session_create(m, &options, &err);
    cr_assert(s, "%s", err.text);
    for (int i = 0, piece = 0; i < LONG; piece = pieces[piece + 1] ? piece + 1 : 0) {
        int count = pieces[piece] < LONG - i ? pieces[piece] : LONG - i;
        struct sl_chunk feed = {.tokens = tokens + i, .count = count, .all_logits = true};
        EXPECT_OK(sl_session_run(s, &feed, 1, &err), err);
        memcpy(out + (size_t)i * FIXTURE_VOCAB, feed.logits,
               (size_t)(count * FIXTURE_VOCAB) * sizeof *out);
        i += count;
    }
    sl_session_destroy(s);
}

/* The same without a cache, as trained. */
static void read_at_once(const struct sl_model *m, const int32_t *tokens, float *out)
{
    struct sl_sequence sequence = {.rows = LONG};
    struct sl_batch batch = {.tokens = tokens, .sequences = &sequence, .rows = LONG, .count = 1};
    struct sl_tape t;
    fixture_tape_init(&t, m, &batch, false);
    sl_tape_begin(&t, &batch, false);
    const struct sl_tensor *logits = sl_model_forward(m, &t);
    memcpy(out, logits->data, (size_t)LONG * FIXTURE_VOCAB * sizeof *out);
    sl_tape_release(&t);
}

static void check_pieces(const struct sl_model *m, int variant)
{
    static const int whole[] = {LONG, 0}, ones[] = {1, 0}, uneven[] = {5, 63, 1, 64, 2, 0};
    static float want[LONG * FIXTURE_VOCAB], have[LONG * FIXTURE_VOCAB];
    int32_t tokens[LONG];
    for (int i = 0; i < LONG; i++)
        tokens[i] = (int32_t)sl_random_below(test_seed(), (uint64_t)i, FIXTURE_VOCAB);
    read_in_pieces(m, tokens, whole, want);
    read_in_pieces(m, tokens, ones, have);
    cr_expect_eq(memcmp(want, have, sizeof want), 0, "variant %d: token by token", variant);
    read_in_pieces(m, tokens, uneven, have);
    cr_expect_eq(memcmp(want, have, sizeof want), 0, "variant %d: in pieces", variant);
    read_at_once(m, tokens, have);
    bool exact = m->engine->kernels->operand == SL_F32;
    for (int i = 0; i < LONG * FIXTURE_VOCAB; i++)
        cr_expect_float_eq(want[i], have[i], exact ? 1e-5 : 0.1, "variant %d: %g and %g", variant,
                           (double)want[i], (double)have[i]);
}

Test(transevolve, a_text_read_in_pieces_is_the_text_read_at_once)
{
    const char *const levels[] = {"ref", NULL};
    for (int level = TEST_SANITIZED ? 1 : 0; level < 2; level++) {
        struct sl_engine *engine = fixture_engine(levels[level], 2);
        for (int i = 0; i < VARIANTS; i++) {
            struct sl_config config = config_of(&variants[i], SL_TASK_COMPLETION);
            config.context_length = LONG;
            struct sl_model *m = model_of(engine, &config);
            check_pieces(m, i);
            sl_model_close(m);
        }
        sl_engine_destroy(engine);
    }
}

/* -- the hyper-parameters -------------------------------------------------------------------- */

/* The published rate: most / sqrt(width) min(step^-1/2, step warmup^-3/2), steps from 1. */
static void check_rates(double max, int width, int warmup, double peak)
{
    struct sl_hyperparameters r = {.lr_schedule = SL_LR_INVERSE_SQRT, .warmup_steps = warmup};
    r.learning_rate = (float)(max / sqrt((double)width * warmup));
    cr_expect_float_eq(sl_learning_rate_at(&r, warmup - 1), peak, 1e-3 * peak);
    const int steps[] = {1, 100, warmup - 1, warmup, warmup + 1, 5 * warmup};
    for (int i = 0; i < 6; i++) {
        double rising = steps[i] * pow(warmup, -1.5), falling = 1.0 / sqrt(steps[i]);
        double want = max / sqrt(width) * fmin(rising, falling);
        cr_expect_float_eq(sl_learning_rate_at(&r, steps[i] - 1), want, 1e-6 * want, "step %d",
                           steps[i]);
    }
}

Test(transevolve, an_inverse_root_is_the_published_rate)
{
    check_rates(0.5, 256, 8000, 3.494e-4);
    check_rates(1.5, 512, 16000, 5.241e-4);
}

/* -- what no bound of one number says ---------------------------------------------------------- */

Test(transevolve, mismatched_sizes_are_rejected)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find("transevolve");
    struct sl_config c = config_of(&variants[0], SL_TASK_COMPLETION);
    EXPECT_OK(sl_config_check(arch, &c, &err), err);
    own(&c)->blocks = c.depth + 1;
    EXPECT_FAIL(sl_config_check(arch, &c, &err), err, SL_BAD_INPUT, "expected 1 to depth");
    own(&c)->blocks = 1;
    c.width = c.heads = 9;
    EXPECT_FAIL(sl_config_check(arch, &c, &err), err, SL_BAD_INPUT, "even");
}
