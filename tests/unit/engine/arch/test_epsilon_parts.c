/* test_epsilon_parts.c - what the Epsilon paper promises of its parts: histogram attention against
 * its formulas in double, halting against probabilities worked out by hand. */
#include "arch/epsilon/epsilon.h"
#include "base/random.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <math.h>

/* -- histogram attention, against its formulas in double -------------------------------------- */

enum { ROWS = 260, WIDTH = 20, HEADS = 2, DIM = WIDTH / HEADS, BINS_MOST = 7 };

/* Segments of more than one tile, of exactly one, of one row. */
static const int lengths[] = {130, 1, 64, 65, 0};
static const int32_t beginnings[] = {0, 130, 131, 195, ROWS};
static const struct sl_segments segments = {beginnings, 4};

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
    fixture_batch_init(&f, lengths, 1);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 22, &err), err);
    t.policy = &policy;
    sl_tape_begin(&t, &f.batch, false);
    struct sl_tensor *q = sl_tensor_take(&t, ROWS, WIDTH),
                     *kv = sl_tensor_take(&t, ROWS, 2 * WIDTH);
    struct sl_parameter assign = {.data = a->assign, .rows = WIDTH, .cols = a->bins};
    memcpy(q->data, a->query, sizeof a->query);
    memcpy(kv->data, a->key_value, sizeof a->key_value);
    struct sl_tensor *shares =
        sl_histogram_assign(&t, kv,
                            (struct sl_histogram_assign_args){.assign = &assign,
                                                              .padding = a->padding,
                                                              .heads = HEADS,
                                                              .bin_padding = a->bin_padding});
    struct sl_tensor *bins = sl_histogram_bin_means(
        &t, kv, shares, (struct sl_histogram_bin_means_args){.segments = segments, .heads = HEADS});
    const struct sl_tensor *out = sl_histogram_attend(
        &t, q, bins, (struct sl_histogram_attend_args){.segments = segments, .heads = HEADS});
    for (int r = 0; r < ROWS; r++)
        engine->kernels->from_operands(a->out[r], sl_row_any(out, r), WIDTH);
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

/* One head's bins of one segment. */
struct bins {
    double mass[BINS_MOST], keys[BINS_MOST][DIM], values[BINS_MOST][DIM];
};

static void bin_means_in_double(const struct attention *a, int segment, int head, struct bins *bins)
{
    *bins = (struct bins){0};
    for (int i = beginnings[segment]; i < beginnings[segment + 1]; i++) {
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
    double max = 0.0;
    for (int i = 0; i < segments.count * HEADS; i++) {
        int segment = i / HEADS, head = i % HEADS;
        struct bins bins;
        bin_means_in_double(a, segment, head, &bins);
        for (int j = beginnings[segment]; j < beginnings[segment + 1]; j++) {
            double weight[BINS_MOST] = {0};
            for (int b = 0; b < a->bins; b++)
                for (int c = 0; c < DIM; c++)
                    weight[b] += (double)a->query[j][head * DIM + c] * bins.keys[b][c] / sqrt(DIM);
            softmax(weight, a->bins);
            for (int c = 0; c < DIM; c++) {
                double want = 0.0;
                for (int b = 0; b < a->bins; b++)
                    want += weight[b] * bins.values[b][c];
                max = fmax(max, fabs(want - (double)a->out[j][head * DIM + c]));
            }
        }
    }
    return max;
}

Test(histogram, equals_its_formulas)
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
    for (int s = 0; s < segments.count; s++)
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

Test(histogram, is_invariant_to_the_order_of_rows)
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
    fixture_batch_init(&f, ones, 1);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 16, &err), err);
    sl_tape_begin(&t, &f.batch, true);
    int32_t steps[TEXTS] = {0};
    float remainder[TEXTS] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    struct sl_halting_state halting = {
        .max_steps = STEPS, .steps = steps, .remainder = remainder, .padding = w->padding};
    struct sl_tensor *y = sl_tensor_take(&t, TEXTS, STEPS);
    memset(y->data, 0, sizeof w->outputs);
    for (int step = 1; step <= STEPS; step++) {
        struct sl_tensor *h = sl_tensor_take(&t, TEXTS, STEPS), *z = sl_tensor_take(&t, TEXTS, 1);
        memset(h->data, 0, sizeof w->outputs);
        for (int i = 0; i < TEXTS; i++) {
            sl_row(h, i)[step - 1] = 1.0f;
            *sl_row(z, i) = (float)w->scores[i][step - 1];
        }
        y = sl_halting_step(
            &t, y, h, z,
            (struct sl_halting_step_args){
                .halting = &halting,
                .step = step,
                .kl_weight = price,
                .log_prior = (float)((step - 1) * log(1.0 - 1.0 / mean) - log(mean)),
                .log_prior_remainder = (float)(STEPS * log(1.0 - 1.0 / mean))});
    }
    memcpy(w->outputs, y->data, sizeof w->outputs);
    w->price = t.stats.aux_loss;
    sl_tape_release(&t);
    sl_engine_destroy(engine);
}

static double logit(double p)
{
    return log(p / (1.0 - p));
}

Test(halting, probabilities_add_up_to_one_and_are_zero_after_halting)
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

Test(halting, the_prior_itself_has_no_penalty)
{
    struct walk w = {.padding = {[1] = true}};
    double mean = 2.5, remainder = 1.0, less = logit(0.3 / mean);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < TEXTS; i++)
            w.scores[i][step] = logit(remainder / mean);
        remainder *= 1.0 - 1.0 / mean;
    }
    walk(&w, 1.0f, mean);
    cr_expect_float_eq(w.price, 0.0, 1e-6, "%g", w.price);
    /* What one text does not take at first is left over in the end. */
    w.scores[0][0] = less;
    walk(&w, 1.0f, mean);
    double rest = remainder + 0.7 / mean;
    double price = 0.3 / mean * log(0.3) + rest * log(rest / remainder);
    cr_expect_float_eq(w.price, price, 1e-6, "%g, want %g", w.price, price);
    w.scores[0][0] = w.scores[2][0];
    w.scores[1][0] = less; /* padding */
    walk(&w, 1.0f, mean);
    cr_expect_float_eq(w.price, 0.0, 1e-6, "%g", w.price);
}
