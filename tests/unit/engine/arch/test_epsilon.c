/* test_epsilon.c - what the Epsilon paper promises of the model, and that leaving work out changes
 * no bit of an answer. Its parts are in test_epsilon_parts.c, gradients in test_ops.c and
 * test_archs.c, numbers in test_golden.c. */
#include "arch/epsilon/epsilon.h"
#include "base/random.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include "sluice/classifier.h"
#include "train/optimizer.h"

#include <math.h>

enum { STEPS = 4 };

/* -- the model -------------------------------------------------------------------------------- */

static struct sl_epsilon_config *own(struct sl_config *c)
{
    return fixture_own(c);
}

static struct sl_config config_of(int context)
{
    struct sl_config c = fixture_config_for(sl_arch_find("epsilon"), SL_TASK_CLASSIFICATION);
    c.context_length = context;
    c.depth = STEPS;
    c.dropout = 0.0f;
    c.hash_bigrams = c.wide_ngrams = 0;
    return c;
}

static struct sl_model *model_of(struct sl_engine *engine, const struct sl_config *config)
{
    return fixture_model(engine, sl_arch_find("epsilon"), config);
}

/* Moves every bias of the scores. */
static void shift_halting(struct sl_model *m, float by)
{
    for (int i = 0; i < m->builder.count; i++) {
        struct sl_parameter *p = &m->builder.parameters[i];
        if (strncmp(p->name, "halting.", 8) == 0 && strstr(p->name, ".bias"))
            p->data[0] += by;
    }
    sl_model_pack(m);
}

static const struct sl_parameter *named(const struct sl_parameter *list, int count,
                                        const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    cr_assert(false, "there is no %s", name);
    return NULL;
}

static struct sl_parameter *parameter_of(struct sl_model *m, const char *name)
{
    return &m->builder.parameters[named(m->builder.parameters, m->builder.count, name) -
                                  m->builder.parameters];
}

/* The loss at this temperature, and the norm of the gradient of its logarithm. */
static double loss_at(struct sl_model *m, struct sl_tape *t, const struct sl_batch *batch,
                      float tau, float *gradient)
{
    const struct sl_kernels *k = m->engine->kernels;
    struct sl_parameter *log_tau = parameter_of(m, "attention.log_temperature");
    for (int h = 0; h < log_tau->cols; h++)
        log_tau->data[h] = logf(tau);
    sl_model_pack(m);
    sl_model_zero_gradients(m);
    double loss = fixture_loss(m, t, batch);
    sl_tape_backward(t);
    sl_model_backprop_buffers(m);
    *gradient = sqrtf(k->dot(log_tau->grad, log_tau->grad, log_tau->cols));
    return loss;
}

/* exp(log tau) is 0.001 at least, and where it is held there it has no slope. */
Test(epsilon, temperatures_are_clamped_to_their_minimum)
{
    static const int two[] = {9, 20, 0};
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(FIXTURE_CONTEXT);
    struct sl_model *m = model_of(engine, &config);
    struct fixture_batch f;
    struct sl_tape t;
    float gradient;
    fixture_batch_init(&f, two, 2);
    fixture_set_task(&f, config.task);
    fixture_tape_init(&t, m, &f.batch, true);
    /* So small that shares are not yet all or nothing at the least temperature. */
    struct sl_parameter *prototypes = parameter_of(m, "attention.bin_prototypes");
    engine->kernels->scale(prototypes->data, 1e-3f, prototypes->data,
                           prototypes->rows * prototypes->cols);
    double min = loss_at(m, &t, &f.batch, 1.0001e-3f, &gradient);
    cr_expect_gt(gradient, 0.0f);
    double held = loss_at(m, &t, &f.batch, 1e-6f, &gradient);
    cr_expect_float_eq(held, min, 1e-4 * min, "%.9g and %.9g", held, min);
    cr_expect_eq(gradient, 0.0f);
    double other = loss_at(m, &t, &f.batch, 1e-2f, &gradient);
    cr_expect(fabs(other - min) > 1e-3 * min, "%g and %g", other, min);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* What test_archs.c walks is worth walking: rows halt before the end, rows do not halt at all. */
Test(epsilon, the_fixture_halts_both_ways)
{
    static const int four[] = {24, 1, 7, 17, 0};
    struct sl_engine *engine = fixture_engine("ref", 1);
    const struct sl_arch *arch = sl_arch_find("epsilon");
    struct sl_config config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    struct sl_model *m = fixture_model(engine, arch, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, four, 3);
    fixture_set_task(&f, config.task);
    fixture_tape_init(&t, m, &f.batch, true);
    sl_model_zero_gradients(m);
    (void)fixture_loss(m, &t, &f.batch);
    sl_tape_backward(&t);
    double mean = t.stats.depth_sum / t.stats.depth_count;
    cr_expect(mean > 1.5 && mean < config.depth - 0.2, "mean depth %g", mean);
    /* The last scores count only for rows that do not halt. */
    const struct sl_parameter *p =
        named(m->builder.parameters, m->builder.count, "halting.2.weight");
    cr_expect_gt(engine->kernels->dot(p->grad, p->grad, p->cols), 1e-4f);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

static double price_at(struct sl_model *m, struct sl_tape *t, const struct fixture_batch *f,
                       float progress)
{
    t->progress = progress;
    (void)fixture_loss(m, t, &f->batch);
    return t->stats.aux_loss;
}

/* 0.1 + 0.45 (1 + cos(pi progress)): 1, 0.55, 0.1. */
Test(epsilon, the_depth_penalty_falls_to_a_tenth)
{
    static const int two[] = {9, 20, 0};
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(24);
    own(&config)->entropy_weight = 0.0f;
    struct sl_model *m = model_of(engine, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, two, 3);
    fixture_tape_init(&t, m, &f.batch, true);
    double first = price_at(m, &t, &f, 0.0f);
    cr_assert_gt(first, 1e-3);
    cr_expect_float_eq(price_at(m, &t, &f, 0.5f) / first, 0.55, 1e-5);
    cr_expect_float_eq(price_at(m, &t, &f, 1.0f) / first, 0.1, 1e-5);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* Sum over bins of a log a: -log B when shares are equal, 0 when each key has a bin to itself. */
Test(epsilon, the_penalty_on_few_bins_is_their_entropy)
{
    static const int two[] = {9, 20, 0};
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(24);
    own(&config)->kl_weight = 0.0f;
    own(&config)->entropy_weight = 1.0f;
    struct sl_model *m = model_of(engine, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, two, 3);
    fixture_tape_init(&t, m, &f.batch, true);
    double usual = price_at(m, &t, &f, 0.0f);
    cr_expect(usual > -log(own(&config)->bins) && usual < 0.0, "%g", usual);
    const struct sl_parameter *u =
        named(m->builder.parameters, m->builder.count, "attention.bin_prototypes");
    engine->kernels->scale(u->data, 1e4f, u->data, u->rows * u->cols);
    sl_model_pack(m);
    cr_expect_float_eq(price_at(m, &t, &f, 0.0f), 0.0, 0.02);
    engine->kernels->scale(u->data, 0.0f, u->data, u->rows * u->cols);
    sl_model_pack(m);
    cr_expect_float_eq(price_at(m, &t, &f, 0.0f), -log(own(&config)->bins), 1e-5);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* Once every row has halted no further step changes the loss, and none is taken. */
Test(epsilon, training_stops_when_all_rows_have_halted)
{
    static const int two[] = {9, 20, 0};
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(24);
    struct sl_model *m = model_of(engine, &config);
    int32_t layers_used[32] = {0};
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, two, 3);
    f.tokens[0] = f.tokens[9] = 1;
    fixture_tape_init(&t, m, &f.batch, true);
    t.stats.layers_used = layers_used;
    (void)fixture_loss(m, &t, &f.batch);
    cr_expect_eq(layers_used[0], STEPS);
    shift_halting(m, 40.0f);
    memset(layers_used, 0, sizeof layers_used);
    (void)fixture_loss(m, &t, &f.batch);
    cr_expect_eq(layers_used[0], 1);
    cr_expect_float_eq(t.stats.depth_sum, t.stats.depth_count, 1e-9);
    cr_expect_float_eq(t.stats.first_depth, 2.0, 1e-9);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* -- training ---------------------------------------------------------------------------------- */

/* A model in training, on one batch again and again. */
struct school {
    struct sl_model *m;
    struct sl_optimizer optimizer;
    struct sl_hyperparameters hyperparameters;
    struct fixture_batch f;
    struct sl_tape tape;
    int step;
};

static void school_open(struct school *s, struct sl_engine *engine)
{
    static const int three[] = {24, 7, 17, 0};
    struct sl_err err;
    struct sl_config config = config_of(24);
    config.dropout = 0.1f;
    *s = (struct school){.m = sl_model_create(engine, sl_arch_find("epsilon"), &config, &err)};
    cr_assert(s->m, "%s", err.text);
    EXPECT_OK(sl_model_allocate_gradients(s->m, &err), err);
    sl_model_initialize(s->m, 3);
    sl_model_pack(s->m);
    sl_params_set_defaults(sl_hyperparameter_rows, &s->hyperparameters);
    EXPECT_OK(sl_optimizer_init(&s->optimizer, s->m, &s->hyperparameters, &err), err);
    s->hyperparameters.steps = 100;
    fixture_batch_init(&s->f, three, 3);
    fixture_set_task(&s->f, config.task);
    fixture_tape_init(&s->tape, s->m, &s->f.batch, true);
}

static void school_close(struct school *s)
{
    sl_tape_release(&s->tape);
    sl_optimizer_release(&s->optimizer);
    sl_model_close(s->m);
}

static void learn(struct school *s, int steps)
{
    for (; steps > 0; steps--, s->step++) {
        s->tape.random_key = sl_random_bits(sl_random_key(5, "dropout"), (uint64_t)s->step);
        sl_model_zero_gradients(s->m);
        (void)fixture_loss(s->m, &s->tape, &s->f.batch);
        sl_tape_backward(&s->tape);
        sl_model_backprop_buffers(s->m);
        sl_optimizer_step(&s->optimizer, &s->hyperparameters, s->step,
                          sl_optimizer_norm(&s->optimizer));
        sl_model_pack(s->m);
    }
}

/* The largest singular value, by 2000 power iterations. */
static double largest_of(const struct sl_parameter *w)
{
    double u[64], v[64], norm = 1.0;
    cr_assert(w->rows <= 64 && w->cols <= 64);
    for (int c = 0; c < w->cols; c++)
        v[c] = sl_random_normal(3, (uint64_t)c);
    for (int round = 0; round < 2000; round++) {
        for (int r = 0; r < w->rows; r++) {
            u[r] = 0.0;
            for (int c = 0; c < w->cols; c++)
                u[r] += (double)w->data[r * w->cols + c] * v[c] / norm;
        }
        norm = 0.0;
        for (int c = 0; c < w->cols; c++) {
            v[c] = 0.0;
            for (int r = 0; r < w->rows; r++)
                v[c] += (double)w->data[r * w->cols + c] * u[r];
            norm += v[c] * v[c];
        }
        norm = sqrt(norm);
    }
    return sqrt(norm);
}

Test(epsilon, weights_of_the_mlp_have_a_largest_singular_value_of_1)
{
    static const char *const names[] = {"mlp.up", "mlp.down"};
    struct sl_engine *engine = fixture_engine("ref", 2);
    struct school s;
    school_open(&s, engine);
    const struct sl_builder *b = &s.m->builder;
    for (int steps = 0; steps <= 50; steps += 50) {
        learn(&s, steps);
        for (int i = 0; i < 2; i++) {
            char raw[32], normal[32];
            (void)snprintf(raw, sizeof raw, "%s.weight", names[i]);
            (void)snprintf(normal, sizeof normal, "%s.normalized_weight", names[i]);
            double other = largest_of(named(b->parameters, b->count, raw));
            double one = largest_of(named(b->buffers, b->buffer_count, normal));
            cr_expect_gt(fabs(other - 1.0), 0.2, "%s: %g", raw, other);
            /* 20 rounds at first, of vectors that were drawn; 420 in the end. */
            cr_expect_float_eq(one, 1.0, steps ? 1e-3 : 0.1, "%s: %g", normal, one);
        }
    }
    school_close(&s);
    sl_engine_destroy(engine);
}

static void copy_school(struct school *to, const struct school *from)
{
    const struct sl_model *m = from->m;
    for (int i = 0; i < m->state_dict_count; i++)
        memcpy(to->m->state_dict[i].data, m->state_dict[i].data,
               sl_parameter_floats(&m->state_dict[i]) * sizeof(float));
    for (int i = 0; i < m->builder.count; i++) {
        size_t bytes = sl_parameter_floats(&m->builder.parameters[i]) * sizeof(float);
        memcpy(to->optimizer.m[i], from->optimizer.m[i], bytes);
        memcpy(to->optimizer.v[i], from->optimizer.v[i], bytes);
    }
    to->step = from->step;
    sl_model_pack(to->m);
}

static void expect_same(const struct sl_model *a, const struct sl_model *b)
{
    for (int i = 0; i < a->state_dict_count; i++) {
        const struct sl_parameter *p = &a->state_dict[i], *q = &b->state_dict[i];
        cr_expect_eq(memcmp(p->data, q->data, sl_parameter_floats(p) * sizeof(float)), 0, "%s",
                     p->name);
    }
}

/* What is saved is enough: derived buffers, and estimates of singular values, go on as if nothing
 * had happened. */
Test(epsilon, a_training_that_was_saved_goes_on_with_the_same_bits)
{
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct school whole, begun, resumed;
    school_open(&whole, engine);
    school_open(&begun, engine);
    school_open(&resumed, engine);
    learn(&whole, 7);
    for (int saved_at = 0; saved_at < 4; saved_at += 3) {
        learn(&begun, saved_at);
        copy_school(&resumed, &begun);
        sl_model_pack(resumed.m); /* as often as one likes */
        learn(&resumed, 7 - saved_at);
        expect_same(whole.m, resumed.m);
    }
    school_close(&whole);
    school_close(&begun);
    school_close(&resumed);
    sl_engine_destroy(engine);
}

/* -- serving ----------------------------------------------------------------------------------- */

enum { ITEMS = 24, CONTEXT = 200 };

struct texts {
    int32_t tokens[ITEMS][CONTEXT];
    int counts[ITEMS];
};

/* Short ones, and ones of several tiles. One begins with padding, which never halts. */
static void draw_texts(struct texts *x)
{
    uint64_t key = sl_random_key(test_seed(), "texts");
    for (int i = 0; i < ITEMS; i++) {
        int max = i % 2 ? CONTEXT : 12;
        x->counts[i] = i < 3 ? 1 : 1 + (int)sl_random_below(key, (uint64_t)i, (uint64_t)max);
        for (int j = 0; j < CONTEXT; j++)
            x->tokens[i][j] =
                1 + (int)sl_random_below(key, ITEMS + (uint64_t)i * CONTEXT + (uint64_t)j,
                                         FIXTURE_VOCAB - 1);
    }
    x->tokens[5][0] = 0;
}

struct answers {
    float logits[ITEMS][FIXTURE_CLASSES];
    int64_t layers_used[ITEMS];
};

static struct sl_classifier *classifier_of(const struct sl_model *m)
{
    struct sl_err err;
    struct sl_classifier_options options = {.max_batch_size = ITEMS,
                                            .max_batch_tokens = ITEMS * CONTEXT};
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    cr_assert(c, "%s", err.text);
    return c;
}

/* Texts in batches of `together`. */
static void classify(const struct sl_model *m, const struct texts *x, int together,
                     struct answers *a)
{
    struct sl_err err;
    struct sl_classifier *c = classifier_of(m);
    for (int first = 0; first < ITEMS; first += together) {
        struct sl_classifier_item items[ITEMS] = {0};
        for (int i = 0; i < together; i++)
            items[i] = (struct sl_classifier_item){.tokens = x->tokens[first + i],
                                                   .count = x->counts[first + i]};
        EXPECT_OK(sl_classifier_run(c, items, together, &err), err);
        for (int i = 0; i < together; i++) {
            memcpy(a->logits[first + i], items[i].logits, sizeof a->logits[0]);
            a->layers_used[first + i] = items[i].layers_used;
        }
    }
    sl_classifier_destroy(c);
}

/* All work, one text at a time, one thread: what every other way must give. */
static void classify_plainly(const struct sl_config *config, float shift, const struct texts *x,
                             struct answers *a)
{
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_model *m = model_of(engine, config);
    shift_halting(m, shift);
    m->policy.dense = true;
    classify(m, x, 1, a);
    for (int i = 0; i < ITEMS; i++)
        cr_expect_eq(a->layers_used[i], (int64_t)x->counts[i] * STEPS, "text %d", i);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

static void expect_equal(const struct answers *want, const struct answers *got, const char *how,
                         float shift)
{
    for (int i = 0; i < ITEMS; i++)
        cr_expect_eq(memcmp(want->logits[i], got->logits[i], sizeof want->logits[i]), 0,
                     "%s, halting shifted by %g: text %d (seed %llu)", how, (double)shift, i,
                     (unsigned long long)test_seed());
}

/* A text whose first token takes k steps runs k of it and k - 1 of each other: k, by text. */
static void expect_savings(const struct answers *a, const struct texts *x, int depths[STEPS + 1])
{
    for (int i = 0; i < ITEMS; i++) {
        int64_t depth = (a->layers_used[i] - 1) / x->counts[i] + 1;
        cr_expect_eq(a->layers_used[i], depth + (x->counts[i] - 1) * (depth - 1), "text %d", i);
        cr_assert(depth >= 1 && depth <= STEPS, "text %d: %lld", i, (long long)depth);
        depths[depth]++;
    }
    cr_expect_eq(a->layers_used[5], STEPS + (x->counts[5] - 1) * (STEPS - 1), "padding halted");
}

static void compare_ways(const struct sl_config *config, float shift, int depths[STEPS + 1])
{
    static struct answers plain, got;
    static struct texts x;
    draw_texts(&x);
    classify_plainly(config, shift, &x, &plain);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct sl_engine *engine = fixture_engine(NULL, threads);
        struct sl_model *m = model_of(engine, config);
        shift_halting(m, shift);
        classify(m, &x, 1, &got);
        expect_equal(&plain, &got, "alone", shift);
        expect_savings(&got, &x, depths);
        classify(m, &x, ITEMS, &got);
        expect_equal(&plain, &got, "together", shift);
        expect_savings(&got, &x, depths);
        m->policy.dense = true;
        classify(m, &x, ITEMS, &got);
        expect_equal(&plain, &got, "together, all work", shift);
        sl_model_close(m);
        sl_engine_destroy(engine);
    }
}

Test(epsilon, leaving_work_out_changes_no_bit)
{
    int depths[STEPS + 1] = {0};
    struct sl_config config = config_of(CONTEXT), large = config;
    large.width = 48;
    large.heads = 4;
    own(&large)->bins = 37;
    compare_ways(&config, 0.0f, depths);
    compare_ways(&config, -1.5f, depths);
    compare_ways(&large, 1.0f, depths);
    compare_ways(&large, 13.0f, depths); /* sigmoids of 1 */
    for (int depth = 1; depth <= STEPS; depth++)
        cr_expect_gt(depths[depth], 0, "no text took %d steps", depth);
}

/* With mask_padding the padding of a text is as good as not there; without, it is not; nor where
 * token 0 is a token like others. */
Test(epsilon, padding_is_excluded_by_default)
{
    static const struct {
        int padding_token, mask_padding;
    } cases[] = {{1, 0}, {1, 1}, {0, 1}};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_config config = config_of(CONTEXT);
    struct texts x;
    for (int c = 0; c < 3; c++) {
        struct answers bare, padded;
        config.padding_token = cases[c].padding_token;
        own(&config)->mask_padding = cases[c].mask_padding;
        draw_texts(&x);
        struct sl_model *m = model_of(engine, &config);
        classify(m, &x, ITEMS, &bare);
        for (int i = 0; i < ITEMS; i++)
            for (; x.counts[i] < CONTEXT; x.counts[i]++)
                x.tokens[i][x.counts[i]] = 0;
        classify(m, &x, ITEMS, &padded);
        if (c == 1)
            expect_equal(&bare, &padded, "padded", 0.0f);
        else
            for (int i = 0; i < ITEMS; i++)
                cr_expect_neq(memcmp(bare.logits[i], padded.logits[i], sizeof bare.logits[i]), 0,
                              "case %d, text %d", c, i);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}
