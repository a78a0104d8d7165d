/* test_eam_ops.c - the ops that EAM brought: which keys a pattern lists, attention to them beside
 * attention with a mask, experts chosen by their gates. */
#include "arch/eam/eam.h"
#include "base/random.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include "ops/kv_cache.h"

#include <math.h>

/* -- patterns --------------------------------------------------------------------------------- */

/* The definitions, asked of one pair at a time. */
static bool sees(struct sl_pattern p, int i, int j)
{
    int apart = abs(i - j);
    if (p.causal && j > i)
        return false;
    switch (p.kind) {
    case SL_PATTERN_LOG: return (apart & (apart - 1)) == 0;
    case SL_PATTERN_STRIDE: return apart % p.stride == 0;
    case SL_PATTERN_WINDOW_STRIDE: return apart <= p.window || j % p.stride == 0;
    case SL_PATTERN_DENSE: return true;
    case SL_PATTERN_NONE: break;
    }
    return false;
}

static const struct sl_pattern patterns[] = {
    {.kind = SL_PATTERN_LOG},
    {.kind = SL_PATTERN_STRIDE, .stride = 1},
    {.kind = SL_PATTERN_STRIDE, .stride = 7},
    {.kind = SL_PATTERN_WINDOW_STRIDE, .stride = 4, .window = 0},
    {.kind = SL_PATTERN_WINDOW_STRIDE, .stride = 6, .window = 6},
    {.kind = SL_PATTERN_WINDOW_STRIDE, .stride = 90, .window = 40},
    {.kind = SL_PATTERN_DENSE},
    {.kind = SL_PATTERN_NONE},
};

enum { PATTERNS = sizeof patterns / sizeof patterns[0], LONGEST = 70 };

Test(eam_ops, patterns_list_the_keys_of_their_definition)
{
    int32_t keys[LONGEST];
    for (int k = 0; k < 2 * PATTERNS; k++)
        for (int rows = 1; rows <= LONGEST; rows++)
            for (int i = 0; i < rows; i++) {
                struct sl_pattern p = patterns[k / 2];
                p.causal = k % 2;
                int count = sl_pattern_keys(p, i, rows, keys), at = 0;
                for (int j = 0; j < rows; j++)
                    if (sees(p, i, j))
                        cr_assert(at < count && keys[at++] == j, "pattern %d: %d of %d, key %d", k,
                                  i, rows, j);
                cr_assert_eq(at, count, "pattern %d: %d of %d has surplus keys", k, i, rows);
            }
}

static int64_t pairs_of(int rows, bool causal, int *max)
{
    struct sl_pattern p = {.kind = SL_PATTERN_LOG, .causal = causal};
    int64_t pairs = 0;
    int32_t *keys = malloc((size_t)rows * sizeof *keys);
    cr_assert(keys);
    *max = 0;
    for (int i = 0; i < rows; i++) {
        int count = sl_pattern_keys(p, i, rows, keys);
        *max = count > *max ? count : *max;
        pairs += count;
    }
    free(keys);
    return pairs;
}

/* The specification's means to one place, and the sums they come from: n (2 log2 n - 1) + 2. */
Test(eam_ops, log_lists_as_many_keys_as_specified)
{
    static const struct {
        int rows;
        double mean;
        int64_t pairs;
    } cases[] = {{256, 15.0, 3842}, {512, 17.0, 8706}, {4096, 23.0, 94210}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int max, log2_rows = (int)log2(cases[i].rows);
        int64_t pairs = pairs_of(cases[i].rows, false, &max);
        cr_expect_eq(pairs, cases[i].pairs, "%d rows: %lld", cases[i].rows, (long long)pairs);
        cr_expect_float_eq((double)pairs / cases[i].rows, cases[i].mean, 0.05);
        cr_expect_leq(max, 2 * (log2_rows - 1) + 3);
        (void)pairs_of(cases[i].rows, true, &max);
        cr_expect_leq(max, log2_rows + 2, "a step of decoding reads %d rows", max);
    }
}

Test(eam_ops, work_grows_like_n_log_n)
{
    int max;
    for (int n = 512; n < 8192; n *= 2) {
        double more = (double)pairs_of(2 * n, false, &max) / (double)pairs_of(n, false, &max);
        double want = 2.0 * log2(2.0 * n) / log2(n);
        cr_expect_float_eq(more, want, 0.02 * want, "%d to %d: %g times, want %g", n, 2 * n, more,
                           want);
    }
}

/* -- sparse attention ------------------------------------------------------------------------- */

enum { WIDTH = 30 };

/* Random queries, keys and values for a batch, as operands and as what those hold. */
struct attended {
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_tensor *query, *key_value;
    float *values; /* rows x 3 WIDTH */
};

static struct sl_tensor *operands(struct attended *a, int first, int cols)
{
    const struct sl_kernels *k = a->t.kernels;
    struct sl_tensor *x = sl_operand_take(&a->t, a->f.batch.rows, cols);
    for (int r = 0; r < x->rows; r++) {
        float *row = a->values + (size_t)r * 3 * WIDTH + first;
        k->to_operands(sl_row_any(x, r), row, cols);
        k->from_operands(row, sl_row_any(x, r), cols);
    }
    return x;
}

static void attended_open(struct attended *a, struct sl_engine *engine, const int *lengths)
{
    struct sl_err err;
    static const struct sl_policy policy;
    fixture_batch_init(&a->f, lengths, 11);
    int count = a->f.batch.rows * 3 * WIDTH;
    a->values = malloc((size_t)count * sizeof *a->values);
    cr_assert(a->values);
    for (int i = 0; i < count; i++)
        a->values[i] = (float)sl_random_normal(test_seed(), (uint64_t)i);
    EXPECT_OK(sl_tape_init(&a->t, engine->kernels, engine->pool, 1 << 22, &err), err);
    a->t.policy = &policy;
    sl_tape_begin(&a->t, &a->f.batch, false);
    a->query = operands(a, 0, WIDTH);
    a->key_value = operands(a, WIDTH, 2 * WIDTH);
}

static void attended_close(struct attended *a)
{
    sl_tape_release(&a->t);
    free(a->values);
}

/* q_i . k_j / sqrt(d), or -inf when i does not see j; head: the first query of a sequence. */
static double masked_score(const float *head, struct sl_pattern p, int i, int j, int width)
{
    const float *q = head + (size_t)i * 3 * WIDTH, *k = head + ((size_t)j * 3 + 1) * WIDTH;
    double product = 0.0;
    for (int c = 0; c < width; c++)
        product += (double)q[c] * (double)k[c];
    return sees(p, i, j) ? product / sqrt(width) : -HUGE_VAL;
}

/* softmax(q k^T / sqrt(d) + M) v of one head of one query, over all keys of its sequence; 0 when
 * it sees none. */
static void masked(const struct attended *a, struct sl_pattern p, int row, int column, int width,
                   double *out)
{
    const struct sl_sequence *s = &a->f.sequences[a->t.view->row_sequence[row]];
    const float *head = a->values + (size_t)s->first * 3 * WIDTH + column;
    double scores[LONGEST], max = -HUGE_VAL, total = 0.0;
    for (int j = 0; j < s->rows; j++) {
        scores[j] = masked_score(head, p, row - s->first, j, width);
        max = fmax(max, scores[j]);
    }
    for (int j = 0; j < s->rows; j++)
        total += scores[j] = isfinite(max) ? exp(scores[j] - max) : 0.0;
    for (int c = 0; c < width; c++) {
        out[c] = 0.0;
        for (int j = 0; j < s->rows && total > 0.0; j++)
            out[c] += scores[j] / total * (double)head[((size_t)j * 3 + 2) * WIDTH + (size_t)c];
    }
}

static void check_masked(const struct attended *a, struct sl_pattern p, int heads,
                         const struct sl_tensor *have)
{
    int width = WIDTH / heads;
    double want[WIDTH], worst = 0.0;
    for (int r = 0; r < a->f.batch.rows; r++)
        for (int h = 0; h < heads; h++) {
            masked(a, p, r, h * width, width, want);
            for (int c = 0; c < width; c++)
                worst = fmax(worst, fabs(want[c] - (double)sl_row(have, r)[h * width + c]));
        }
    cr_expect_lt(worst, 2e-6, "%s, pattern %d, causal %d, %d heads: off by %g (seed %llu)",
                 a->t.kernels->name, (int)p.kind, p.causal, heads, worst,
                 (unsigned long long)test_seed());
}

Test(eam_ops, sparse_attention_equals_a_mask_of_minus_infinity)
{
    static const int lengths[] = {70, 1, 2, 33, 64, 0};
    static const char *const levels[] = {"ref", NULL};
    for (int l = 0; l < 2; l++) {
        struct sl_engine *engine = fixture_engine(levels[l], 3);
        struct attended a;
        attended_open(&a, engine, lengths);
        for (int k = 0; k < 2 * PATTERNS; k++)
            for (int heads = 1; heads <= 3; heads += 2) {
                struct sl_pattern p = patterns[k / 2];
                p.causal = k % 2;
                const struct sl_tensor *out = sl_sparse_attention(
                    &a.t, a.query, a.key_value,
                    (struct sl_sparse_attention_args){.heads = heads, .pattern = p});
                check_masked(&a, p, heads, out);
            }
        attended_close(&a);
        sl_engine_destroy(engine);
    }
}

Test(eam_ops, queries_without_keys_give_zero, TEST_ONE_THREAD)
{
    enum { SPARE = 1 << 16 };

    static const int lengths[] = {5, 0};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct attended a;
    attended_open(&a, engine, lengths);
    /* Memory that is not written is NaN. */
    size_t mark = sl_tape_mark(&a.t);
    memset(sl_tape_take(&a.t, SPARE, 1), 0xff, SPARE);
    sl_tape_forget(&a.t, mark);
    const struct sl_tensor *out = sl_sparse_attention(
        &a.t, a.query, a.key_value,
        (struct sl_sparse_attention_args){.heads = 2, .pattern = {.kind = SL_PATTERN_NONE}});
    for (int i = 0; i < out->rows * WIDTH; i++)
        cr_expect_eq(sl_row(out, 0)[i], 0.0f, "number %d is %g", i, (double)sl_row(out, 0)[i]);
    attended_close(&a);
    sl_engine_destroy(engine);
}

/* A step of decoding: what else the cache holds may be anything. */
Test(eam_ops, a_step_reads_few_rows_of_the_cache, TEST_ONE_THREAD)
{
    enum { HEADS = 3, PAST = 45, CAPACITY = 50, EACH = WIDTH / HEADS };

    static const int one[] = {1, 0};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    size_t type = sl_type_bytes(engine->kernels->operand);
    unsigned char data[sizeof(float) * 2 * CAPACITY * WIDTH];
    struct sl_cache cache = {.operands = data, .capacity = CAPACITY, .length = PAST};
    struct sl_cache_layer layer = {
        .heads = HEADS, .head_dim = EACH, .type = engine->kernels->operand};
    struct sl_pattern p = {.kind = SL_PATTERN_LOG, .causal = true};
    struct attended a;
    memset(data, 0xff, sizeof data); /* NaN of either type */
    int32_t keys[CAPACITY];
    int count = sl_pattern_keys(p, PAST, PAST + 1, keys);
    cr_assert_eq(count, 7); /* 45 - 32, - 16, - 8, - 4, - 2, - 1 and itself */
    for (int h = 0; h < 2 * HEADS; h++)
        for (int k = 0; k < count; k++)
            memset(sl_cache_rows(&cache, layer, h / 2, h % 2) + (size_t)keys[k] * EACH * type, 0,
                   EACH * type);
    attended_open(&a, engine, one);
    a.f.sequences[0] = (struct sl_sequence){.rows = 1, .position = PAST, .cache = &cache};
    sl_tape_begin(&a.t, &a.f.batch, false);
    a.query = operands(&a, 0, WIDTH);
    a.key_value = operands(&a, WIDTH, 2 * WIDTH);
    const struct sl_tensor *out =
        sl_sparse_attention(&a.t, a.query, a.key_value,
                            (struct sl_sparse_attention_args){.heads = HEADS, .pattern = p});
    for (int c = 0; c < WIDTH; c++)
        cr_expect(isfinite(sl_row(out, 0)[c]), "column %d is %g", c, (double)sl_row(out, 0)[c]);
    attended_close(&a);
    sl_engine_destroy(engine);
}

/* -- experts ---------------------------------------------------------------------------------- */

/* A tape with one sequence of some rows, and shares for them. */
static struct sl_tensor *shares_of(struct attended *a, int experts)
{
    struct sl_tensor *x = sl_tensor_take(&a->t, a->f.batch.rows, experts);
    for (int i = 0; i < x->rows * experts; i++)
        sl_row(x, 0)[i] = a->values[i];
    return sl_softmax_rows(&a->t, x);
}

Test(eam_ops, gates_sum_to_one_unless_one_expert_is_alone, TEST_ONE_THREAD)
{
    static const int lengths[] = {40, 0};

    enum { EXPERTS = 6 };

    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct attended a;
    attended_open(&a, engine, lengths);
    struct sl_tensor *shares = shares_of(&a, EXPERTS);
    for (int used = 1; used <= EXPERTS; used++) {
        const struct sl_expert_assignment *routes = sl_assign_experts(&a.t, shares, used, NULL);
        const struct sl_tensor *chosen = sl_topk_gates(&a.t, shares, routes);
        for (int r = 0; r < shares->rows; r++) {
            double whole = 0.0, kept = 0.0, max = 0.0;
            int count = 0;
            for (int e = 0; e < EXPERTS; e++) {
                whole += (double)sl_row(shares, r)[e];
                kept += (double)sl_row(chosen, r)[e];
                max = fmax(max, (double)sl_row(shares, r)[e]);
                count += sl_row(chosen, r)[e] > 0.0f;
            }
            cr_expect_float_eq(whole, 1.0, 1e-6);
            cr_expect_float_eq(kept, used == 1 ? max : 1.0, 1e-6, "%d used: %g", used, kept);
            cr_expect_eq(count, used);
        }
    }
    attended_close(&a);
    sl_engine_destroy(engine);
}

Test(eam_ops, equal_gates_choose_the_lower_experts, TEST_ONE_THREAD)
{
    static const int lengths[] = {3, 0};
    static const float given[3][4] = {{1, 1, 1, 1}, {1, 3, 2, 2}, {2, 1, 2, 1}};
    static const int want[3][2] = {{0, 1}, {1, 2}, {0, 2}};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct attended a;
    attended_open(&a, engine, lengths);
    struct sl_tensor *shares = sl_tensor_take(&a.t, 3, 4);
    memcpy(shares->data, given, sizeof given);
    const struct sl_expert_assignment *routes = sl_assign_experts(&a.t, shares, 2, NULL);
    for (int r = 0; r < 3; r++)
        for (int j = 0; j < 2; j++)
            cr_expect_eq(routes->expert[2 * r + j], want[r][j], "row %d, choice %d: %d", r, j,
                         routes->expert[2 * r + j]);
    attended_close(&a);
    sl_engine_destroy(engine);
}
