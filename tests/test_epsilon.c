/* test_epsilon.c - what the Epsilon paper promises of its parts, and that leaving work out changes
 * no bit of an answer. Gradients are in test_ops.c and test_archs.c, numbers in test_golden.c. */
#include "net_fixture.h"

#include "ops/ops.h"
#include "sluice/classify.h"
#include "train/optimiser.h"

#include <math.h>

/* -- histogram attention, against its formulas in double -------------------------------------- */

enum { ROWS = 260, WIDTH = 20, HEADS = 2, DIM = WIDTH / HEADS, BINS_MOST = 7 };

/* Stretches of more than one tile, of exactly one, of one row. */
static const int lengths[] = {130, 1, 64, 65, 0};
static const int32_t beginnings[] = {0, 130, 131, 195, ROWS};
static const struct sl_stretches stretches = {beginnings, 4};

struct attention {
    int bins;
    bool bin_padding;
    bool padding[ROWS];
    float query[ROWS][WIDTH], key_value[ROWS][2 * WIDTH], assign[WIDTH * BINS_MOST];
    float out[ROWS][WIDTH];
};

static void fill_random(float *x, int count, const char *name)
{
    uint64_t key = sl_random_key(test_seed(), name);
    for (int i = 0; i < count; i++)
        x[i] = (float)sl_random_normal(key, (uint64_t)i);
}

static struct attention *attention_make(int bins)
{
    struct attention *a = calloc(1, sizeof *a);
    cr_assert(a);
    a->bins = bins;
    fill_random(a->query[0], ROWS * WIDTH, "query");
    fill_random(a->key_value[0], ROWS * 2 * WIDTH, "key value");
    fill_random(a->assign, WIDTH * bins, "assign");
    return a;
}

/* out by the ops, served, at a level's own precision of operands. */
static void attend(struct attention *a, const char *isa)
{
    struct sl_err err;
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_policy policy = {0};
    struct sl_engine *engine = fixture_engine(isa, 2);
    fixture_fill(&f, lengths, 1);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 22, &err), err);
    t.policy = &policy;
    sl_tape_begin(&t, &f.batch, false);
    struct sl_tensor *q = sl_tensor_take(&t, ROWS, WIDTH),
                     *kv = sl_tensor_take(&t, ROWS, 2 * WIDTH);
    struct sl_parameter assign = {.data = a->assign, .rows = WIDTH, .cols = a->bins};
    memcpy(q->data, a->query, sizeof a->query);
    memcpy(kv->data, a->key_value, sizeof a->key_value);
    struct sl_tensor *shares = sl_share_bins(&t, kv,
                                             (struct sl_share_args){.assign = &assign,
                                                                    .padding = a->padding,
                                                                    .heads = HEADS,
                                                                    .bin_padding = a->bin_padding});
    struct sl_tensor *bins =
        sl_fill_bins(&t, kv, shares, (struct sl_fill_args){.stretches = stretches, .heads = HEADS});
    const struct sl_tensor *out =
        sl_read_bins(&t, q, bins, (struct sl_read_args){.stretches = stretches, .heads = HEADS});
    for (int r = 0; r < ROWS; r++)
        engine->kernels->widen(a->out[r], sl_row_any(out, r), WIDTH);
    sl_tape_release(&t);
    sl_engine_destroy(engine);
}

static double product(const float *x, const float *y, int step, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += (double)x[i] * (double)y[(size_t)i * (size_t)step];
    return sum;
}

static void softmax(double *x, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += x[i] = exp(x[i]);
    for (int i = 0; i < count; i++)
        x[i] /= sum;
}

/* One head's bins of one stretch. */
struct bins {
    double mass[BINS_MOST], keys[BINS_MOST][DIM], values[BINS_MOST][DIM];
};

static void fill_bins(const struct attention *a, int stretch, int head, struct bins *bins)
{
    *bins = (struct bins){0};
    for (int i = beginnings[stretch]; i < beginnings[stretch + 1]; i++) {
        const float *key = &a->key_value[i][head * DIM];
        double share[BINS_MOST];
        for (int b = 0; b < a->bins; b++)
            share[b] = product(key, &a->assign[head * DIM * a->bins + b], a->bins, DIM);
        softmax(share, a->bins);
        for (int b = 0; b < a->bins && (a->bin_padding || !a->padding[i]); b++) {
            bins->mass[b] += share[b];
            for (int c = 0; c < DIM; c++) {
                bins->keys[b][c] += share[b] * (double)key[c];
                bins->values[b][c] += share[b] * (double)key[WIDTH + c];
            }
        }
    }
    for (int b = 0; b < a->bins; b++)
        for (int c = 0; c < DIM; c++) {
            bins->keys[b][c] /= bins->mass[b] + 1e-6;
            bins->values[b][c] /= bins->mass[b] + 1e-6;
        }
}

/* The largest difference between the ops' result and the formulas'. */
static double difference_of(const struct attention *a)
{
    double most = 0.0;
    for (int i = 0; i < stretches.count * HEADS; i++) {
        int stretch = i / HEADS, head = i % HEADS;
        struct bins bins;
        fill_bins(a, stretch, head, &bins);
        for (int j = beginnings[stretch]; j < beginnings[stretch + 1]; j++) {
            double weight[BINS_MOST] = {0};
            for (int b = 0; b < a->bins; b++)
                for (int c = 0; c < DIM; c++)
                    weight[b] += (double)a->query[j][head * DIM + c] * bins.keys[b][c] / sqrt(DIM);
            softmax(weight, a->bins);
            for (int c = 0; c < DIM; c++) {
                double want = 0.0;
                for (int b = 0; b < a->bins; b++)
                    want += weight[b] * bins.values[b][c];
                most = fmax(most, fabs(want - (double)a->out[j][head * DIM + c]));
            }
        }
    }
    return most;
}

Test(histogram, is_its_formulas)
{
    for (int padded = 0; padded < 2; padded++) {
        struct attention *a = attention_make(BINS_MOST);
        a->bin_padding = padded;
        for (int r = 0; r < ROWS; r += 5)
            a->padding[r] = true;
        attend(a, "ref");
        cr_expect_lt(difference_of(a), 2e-6, "ref: %g", difference_of(a));
        attend(a, NULL); /* whose result is perhaps rounded to bf16 */
        cr_expect_lt(difference_of(a), 0.01, "fastest: %g", difference_of(a));
        free(a);
    }
}

/* Without prototypes all shares are equal, and all bins the mean of what is in them: each row of a
 * text reads the same. */
Test(histogram, without_prototypes_every_bin_is_the_mean)
{
    struct attention *a = attention_make(BINS_MOST);
    memset(a->assign, 0, sizeof a->assign);
    for (int r = 1; r < ROWS; r += 3)
        a->padding[r] = r != 130;
    attend(a, "ref");
    for (int s = 0; s < stretches.count; s++)
        for (int c = 0; c < WIDTH; c++) {
            double mean = 0.0;
            int count = 0;
            for (int r = beginnings[s]; r < beginnings[s + 1]; r++) {
                mean += a->padding[r] ? 0.0 : (double)a->key_value[r][WIDTH + c];
                count += !a->padding[r];
            }
            for (int r = beginnings[s]; r < beginnings[s + 1]; r++)
                /* 1e-6 more in each bin is 7e-6 of the only row of a text. */
                cr_expect_float_eq((double)a->out[r][c], mean / count, 1e-4, "row %d", r);
        }
    free(a);
}

Test(histogram, one_bin_gives_the_mean_of_values)
{
    struct attention *a = attention_make(1);
    attend(a, "ref");
    cr_expect_lt(difference_of(a), 2e-6, "%g", difference_of(a));
    for (int c = 0; c < WIDTH; c++) {
        double mean = 0.0;
        for (int r = 0; r < beginnings[1]; r++)
            mean += (double)a->key_value[r][WIDTH + c] / beginnings[1];
        for (int r = 0; r < beginnings[1]; r++)
            cr_expect_float_eq((double)a->out[r][c], mean, 1e-6, "row %d", r);
    }
    free(a);
}

Test(histogram, does_not_know_the_order_of_rows)
{
    struct attention *a = attention_make(BINS_MOST), *b = attention_make(BINS_MOST);
    int count = beginnings[1];
    for (int r = 0; r < count; r++) {
        int from = r * 77 % count; /* 77 and 130 have no common divisor */
        memcpy(b->query[r], a->query[from], sizeof b->query[r]);
        memcpy(b->key_value[r], a->key_value[from], sizeof b->key_value[r]);
    }
    attend(a, "ref");
    attend(b, "ref");
    for (int r = 0; r < count; r++)
        for (int c = 0; c < WIDTH; c++)
            cr_expect_float_eq(b->out[r][c], a->out[r * 77 % count][c], 1e-6f, "row %d", r);
    free(a);
    free(b);
}

/* -- halting ---------------------------------------------------------------------------------- */

enum { STEPS = 4, TEXTS = 5 };

/* The scores of the first, and only, rows of some texts; a text of padding is PADDED. */
struct walk {
    double scores[TEXTS][STEPS];
    bool padding[TEXTS];
    float outputs[TEXTS][STEPS]; /* what each step gave */
    double price;
};

/* States are unit vectors, a dimension for each step: so an output lists what each step gave. */
static void walk(struct walk *w, float price, double mean)
{
    static const int ones[] = {1, 1, 1, 1, 1, 0};
    struct sl_err err;
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_engine *engine = fixture_engine("ref", 1);
    fixture_fill(&f, ones, 1);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 16, &err), err);
    sl_tape_begin(&t, &f.batch, true);
    int32_t steps[TEXTS] = {0};
    float left[TEXTS] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    struct sl_halts halts = {
        .steps_most = STEPS, .steps = steps, .left = left, .padding = w->padding};
    struct sl_tensor *y = sl_tensor_take(&t, TEXTS, STEPS);
    memset(y->data, 0, sizeof w->outputs);
    for (int step = 1; step <= STEPS; step++) {
        struct sl_tensor *h = sl_tensor_take(&t, TEXTS, STEPS), *z = sl_tensor_take(&t, TEXTS, 1);
        memset(h->data, 0, sizeof w->outputs);
        for (int i = 0; i < TEXTS; i++) {
            sl_row(h, i)[step - 1] = 1.0f;
            *sl_row(z, i) = (float)w->scores[i][step - 1];
        }
        y = sl_halt(&t, y, h, z,
                    (struct sl_halt_args){
                        .halts = &halts,
                        .step = step,
                        .price = price,
                        .log_prior = (float)((step - 1) * log(1.0 - 1.0 / mean) - log(mean)),
                        .log_prior_rest = (float)(STEPS * log(1.0 - 1.0 / mean))});
    }
    memcpy(w->outputs, y->data, sizeof w->outputs);
    w->price = t.notes.price;
    sl_tape_release(&t);
    sl_engine_destroy(engine);
}

static double logit(double p)
{
    return log(p / (1.0 - p));
}

Test(halting, takes_one_in_all_and_nothing_after_the_end)
{
    struct walk w = {.scores = {{logit(0.25), logit(0.25), logit(0.75), 3.0},
                                {logit(0.5), logit(0.9), 9.0, 9.0},
                                {-2.0, -2.0, -2.0, -2.0},
                                {60.0, 1.0, 1.0, 1.0},
                                {1.0, 1.0, 1.0, 1.0}},
                     .padding = {[4] = true}};
    double p = 1.0 / (1.0 + exp(2.0));
    const double want[TEXTS][STEPS] = {{0.25, 0.25, 0.5, 0.0},
                                       {0.5, 0.5, 0.0, 0.0},
                                       {p, p, p, 1.0 - 3.0 * p},
                                       {1.0, 0.0, 0.0, 0.0},
                                       {0.0, 0.0, 0.0, 1.0}};
    walk(&w, 0.0f, 3.0);
    for (int i = 0; i < TEXTS; i++) {
        double sum = 0.0;
        for (int step = 0; step < STEPS; step++) {
            sum += (double)w.outputs[i][step];
            cr_expect_float_eq((double)w.outputs[i][step], want[i][step], 1e-6, "text %d, step %d",
                               i, step);
        }
        cr_expect_float_eq(sum, 1.0, 1e-6, "text %d", i);
    }
}

Test(halting, as_the_prior_has_it_costs_nothing)
{
    struct walk w = {.padding = {[1] = true}};
    double mean = 2.5, left = 1.0, less = logit(0.3 / mean);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < TEXTS; i++)
            w.scores[i][step] = logit(left / mean);
        left *= 1.0 - 1.0 / mean;
    }
    walk(&w, 1.0f, mean);
    cr_expect_float_eq(w.price, 0.0, 1e-6, "%g", w.price);
    /* What one text does not take at first is left over in the end. */
    w.scores[0][0] = less;
    walk(&w, 1.0f, mean);
    double rest = left + 0.7 / mean;
    double price = 0.3 / mean * log(0.3) + rest * log(rest / left);
    cr_expect_float_eq(w.price, price, 1e-6, "%g, want %g", w.price, price);
    w.scores[0][0] = w.scores[2][0];
    w.scores[1][0] = less; /* padding */
    walk(&w, 1.0f, mean);
    cr_expect_float_eq(w.price, 0.0, 1e-6, "%g", w.price);
}

/* -- the model -------------------------------------------------------------------------------- */

static struct sl_config config_of(int context)
{
    struct sl_config c = fixture_config_for(sl_arch_find("epsilon"), SL_TASK_CLASSIFICATION);
    c.context = context;
    c.depth = STEPS;
    c.dropout = 0.0f;
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
    sl_net_pack(m);
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
    fixture_fill(&f, four, 3);
    fixture_aim(&f, config.task);
    fixture_tape(&t, m, &f.batch, true);
    sl_net_clear(m);
    (void)fixture_loss(m, &t, &f.batch);
    sl_tape_backward(&t);
    double mean = t.notes.depth_sum / t.notes.depth_count;
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
    return t->notes.price;
}

/* 0.1 + 0.45 (1 + cos(pi progress)): 1, 0.55, 0.1. */
Test(epsilon, the_price_on_depth_falls_to_a_tenth)
{
    static const int two[] = {9, 20, 0};
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(24);
    config.entropy_price = 0.0f;
    struct sl_model *m = model_of(engine, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_fill(&f, two, 3);
    fixture_tape(&t, m, &f.batch, true);
    double first = price_at(m, &t, &f, 0.0f);
    cr_assert_gt(first, 1e-3);
    cr_expect_float_eq(price_at(m, &t, &f, 0.5f) / first, 0.55, 1e-5);
    cr_expect_float_eq(price_at(m, &t, &f, 1.0f) / first, 0.1, 1e-5);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* Sum over bins of a log a: -log B when shares are equal, 0 when each key has a bin to itself. */
Test(epsilon, the_price_on_few_bins_is_their_entropy)
{
    static const int two[] = {9, 20, 0};
    struct sl_engine *engine = fixture_engine("ref", 1);
    struct sl_config config = config_of(24);
    config.kl_price = 0.0f;
    config.entropy_price = 1.0f;
    struct sl_model *m = model_of(engine, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_fill(&f, two, 3);
    fixture_tape(&t, m, &f.batch, true);
    double usual = price_at(m, &t, &f, 0.0f);
    cr_expect(usual > -log(config.bins) && usual < 0.0, "%g", usual);
    const struct sl_parameter *u =
        named(m->builder.parameters, m->builder.count, "attention.prototypes");
    engine->kernels->scale(u->data, 1e4f, u->data, u->rows * u->cols);
    sl_net_pack(m);
    cr_expect_float_eq(price_at(m, &t, &f, 0.0f), 0.0, 0.02);
    engine->kernels->scale(u->data, 0.0f, u->data, u->rows * u->cols);
    sl_net_pack(m);
    cr_expect_float_eq(price_at(m, &t, &f, 0.0f), -log(config.bins), 1e-5);
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
    fixture_fill(&f, two, 3);
    f.tokens[0] = f.tokens[9] = 1;
    fixture_tape(&t, m, &f.batch, true);
    t.notes.layers_used = layers_used;
    (void)fixture_loss(m, &t, &f.batch);
    cr_expect_eq(layers_used[0], STEPS);
    shift_halting(m, 40.0f);
    memset(layers_used, 0, sizeof layers_used);
    (void)fixture_loss(m, &t, &f.batch);
    cr_expect_eq(layers_used[0], 1);
    cr_expect_float_eq(t.notes.depth_sum, t.notes.depth_count, 1e-9);
    cr_expect_float_eq(t.notes.first_depth, 2.0, 1e-9);
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* -- training ---------------------------------------------------------------------------------- */

/* A model in training, on one batch again and again. */
struct school {
    struct sl_model *m;
    struct sl_optimiser optimiser;
    struct sl_recipe recipe;
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
    *s = (struct school){.m = sl_net_create(engine, sl_arch_find("epsilon"), &config, &err)};
    cr_assert(s->m, "%s", err.text);
    EXPECT_OK(sl_net_train(s->m, &err), err);
    sl_net_draw(s->m, 11);
    sl_net_pack(s->m);
    EXPECT_OK(sl_optimiser_init(&s->optimiser, s->m, &err), err);
    sl_numbers_standard(sl_recipe_rows, &s->recipe);
    s->recipe.steps = 100;
    fixture_fill(&s->f, three, 3);
    fixture_aim(&s->f, config.task);
    fixture_tape(&s->tape, s->m, &s->f.batch, true);
}

static void school_close(struct school *s)
{
    sl_tape_release(&s->tape);
    sl_optimiser_release(&s->optimiser);
    sl_model_close(s->m);
}

static void learn(struct school *s, int steps)
{
    for (; steps > 0; steps--, s->step++) {
        s->tape.random_key = sl_random_bits(sl_random_key(5, "dropout"), (uint64_t)s->step);
        sl_net_clear(s->m);
        (void)fixture_loss(s->m, &s->tape, &s->f.batch);
        sl_tape_backward(&s->tape);
        sl_net_fold(s->m);
        sl_optimiser_step(&s->optimiser, &s->recipe, s->step, sl_optimiser_norm(&s->optimiser));
        sl_net_pack(s->m);
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
            (void)snprintf(normal, sizeof normal, "%s.normal", names[i]);
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
    for (int i = 0; i < m->saved_count; i++)
        memcpy(to->m->saved[i].data, m->saved[i].data,
               sl_parameter_floats(&m->saved[i]) * sizeof(float));
    for (int i = 0; i < m->builder.count; i++) {
        size_t bytes = sl_parameter_floats(&m->builder.parameters[i]) * sizeof(float);
        memcpy(to->optimiser.m[i], from->optimiser.m[i], bytes);
        memcpy(to->optimiser.v[i], from->optimiser.v[i], bytes);
    }
    to->step = from->step;
    sl_net_pack(to->m);
}

static void expect_same(const struct sl_model *a, const struct sl_model *b)
{
    for (int i = 0; i < a->saved_count; i++) {
        const struct sl_parameter *p = &a->saved[i], *q = &b->saved[i];
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
        sl_net_pack(resumed.m); /* as often as one likes */
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
        int most = i % 2 ? CONTEXT : 12;
        x->counts[i] = i < 3 ? 1 : 1 + (int)sl_random_below(key, (uint64_t)i, (uint64_t)most);
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
    struct sl_classifier_options options = {.items = ITEMS, .batch_rows = ITEMS * CONTEXT};
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
        struct sl_item items[ITEMS] = {0};
        for (int i = 0; i < together; i++)
            items[i] =
                (struct sl_item){.tokens = x->tokens[first + i], .count = x->counts[first + i]};
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
    large.bins = 37;
    compare_ways(&config, 0.0f, depths);
    compare_ways(&config, -1.5f, depths);
    compare_ways(&large, 1.0f, depths);
    compare_ways(&large, 13.0f, depths); /* sigmoids of 1 */
    for (int depth = 1; depth <= STEPS; depth++)
        cr_expect_gt(depths[depth], 0, "no text took %d steps", depth);
}

/* With mask_keys the padding of a text is as good as not there; without, it is not; nor where
 * token 0 is a token like others. */
Test(epsilon, padding_is_left_out_unless_asked_for)
{
    static const struct {
        int padding_token, mask_keys;
    } cases[] = {{1, 0}, {1, 1}, {0, 1}};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_config config = config_of(CONTEXT);
    struct texts x;
    for (int c = 0; c < 3; c++) {
        struct answers bare, padded;
        config.padding_token = cases[c].padding_token;
        config.mask_keys = cases[c].mask_keys;
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
