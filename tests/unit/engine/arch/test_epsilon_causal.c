/* test_epsilon_causal.c - Epsilon as a language model: bins end at the row that reads them, rows
 * that have halted stay as they are and are left out, a cache holds sums. Gradients are in
 * test_ops.c and test_archs.c, numbers in test_golden.c. */
#include "arch/epsilon/epsilon.h"
#include "base/random.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include "sluice/session.h"

#include <math.h>

/* -- bins of what came before, against their formulas in double ------------------------------- */

enum { ROWS = 140, WIDTH = 20, HEADS = 2, DIM = WIDTH / HEADS, BINS = 7, PIECES = 6 };

static const int lengths[] = {70, 1, 69, 0};

struct attention {
    float query[ROWS][WIDTH], key_value[ROWS][2 * WIDTH], assign[WIDTH * BINS];
    float out[ROWS][WIDTH];
};

static void fill_random(float *x, int count, const char *name)
{
    uint64_t key = sl_random_key(test_seed(), name);
    for (int i = 0; i < count; i++)
        x[i] = (float)sl_random_normal(key, (uint64_t)i);
}

static struct attention *attention_make(void)
{
    struct attention *a = calloc(1, sizeof *a);
    cr_assert(a);
    fill_random(a->query[0], ROWS * WIDTH, "query");
    fill_random(a->key_value[0], ROWS * 2 * WIDTH, "key value");
    fill_random(a->assign, WIDTH * BINS, "assign");
    for (int i = 0; i < WIDTH * BINS; i++)
        a->assign[i] *= 0.5f;
    return a;
}

/* Every key goes to one bin, that of the next row to the fifth after it. */
static void assign_wholly(struct attention *a)
{
    for (int i = 0; i < WIDTH * BINS; i++)
        a->assign[i] = i / BINS % DIM == i % BINS ? 300.0f : 0.0f;
    for (int i = 0; i < ROWS * HEADS; i++)
        for (int b = 0; b < BINS; b++)
            a->key_value[i / HEADS][i % HEADS * DIM + b] = b == i / HEADS * 5 % BINS ? 1.0f : 0.0f;
}

/* Rows of a text that are run together, after those that a cache remembers. rows: of them, those
 * that read; NULL: all. */
struct piece {
    const struct sl_engine *engine;
    struct sl_cache *cache;
    int first, count;
    const struct sl_rows *rows;
};

/* out by the ops, of the rows that read. */
static void attend(struct attention *a, const struct piece *p, const int *texts)
{
    struct sl_err err;
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_policy policy = {0};
    const struct sl_kernels *k = p->engine->kernels;
    fixture_batch_init(&f, texts, 1);
    f.sequences[0].cache = p->cache;
    f.sequences[0].position = p->cache ? p->cache->length : 0;
    EXPECT_OK(sl_tape_init(&t, k, p->engine->pool, 1 << 22, &err), err);
    t.policy = &policy;
    sl_tape_begin(&t, &f.batch, false);
    int reading = p->rows ? p->rows->count : p->count;
    struct sl_tensor *q = sl_tensor_take(&t, reading, WIDTH),
                     *kv = sl_tensor_take(&t, p->count, 2 * WIDTH);
    struct sl_parameter assign = {.data = a->assign, .rows = WIDTH, .cols = BINS};
    for (int i = 0; i < reading; i++)
        memcpy(sl_row(q, i), a->query[p->first + (p->rows ? p->rows->index[i] : i)],
               sizeof a->query[0]);
    for (int r = 0; r < p->count; r++)
        memcpy(sl_row(kv, r), a->key_value[p->first + r], sizeof a->key_value[0]);
    struct sl_tensor *shares = sl_histogram_assign(
        &t, kv, (struct sl_histogram_assign_args){.assign = &assign, .heads = HEADS});
    const struct sl_tensor *out = sl_histogram_attend_causal(
        &t, q, kv, shares,
        (struct sl_histogram_attend_causal_args){.rows = p->rows, .heads = HEADS});
    for (int i = 0; i < reading; i++)
        k->from_operands(a->out[p->first + (p->rows ? p->rows->index[i] : i)], sl_row_any(out, i),
                         WIDTH);
    sl_tape_release(&t);
}

static void attend_whole(struct attention *a, const char *isa, int threads)
{
    struct sl_engine *engine = fixture_engine(isa, threads);
    attend(a, &(struct piece){.engine = engine, .count = ROWS}, lengths);
    sl_engine_destroy(engine);
}

static void softmax(double *x, int count)
{
    double max = x[0], sum = 0.0;
    for (int i = 1; i < count; i++)
        max = fmax(max, x[i]);
    for (int i = 0; i < count; i++)
        sum += x[i] = exp(x[i] - max);
    for (int i = 0; i < count; i++)
        x[i] /= sum;
}

static void shares_of(const struct attention *a, const float *key, int head, double *shares)
{
    for (int b = 0; b < BINS; b++) {
        shares[b] = 0.0;
        for (int c = 0; c < DIM; c++)
            shares[b] += (double)key[c] * (double)a->assign[(head * DIM + c) * BINS + b];
    }
    softmax(shares, BINS);
}

/* What row j of a text that begins at `first` reads with one head, from all rows before. */
static void attend_in_double(const struct attention *a, int first, int j, int head, double *out)
{
    double mass[BINS] = {0}, keys[BINS][DIM] = {{0}}, values[BINS][DIM] = {{0}}, weight[BINS] = {0};
    for (int i = first; i <= j; i++) {
        const float *key = &a->key_value[i][head * DIM];
        double shares[BINS];
        shares_of(a, key, head, shares);
        for (int b = 0; b < BINS; b++) {
            mass[b] += shares[b];
            for (int c = 0; c < DIM; c++) {
                keys[b][c] += shares[b] * (double)key[c];
                values[b][c] += shares[b] * (double)key[WIDTH + c];
            }
        }
    }
    for (int b = 0; b < BINS; b++)
        for (int c = 0; c < DIM; c++)
            weight[b] +=
                (double)a->query[j][head * DIM + c] * keys[b][c] / (mass[b] + 1e-6) / sqrt(DIM);
    softmax(weight, BINS);
    for (int c = 0; c < DIM; c++) {
        out[c] = 0.0;
        for (int b = 0; b < BINS; b++)
            out[c] += weight[b] * values[b][c] / (mass[b] + 1e-6);
    }
}

/* The largest difference between the ops' result and the formulas'; NaN is as far as can be. */
static double difference_of(const struct attention *a)
{
    double max = 0.0;
    for (int text = 0, first = 0; lengths[text]; first += lengths[text++])
        for (int i = 0; i < lengths[text] * HEADS; i++) {
            int j = first + i / HEADS, head = i % HEADS;
            double want[DIM];
            attend_in_double(a, first, j, head, want);
            for (int c = 0; c < DIM; c++) {
                double off = fabs(want[c] - (double)a->out[j][head * DIM + c]);
                max = off >= 0.0 ? fmax(max, off) : (double)INFINITY;
            }
        }
    return max;
}

Test(histogram_attend_causal, are_their_formulas)
{
    struct attention *a = attention_make();
    attend_whole(a, "ref", 2);
    cr_expect_lt(difference_of(a), 2e-6, "ref: %g", difference_of(a));
    attend_whole(a, NULL, 2); /* whose result is perhaps rounded to bf16 */
    cr_expect_lt(difference_of(a), 0.02, "fastest: %g", difference_of(a));
    free(a);
}

/* Each key goes to one bin alone: the first row of a text finds all others empty. An empty bin has
 * a key and a value of 0, which it is read with. */
Test(histogram_attend_causal, may_be_empty)
{
    struct attention *a = attention_make();
    assign_wholly(a);
    attend_whole(a, "ref", 1);
    cr_expect_lt(difference_of(a), 2e-5, "%g", difference_of(a));
    double score = 0.0;
    for (int c = 0; c < DIM; c++)
        score += (double)a->query[0][c] * (double)a->key_value[0][c] / sqrt(DIM);
    double weight = exp(score) / (exp(score) + BINS - 1);
    for (int c = 0; c < DIM; c++)
        cr_expect_float_eq(a->out[0][c], weight * (double)a->key_value[0][WIDTH + c], 1e-5);
    free(a);
}

/* Pieces of a text, between which only the cache remembers, some rows of which do not read. */
static void attend_in_pieces(struct attention *a, const struct sl_engine *engine, const int *cuts)
{
    static float state[(2 * WIDTH + HEADS) * BINS];
    struct sl_cache cache = {.state = state, .capacity = ROWS};
    int32_t index[ROWS];
    memset(state, 0x7f, sizeof state); /* of another text: not to be looked at */
    for (int first = 0, i = 0; i < PIECES; first += cuts[i++]) {
        const int texts[] = {cuts[i], 0};
        struct sl_rows rows = {index, 0};
        for (int r = 0; r < cuts[i]; r++)
            if ((first + r) % 3)
                index[rows.count++] = r;
        attend(a,
               &(struct piece){.engine = engine,
                               .cache = &cache,
                               .first = first,
                               .count = cuts[i],
                               .rows = i % 2 ? &rows : NULL},
               texts);
        cache.length += cuts[i];
    }
}

Test(histogram_attend_causal, have_the_same_bits_however_a_text_is_cut)
{
    static const int cuts[][PIECES] = {{70, 0}, {1, 1, 1, 1, 1, 65}, {33, 7, 1, 20, 8, 1}};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct attention *whole = attention_make(), *cut = attention_make();
    attend_whole(whole, NULL, 1);
    const int all[] = {70, 0};
    attend(cut, &(struct piece){.engine = engine, .count = 70}, all);
    cr_expect_eq(memcmp(cut->out, whole->out, 70 * sizeof cut->out[0]), 0, "no cache");
    for (int i = 1; i < 3; i++) {
        memcpy(cut->out, whole->out, sizeof cut->out);
        attend_in_pieces(cut, engine, cuts[i]);
        cr_expect_eq(memcmp(cut->out, whole->out, 70 * sizeof cut->out[0]), 0, "cut %d", i);
    }
    free(whole);
    free(cut);
    sl_engine_destroy(engine);
}

/* -- the model, against a slow one ------------------------------------------------------------ */

enum { STEPS = 5, LENGTH = FIXTURE_CONTEXT };

static struct sl_config config_of(void)
{
    struct sl_config c = fixture_config(sl_arch_find("epsilon"));
    c.depth = STEPS;
    c.dropout = 0.0f;
    return c;
}

/* Scores that make tokens halt at every step, and some not at all. */
static struct sl_model *model_of(struct sl_engine *engine)
{
    struct sl_config config = config_of();
    struct sl_model *m = fixture_model(engine, sl_arch_find("epsilon"), &config);
    for (int i = 0; i < m->builder.count; i++) {
        struct sl_parameter *p = &m->builder.parameters[i];
        if (strncmp(p->name, "halting.", 8) == 0 && strstr(p->name, ".weight"))
            engine->kernels->scale(p->data, 10.0f, p->data, p->cols);
        else if (strncmp(p->name, "halting.", 8) == 0)
            p->data[0] -= p->name[8] - '0' == STEPS - 1 ? 300.0f : 4.0f;
    }
    sl_model_pack(m);
    return m;
}

static const struct sl_parameter *named(const struct sl_model *m, const char *name)
{
    const struct sl_builder *b = &m->builder;
    for (int i = 0; i < b->count + b->buffer_count; i++) {
        const struct sl_parameter *p = i < b->count ? &b->parameters[i] : &b->buffers[i - b->count];
        if (strcmp(p->name, name) == 0)
            return p;
    }
    cr_assert(false, "there is no %s", name);
    return NULL;
}

static double value(const struct sl_parameter *p, int row, int col)
{
    return (double)p->data[row * p->cols + col];
}

enum { MOST = 80 }; /* columns of anything here */

/* y = W x + b. */
static void linear(const struct sl_model *m, const char *weight, const char *bias, const double *x,
                   double *y)
{
    const struct sl_parameter *w = named(m, weight), *b = named(m, bias);
    cr_assert(w->rows <= MOST);
    for (int r = 0; r < w->rows; r++) {
        y[r] = value(b, 0, r);
        for (int c = 0; c < w->cols; c++)
            y[r] += value(w, r, c) * x[c];
    }
}

/* Centred, and divided by the standard deviation when epsilon is not negative. */
static void normed(const struct sl_model *m, const char *name, double epsilon, const double *x,
                   double *y)
{
    char gain[32], shift[32];
    int d = m->config.width;
    double mean = 0.0, variance = 0.0;
    (void)snprintf(gain, sizeof gain, "%s.weight", name);
    (void)snprintf(shift, sizeof shift, "%s.bias", name);
    for (int c = 0; c < d; c++)
        mean += x[c] / d;
    for (int c = 0; c < d; c++)
        variance += (x[c] - mean) * (x[c] - mean) / d;
    double factor = epsilon < 0.0 ? sqrt((double)d / (d - 1)) : 1.0 / sqrt(variance + epsilon);
    for (int c = 0; c < d; c++)
        y[c] = factor * (x[c] - mean) * value(named(m, gain), 0, c) + value(named(m, shift), 0, c);
}

/* A text that grows token by token, all of it computed anew in each step. */
struct slow {
    const struct sl_model *m;
    double h[LENGTH][MOST], key_value[LENGTH][MOST];
    double remainder[LENGTH], y[LENGTH][MOST], logits[LENGTH][FIXTURE_VOCAB];
    int steps[LENGTH]; /* in which it halted; 0: not yet */
};

static void slow_begin(struct slow *s, const struct sl_model *m, const int32_t *tokens)
{
    int d = m->config.width;
    *s = (struct slow){.m = m};
    for (int i = 0; i < LENGTH; i++) {
        s->remainder[i] = 1.0;
        for (int c = 0; c < d; c++) {
            const int pair = c / 2;
            double angle = i / pow(10000.0, 2.0 * pair / d);
            s->h[i][c] = sqrt(d) * value(named(m, "token_embedding.weight"), tokens[i], c) +
                         (c % 2 ? cos(angle) : sin(angle));
        }
    }
}

/* What token j reads with one head, by all keys and values as they are in this step. */
static void double_attend(const struct slow *s, int j, int head, const double *query, double *out)
{
    const struct sl_parameter *assign = named(s->m, "attention.assign");
    int d = s->m->config.width, dim = d / s->m->config.heads, bins = assign->cols;
    double mass[MOST] = {0}, keys[MOST][MOST] = {{0}}, values[MOST][MOST] = {{0}};
    double weight[MOST] = {0};
    for (int i = 0; i <= j; i++) {
        const double *key = s->key_value[i] + head * dim;
        double a[MOST] = {0};
        for (int b = 0; b < bins; b++)
            for (int c = 0; c < dim; c++)
                a[b] += key[c] * value(assign, head * dim + c, b);
        softmax(a, bins);
        for (int b = 0; b < bins; b++) {
            mass[b] += a[b];
            for (int c = 0; c < dim; c++) {
                keys[b][c] += a[b] * key[c];
                values[b][c] += a[b] * key[d + c];
            }
        }
    }
    for (int b = 0; b < bins; b++)
        for (int c = 0; c < dim; c++)
            weight[b] += query[head * dim + c] * keys[b][c] / (mass[b] + 1e-6) / sqrt(dim);
    softmax(weight, bins);
    for (int c = 0; c < dim; c++)
        for (int b = 0; b < bins; b++)
            out[head * dim + c] += weight[b] * values[b][c] / (mass[b] + 1e-6);
}

/* Both updates of one token. */
static void slow_update(struct slow *s, int j)
{
    const struct sl_config *c = &s->m->config;
    const struct sl_epsilon_config *own = sl_config_own(c);
    double x[MOST], query[MOST], read[MOST] = {0}, y[MOST], hidden[MOST];
    normed(s->m, "attention_norm", -1.0, s->h[j], x);
    linear(s->m, "attention.query.weight", "attention.query.bias", x, query);
    for (int head = 0; head < c->heads; head++)
        double_attend(s, j, head, query, read);
    linear(s->m, "attention.output.weight", "attention.output.bias", read, y);
    for (int i = 0; i < c->width; i++)
        s->h[j][i] += (double)own->residual_scale * y[i];
    normed(s->m, "mlp_norm", -1.0, s->h[j], x);
    linear(s->m, "mlp.up.normalized_weight", "mlp.up.bias", x, hidden);
    for (int i = 0; i < c->ffn_width; i++)
        hidden[i] *= 0.5 * (1.0 + erf(hidden[i] / sqrt(2.0)));
    linear(s->m, "mlp.down.normalized_weight", "mlp.down.bias", hidden, y);
    for (int i = 0; i < c->width; i++)
        s->h[j][i] += (double)own->residual_scale * y[i];
}

static void double_halting_step(struct slow *s, int j, int step)
{
    char weight[32], bias[32];
    double score;
    (void)snprintf(weight, sizeof weight, "halting.%d.weight", step - 1);
    (void)snprintf(bias, sizeof bias, "halting.%d.bias", step - 1);
    linear(s->m, weight, bias, s->h[j], &score);
    double p = 1.0 / (1.0 + exp(-score));
    if (p >= s->remainder[j] - 1e-6)
        s->steps[j] = step;
    if (s->steps[j] || step == STEPS)
        p = s->remainder[j];
    s->remainder[j] -= p;
    for (int c = 0; c < s->m->config.width; c++)
        s->y[j][c] += p * s->h[j][c];
}

static void slow_step(struct slow *s, int step)
{
    for (int j = 0; j < LENGTH; j++) {
        double x[MOST] = {0};
        normed(s->m, "attention_norm", -1.0, s->h[j], x);
        linear(s->m, "attention.key_value.weight", "attention.key_value.bias", x, s->key_value[j]);
    }
    for (int j = 0; j < LENGTH; j++) {
        if (s->steps[j])
            continue; /* halted: it stays as it is */
        slow_update(s, j);
        double_halting_step(s, j, step);
    }
}

/* Logits of every token, and the step in which it halted. */
static void slow_run(struct slow *s, const struct sl_model *m, const int32_t *tokens)
{
    slow_begin(s, m, tokens);
    for (int step = 1; step <= STEPS; step++)
        slow_step(s, step);
    for (int j = 0; j < LENGTH; j++) {
        double x[MOST];
        normed(m, "final_norm", 1e-5, s->y[j], x);
        for (int v = 0; v < FIXTURE_VOCAB; v++)
            for (int c = 0; c < m->config.width; c++)
                s->logits[j][v] += x[c] * value(named(m, "token_embedding.weight"), v, c);
    }
}

static int steps_taken(const struct slow *s, int j)
{
    return s->steps[j] ? s->steps[j] : STEPS;
}

static void draw_tokens(int32_t *tokens, int text)
{
    uint64_t key = sl_random_key(9, "tokens");
    for (int i = 0; i < LENGTH; i++)
        tokens[i] = (int32_t)sl_random_below(key, (uint64_t)(text * LENGTH + i), FIXTURE_VOCAB);
}

static struct sl_session *session_of(const struct sl_model *m, int slots)
{
    struct sl_err err;
    struct sl_session_options options = {.max_sequences = slots, .max_batch_tokens = 256};
    struct sl_session *s = sl_session_create(m, &options, &err);
    cr_assert(s, "%s", err.text);
    return s;
}

/* A text from its beginning in pieces of `piece` tokens; per piece, the layers that ran. */
static void feed(struct sl_session *s, int slot, const int32_t *tokens, int piece,
                 float logits[LENGTH][FIXTURE_VOCAB], int64_t *layers)
{
    struct sl_err err;
    sl_session_clear(s, slot);
    for (int i = 0; i < LENGTH; i += piece) {
        int count = LENGTH - i < piece ? LENGTH - i : piece;
        struct sl_chunk f = {
            .slot = slot, .tokens = tokens + i, .count = count, .all_logits = true};
        EXPECT_OK(sl_session_run(s, &f, 1, &err), err);
        cr_expect_eq(f.layers_full, (int64_t)count * STEPS);
        memcpy(logits[i], f.logits, (size_t)count * sizeof logits[0]);
        layers[i] = f.layers_used;
    }
}

/* Halted tokens are frozen, seen, and not computed: logits and the steps of each token. */
Test(epsilon_causal, is_the_slow_one)
{
    static struct slow slow;
    struct sl_engine *engine = fixture_engine("ref", 2);
    struct sl_model *m = model_of(engine);
    struct sl_session *s = session_of(m, 1);
    int counts[STEPS + 1] = {0}, unfinished = 0;
    for (int text = 0; text < 4; text++) {
        float logits[LENGTH][FIXTURE_VOCAB];
        int64_t layers[LENGTH];
        int32_t tokens[LENGTH];
        draw_tokens(tokens, text);
        slow_run(&slow, m, tokens);
        feed(s, 0, tokens, 1, logits, layers);
        for (int j = 0; j < LENGTH; j++) {
            cr_expect_eq(layers[j], steps_taken(&slow, j), "token %d of text %d", j, text);
            counts[steps_taken(&slow, j)]++;
            unfinished += slow.steps[j] == 0;
            for (int v = 0; v < FIXTURE_VOCAB; v++)
                cr_expect_float_eq((double)logits[j][v], slow.logits[j][v], 1e-4,
                                   "token %d of text %d", j, text);
        }
    }
    for (int step = 1; step <= STEPS; step++)
        cr_expect_gt(counts[step], 0, "no token took %d steps", step);
    cr_expect_gt(unfinished, 0, "every token halted");
    sl_session_destroy(s);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* -- decoding --------------------------------------------------------------------------------- */

/* In pieces, among others, on a slot that was used before: the same bits, the same work. */
Test(epsilon_causal, decoding_is_the_full_forward)
{
    static const int pieces[] = {LENGTH, 1, 2, 7, 16};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_model *m = model_of(engine);
    struct sl_session *s = session_of(m, 3);
    for (int text = 0; text < 4; text++) {
        float whole[LENGTH][FIXTURE_VOCAB], cut[LENGTH][FIXTURE_VOCAB];
        int64_t layers[LENGTH], total = 0;
        int32_t tokens[LENGTH];
        draw_tokens(tokens, text);
        for (int i = 0; i < 5; i++) {
            int64_t sum = 0;
            feed(s, text % 3, tokens, pieces[i], i ? cut : whole, layers);
            for (int j = 0; j < LENGTH; j += pieces[i])
                sum += layers[j];
            total = i ? total : sum;
            cr_expect_eq(sum, total, "pieces of %d: %lld layers", pieces[i], (long long)sum);
            cr_expect(!i || memcmp(whole, cut, sizeof whole) == 0, "pieces of %d", pieces[i]);
        }
        cr_expect(total > LENGTH && total < (int64_t)LENGTH * STEPS, "%lld", (long long)total);
    }
    sl_session_destroy(s);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* Logits of a batch without caches, as trained or as evaluated. */
static void forward(const struct sl_model *m, struct fixture_batch *f, bool training, float *out)
{
    struct sl_tape t;
    fixture_tape_init(&t, m, &f->batch, training);
    sl_tape_begin(&t, &f->batch, training);
    const struct sl_tensor *logits = sl_model_forward(m, &t);
    for (int r = 0; r < logits->rows; r++)
        memcpy(out + (size_t)r * FIXTURE_VOCAB, sl_row(logits, r), FIXTURE_VOCAB * sizeof *out);
    sl_tape_release(&t);
}

/* Training computes every row and undoes what halted ones did; serving leaves them out. */
Test(epsilon_causal, what_is_trained_is_what_is_served)
{
    static const int texts[] = {LENGTH, 0};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_model *m = model_of(engine);
    struct sl_session *s = session_of(m, 1);
    struct fixture_batch f;
    float served[LENGTH][FIXTURE_VOCAB], other[LENGTH][FIXTURE_VOCAB];
    int64_t layers[LENGTH];
    fixture_batch_init(&f, texts, 3);
    feed(s, 0, f.tokens, LENGTH, served, layers);
    for (int training = 0; training < 2; training++) {
        forward(m, &f, training, other[0]);
        cr_expect_eq(memcmp(served, other, sizeof served), 0, "training %d", training);
    }
    sl_session_destroy(s);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* Another token k changes nothing before it, in training neither. */
Test(epsilon_causal, the_past_does_not_see_the_future)
{
    static const int texts[] = {5, LENGTH, 0};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_model *m = model_of(engine);
    struct fixture_batch f;
    float before[(5 + LENGTH) * FIXTURE_VOCAB], after[(5 + LENGTH) * FIXTURE_VOCAB];
    fixture_batch_init(&f, texts, 3);
    for (int k = 5; k < f.batch.rows; k += 3) {
        forward(m, &f, /* training= */ true, before);
        f.tokens[k] = (f.tokens[k] + 1) % FIXTURE_VOCAB;
        forward(m, &f, /* training= */ true, after);
        size_t row = FIXTURE_VOCAB * sizeof *before, earlier = (size_t)k * row;
        cr_expect_eq(memcmp(before, after, earlier), 0, "token %d", k);
        for (int r = k; r < f.batch.rows; r++)
            cr_expect_neq(memcmp(before + r * FIXTURE_VOCAB, after + r * FIXTURE_VOCAB, row), 0,
                          "token %d is not seen by %d", k, r);
    }
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* When every token halts at once, so does a batch without caches; with one, a new token runs once
 * and still goes into the sums of every step, for one that may go deeper. */
Test(epsilon_causal, halting_at_once_costs_one_step)
{
    static const int texts[] = {LENGTH, 0};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_model *m = model_of(engine);
    struct sl_session *s = session_of(m, 1);
    struct fixture_batch f;
    float logits[LENGTH][FIXTURE_VOCAB];
    int64_t layers[LENGTH];
    int32_t used[LENGTH] = {0};
    struct sl_tape t;
    named(m, "halting.0.bias")->data[0] = 600.0f;
    fixture_batch_init(&f, texts, 3);
    feed(s, 0, f.tokens, 1, logits, layers);
    for (int j = 0; j < LENGTH; j++)
        cr_expect_eq(layers[j], 1, "token %d", j);
    fixture_tape_init(&t, m, &f.batch, true);
    t.stats.layers_used = used;
    (void)fixture_loss(m, &t, &f.batch);
    cr_expect_eq(used[0], 1);
    cr_expect_float_eq(t.stats.depth_sum / t.stats.depth_count, 1.0, 1e-9);
    sl_tape_release(&t);
    sl_session_destroy(s);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

/* What a slot remembers has the size that the paper's numbers give, and none for each token. */
Test(epsilon_causal, remembers_sums_alone, TEST_ONE_THREAD)
{
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_model *m = model_of(engine);
    const struct sl_config *c = &m->config;
    const struct sl_epsilon_config *own = sl_config_own(c);
    size_t dim = (size_t)(c->width / c->heads), heads = (size_t)c->heads, bins = (size_t)own->bins;
    cr_expect_eq(m->builder.cache_state, STEPS * heads * bins * (2 * dim + 1));
    cr_expect_eq(m->builder.cache_operands, 0);
    cr_expect_eq(m->builder.cache_floats, 0);
    sl_model_close(m);
    sl_engine_destroy(engine);
}
