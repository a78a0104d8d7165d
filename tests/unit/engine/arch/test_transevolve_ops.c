/* test_transevolve_ops.c - attention that evolves by products against plain loops in double, there
 * and back, at every size that they treat differently. */
#include "arch/transevolve/transevolve.h"
#include "support/model_fixture.h"
#include "support/reference_math.h"
#include "support/test.h"

#include <math.h>

/* -- attention, plainly ------------------------------------------------------------------------ */

enum { TEXTS_MOST = 4 };

/* One call of the ops: texts of some lengths, numbers for every input, and dy. */
struct scene {
    int lengths[TEXTS_MOST + 1];
    int heads, width, columns; /* of queries and keys; of values */
    bool bidirectional;
    bool crossed; /* scores and biases peak at different keys */
    int rows;
    struct sl_sequence sequences[TEXTS_MOST];
    struct sl_batch batch;
    int32_t *tokens;
    float *query, *key, *bias, *value, *dy;     /* as the ops see them, rounded to operands */
    double *y, *dquery, *dkey, *dbias, *dvalue; /* the plain answer */
};

static double *nothing(int count)
{
    double *x = calloc((size_t)count, sizeof *x);
    cr_assert(x);
    return x;
}

/* What is left of numbers as operands. */
static void as_operands(const struct sl_kernels *k, float *x, int rows, int cols)
{
    float *row = calloc(sl_operand_stride(k, cols), sizeof *row); /* the widest operands */
    cr_assert(row);
    for (int r = 0; r < rows; r++) {
        k->to_operands(row, x + (size_t)r * (size_t)cols, cols);
        k->from_operands(x + (size_t)r * (size_t)cols, row, cols);
    }
    free(row);
}

/* The first key of every text is one that most queries cannot like and the bias is all for. */
static void cross(struct scene *s)
{
    for (int t = 0; t < s->batch.count; t++)
        for (int i = 0; i < s->sequences[t].rows; i++) {
            int row = s->sequences[t].first + i;
            for (int h = 0; h < s->heads; h++) {
                int at = row * s->width + h * (s->width / s->heads);
                s->query[at] = i % 3 ? 100.0f : 0.0f; /* the others like it as well as any */
                s->key[at] = i == 0 ? -10.0f : 0.0f;
                s->bias[row * s->heads + h] = i == 0 ? 110.0f : 0.0f;
            }
        }
}

static void scene_open(struct scene *s, const struct sl_kernels *k)
{
    for (; s->lengths[s->batch.count]; s->batch.count++) {
        int rows = s->lengths[s->batch.count];
        s->sequences[s->batch.count] = (struct sl_sequence){.first = s->rows, .rows = rows};
        s->rows += rows;
    }
    s->batch.rows = s->rows;
    s->batch.sequences = s->sequences;
    s->tokens = calloc((size_t)s->rows, sizeof *s->tokens);
    cr_assert(s->tokens);
    s->batch.tokens = s->tokens;
    s->query = reference_random("query", s->rows * s->width, 1.0);
    s->key = reference_random("key", s->rows * s->width, 1.0);
    s->bias = reference_random("bias", s->rows * s->heads, 1.0);
    s->value = reference_random("value", s->rows * s->columns, 1.0);
    s->dy = reference_random("dy", s->rows * s->columns, 1.0);
    if (s->crossed)
        cross(s);
    as_operands(k, s->query, s->rows, s->width);
    as_operands(k, s->key, s->rows, s->width);
    as_operands(k, s->value, s->rows, s->columns);
    s->y = nothing(s->rows * s->columns);
    s->dvalue = nothing(s->rows * s->columns);
    s->dquery = nothing(s->rows * s->width);
    s->dkey = nothing(s->rows * s->width);
    s->dbias = nothing(s->rows * s->heads);
}

static void scene_close(struct scene *s)
{
    float *floats[] = {s->query, s->key, s->bias, s->value, s->dy};
    double *doubles[] = {s->y, s->dquery, s->dkey, s->dbias, s->dvalue};
    for (int i = 0; i < 5; i++) {
        free(floats[i]);
        free(doubles[i]);
    }
    free(s->tokens);
}

/* One query and head, there and back:
 *     p = softmax_j(scale q . k_j + b_j)      y = sum_j p_j v_j
 *     dv_j += p_j dy      s_j = p_j (dy . v_j - dy . y)      db_j += s_j
 *     dq += scale s_j k_j      dk_j += scale s_j q */
static void plain_row(struct scene *s, const struct sl_sequence *t, int i, int head)
{
    int width = s->width / s->heads, columns = s->columns / s->heads, row = t->first + i;
    int seen = s->bidirectional ? t->rows : i + 1;
    double scale = 1.0 / sqrt(width), p[1024];
    size_t q = (size_t)(row * s->width + head * width);
    size_t out = (size_t)(row * s->columns + head * columns);
    for (int j = 0; j < seen; j++)
        p[j] = scale * reference_dot(s->query + q,
                                     s->key + (t->first + j) * s->width + head * width, width) +
               (double)s->bias[(t->first + j) * s->heads + head];
    reference_softmax(p, seen);
    double mean = 0.0;
    for (int j = 0; j < seen; j++)
        for (int c = 0; c < columns; c++) {
            size_t v = (size_t)((t->first + j) * s->columns + head * columns + c);
            s->y[out + (size_t)c] += p[j] * (double)s->value[v];
            s->dvalue[v] += p[j] * (double)s->dy[out + (size_t)c];
            mean += p[j] * (double)s->value[v] * (double)s->dy[out + (size_t)c];
        }
    for (int j = 0; j < seen; j++) {
        size_t k = (size_t)((t->first + j) * s->width + head * width);
        size_t v = (size_t)((t->first + j) * s->columns + head * columns);
        double slope = p[j] * (reference_dot(s->dy + out, s->value + v, columns) - mean);
        s->dbias[(t->first + j) * s->heads + head] += slope;
        for (int c = 0; c < width; c++) {
            s->dquery[q + (size_t)c] += scale * slope * (double)s->key[k + (size_t)c];
            s->dkey[k + (size_t)c] += scale * slope * (double)s->query[q + (size_t)c];
        }
    }
}

static void plain(struct scene *s)
{
    for (int t = 0; t < s->batch.count; t++)
        for (int i = 0; i < s->sequences[t].rows; i++)
            for (int h = 0; h < s->heads; h++)
                plain_row(s, &s->sequences[t], i, h);
}

/* -- attention by products --------------------------------------------------------------------- */

static struct sl_tensor *operands_of(struct sl_tape *t, const float *x, int rows, int cols)
{
    struct sl_tensor *out = sl_operand_take(t, rows, cols);
    for (int r = 0; r < rows; r++)
        t->kernels->to_operands(sl_row_any(out, r), x + (size_t)r * (size_t)cols, cols);
    return out;
}

/* The ops over a scene: inputs, the result, and after `back` the gradients of all. */
struct played {
    struct sl_tape tape;
    struct sl_tensor *query, *key, *bias, *value, *y;
};

static void play(struct played *p, const struct scene *s, struct sl_engine *engine)
{
    enum { ARENA = 1 << 28 };

    struct sl_err err;
    EXPECT_OK(sl_tape_init(&p->tape, engine->kernels, engine->pool, ARENA, &err), err);
    sl_tape_begin(&p->tape, &s->batch, true);
    p->query = operands_of(&p->tape, s->query, s->rows, s->width);
    p->key = operands_of(&p->tape, s->key, s->rows, s->width);
    p->value = operands_of(&p->tape, s->value, s->rows, s->columns);
    p->bias = sl_tensor_take(&p->tape, s->rows, s->heads);
    memcpy(p->bias->data, s->bias, (size_t)(s->rows * s->heads) * sizeof *s->bias);
    struct sl_transevolve_score_table *meeting = sl_transevolve_scores(
        &p->tape, p->query, p->key, p->bias,
        (struct sl_transevolve_scores_args){.heads = s->heads, .bidirectional = s->bidirectional});
    p->y = sl_transevolve_attention(&p->tape, meeting, p->value,
                                    (struct sl_transevolve_attention_args){0});
}

static void back(struct played *p, const struct scene *s)
{
    size_t count = (size_t)(s->rows * s->columns);
    p->y->grad = sl_tape_take(&p->tape, count, sizeof *s->dy);
    memcpy(p->y->grad, s->dy, count * sizeof *s->dy);
    sl_tape_backward(&p->tape);
}

/* The largest difference, of the largest number. */
static void expect_near(const char *what, const float *have, const double *want, int count,
                        double bound)
{
    double max = 0.0, difference = 0.0;
    for (int i = 0; i < count; i++) {
        double d = fabs((double)have[i] - want[i]);
        difference =
            d >= 0.0 ? fmax(difference, d) : (double)INFINITY; /* NaN is as far as can be */
        max = fmax(max, fabs(want[i]));
    }
    cr_expect_leq(difference, bound * max + 1e-30, "%s: off by %g of %g (seed %llu)", what,
                  difference, max, (unsigned long long)test_seed());
}

static void check_scene(const struct scene *model, struct sl_engine *engine, const char *what)
{
    struct scene s = *model;
    struct played p;
    char name[128];
    /* bf16 rounds the shared exponentials, and slopes on their way to queries and keys. */
    double bound = engine->kernels->operand == SL_BF16 ? 0.03 : 1e-6;
    scene_open(&s, engine->kernels);
    plain(&s);
    play(&p, &s, engine);
    float *y = calloc((size_t)(s.rows * s.columns), sizeof *y);
    cr_assert(y);
    for (int r = 0; r < s.rows; r++)
        engine->kernels->from_operands(y + (size_t)r * (size_t)s.columns, sl_row_any(p.y, r),
                                       s.columns);
    (void)snprintf(name, sizeof name, "%s, %s", engine->kernels->name, what);
    expect_near(name, y, s.y, s.rows * s.columns, bound);
    back(&p, &s);

    const struct {
        const char *name;
        const float *have;
        const double *want;
        int count;
    } gradients[] = {
        {"query", p.query->grad, s.dquery, s.rows * s.width},
        {"key", p.key->grad, s.dkey, s.rows * s.width},
        {"bias", p.bias->grad, s.dbias, s.rows * s.heads},
        {"value", p.value->grad, s.dvalue, s.rows * s.columns},
    };

    for (size_t i = 0; i < sizeof gradients / sizeof gradients[0]; i++) {
        (void)snprintf(name, sizeof name, "%s, %s, gradient of %s", engine->kernels->name, what,
                       gradients[i].name);
        expect_near(name, gradients[i].have, gradients[i].want, gradients[i].count, 4.0 * bound);
    }
    free(y);
    sl_tape_release(&p.tape);
    scene_close(&s);
}

static void check_at_levels(const struct scene *s, const char *what)
{
    const char *const levels[] = {"ref", NULL};
    for (int i = 0; i < 2; i++) {
        struct sl_engine *engine = fixture_engine(levels[i], 2);
        check_scene(s, engine, what);
        sl_engine_destroy(engine);
    }
}

Test(transevolve_ops, shared_exponentials_are_the_softmax_of_scores_and_biases)
{
    static const struct scene scenes[] = {
        {.lengths = {13, 1, 70}, .heads = 3, .width = 72, .columns = 36, .bidirectional = true},
        {.lengths = {13, 1, 70}, .heads = 3, .width = 72, .columns = 36},
        {.lengths = {100, 33}, .heads = 2, .width = 128, .columns = 64, .bidirectional = true},
        {.lengths = {64, 65}, .heads = 2, .width = 128, .columns = 64},
        {.lengths = {600}, .heads = 1, .width = 8, .columns = 6, .bidirectional = true},
        {.lengths = {520}, .heads = 1, .width = 8, .columns = 6},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i += TEST_STEP) {
        char what[64];
        (void)snprintf(what, sizeof what, "scene %zu", i);
        check_at_levels(&scenes[i], what);
    }
}

/* e_ij w_j is about e^-110 for all keys that matter: below what fp32 holds. */
Test(transevolve_ops, rows_whose_shared_exponentials_vanish_are_computed_from_their_scores)
{
    const struct scene s = {.lengths = {40, 7, 1},
                            .heads = 2,
                            .width = 16,
                            .columns = 12,
                            .bidirectional = true,
                            .crossed = true};
    check_at_levels(&s, "crossed");
    struct scene causal = s;
    causal.bidirectional = false;
    check_at_levels(&causal, "crossed, causal");
}

/* Without time it is ordinary attention: Vaswani et al. 2017, with values as they come. */
Test(transevolve_ops, without_a_bias_it_is_ordinary_attention)
{
    struct sl_engine *engine = fixture_engine("ref", 2);
    struct scene s = {.lengths = {30, 5}, .heads = 2, .width = 24, .columns = 24};
    struct played p;
    scene_open(&s, engine->kernels);
    memset(s.bias, 0, (size_t)(s.rows * s.heads) * sizeof *s.bias);
    play(&p, &s, engine);
    float *both = calloc((size_t)(s.rows * 48), sizeof *both);
    cr_assert(both);
    for (int r = 0; r < s.rows; r++) {
        memcpy(both + (size_t)r * 48, s.key + (size_t)r * 24, 24 * sizeof *both);
        memcpy(both + (size_t)r * 48 + 24, s.value + (size_t)r * 24, 24 * sizeof *both);
    }
    struct sl_tensor *key_value = operands_of(&p.tape, both, s.rows, 48);
    const struct sl_tensor *want =
        sl_attention(&p.tape, p.query, key_value, (struct sl_attention_args){.heads = s.heads});
    for (int r = 0; r < s.rows; r++)
        for (int c = 0; c < 24; c++)
            cr_expect_float_eq(sl_row(p.y, r)[c], sl_row(want, r)[c], 1e-6, "row %d, column %d", r,
                               c);
    free(both);
    sl_tape_release(&p.tape);
    scene_close(&s);
    sl_engine_destroy(engine);
}
