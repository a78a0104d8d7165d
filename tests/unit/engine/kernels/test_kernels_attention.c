/* test_kernels_attention.c - attention at every level this machine has: forward against a plain
 * computation in double, backward against finite differences, and batch invariance to the bit. */
#include "base/bf16.h"
#include "support/kernel_buffers.h"
#include "support/test.h"

/* The keys that each query sees. */
enum pattern { ALL, CAUSAL, SCATTERED /* any number, also none */, WINDOW /* some on each side */ };

enum { SIDE = 9 /* of a window */ };

struct head {
    int queries, keys, head_dim;
    enum pattern pattern;
    uint32_t threshold; /* of dropout */
    bool serves;        /* no lse */
    bool bf16_cache;
    float sharpness; /* a factor of the scores; 0: 1 */
};

/* One head's data: rows as floats, rounded as the level rounds them, and as operands. */
struct problem {
    struct head h;
    float *q, *k, *v, *dout;
    void *q_operands, *k_operands, *v_operands, *out;
    int32_t *visible, *from;
    uint32_t *row_keys;
    float *lse;
    void *scratch;
    size_t stride, out_bytes;
};

static int seen(const struct head *h, int query)
{
    const int causal = h->keys - h->queries + query + 1;
    switch (h->pattern) {
    case ALL: return h->keys;
    case CAUSAL: return causal > 0 ? causal : 0;
    case SCATTERED: return (query * 7919 + 5) % (h->keys + 1);
    case WINDOW: return causal + SIDE < 0 ? 0 : sl_min(causal + SIDE, h->keys);
    }
    return 0;
}

static int first_seen(const struct head *h, int query)
{
    const int from = h->keys - h->queries + query - SIDE;
    return h->pattern == WINDOW && from > 0 ? sl_min(from, seen(h, query)) : 0;
}

static float *rounded(const struct sl_kernels *k, int rows, int cols, uint64_t which)
{
    float *x = input_make((size_t)rows * (size_t)cols, which, 1.5f);
    round_to_operands(k, x, rows * cols);
    return x;
}

static struct problem problem_make(const struct sl_kernels *k, struct head h)
{
    struct problem p = {.h = h, .stride = sl_operand_stride(k, h.head_dim)};
    p.q = rounded(k, h.queries, h.head_dim, 20);
    p.k = rounded(k, h.keys, h.head_dim, 21);
    p.v = rounded(k, h.keys, h.head_dim, 22);
    for (int i = 0; h.bf16_cache && i < h.keys * h.head_dim; i++) {
        p.k[i] = sl_bf16_to_f32(sl_bf16_of(p.k[i]));
        p.v[i] = sl_bf16_to_f32(sl_bf16_of(p.v[i]));
    }
    p.dout = rounded(k, h.queries, h.head_dim, 23);
    p.q_operands = operands_make(k, p.q, h.queries, h.head_dim);
    p.k_operands = operands_make(k, p.k, h.keys, h.head_dim);
    p.v_operands = operands_make(k, p.v, h.keys, h.head_dim);
    p.out_bytes = (size_t)h.queries * p.stride * sl_type_bytes(k->operand);
    p.out = output_make(p.out_bytes);
    p.visible = malloc((size_t)h.queries * sizeof *p.visible);
    p.from = malloc((size_t)h.queries * sizeof *p.from);
    p.row_keys = malloc((size_t)h.queries * sizeof *p.row_keys);
    for (int i = 0; i < h.queries; i++) {
        p.visible[i] = seen(&h, i);
        p.from[i] = first_seen(&h, i);
        p.row_keys[i] = (uint32_t)i * 2654435761u + 17;
    }
    p.lse = output_make((size_t)h.queries * sizeof *p.lse);
    p.scratch = output_make(k->attention_scratch(h.queries, h.keys, h.head_dim));
    return p;
}

static void problem_free(struct problem *p)
{
    free(p->q);
    free(p->k);
    free(p->v);
    free(p->dout);
    free(p->q_operands);
    free(p->k_operands);
    free(p->v_operands);
    output_free(p->out);
    free(p->visible);
    free(p->from);
    free(p->row_keys);
    output_free(p->lse);
    output_free(p->scratch);
}

static struct sl_attention call_of(const struct problem *p)
{
    return (struct sl_attention){
        .q = p->q_operands,
        .k = p->k_operands,
        .v = p->v_operands,
        .out = p->out,
        .q_stride = p->stride,
        .kv_stride = p->stride,
        .out_stride = p->stride,
        .queries = p->h.queries,
        .keys = p->h.keys,
        .head_dim = p->h.head_dim,
        .heads = 1,
        .visible = p->visible,
        .from = p->h.pattern == WINDOW ? p->from : NULL,
        .scale = (p->h.sharpness > 0.0f ? p->h.sharpness : 1.0f) / sqrtf((float)p->h.head_dim),
        .dropout = {.threshold = p->h.threshold,
                    .scale = 65536.0f / (65536.0f - (float)p->h.threshold)},
        .row_keys = p->row_keys,
        .lse = p->h.serves ? NULL : p->lse,
        .scratch = p->scratch,
    };
}

static void run(const struct sl_kernels *k, const struct problem *p)
{
    const struct sl_attention a = call_of(p);
    k->attention(k, &a);
    cr_assert(output_guarded(p->out, p->out_bytes), "%s: out", k->name);
    cr_assert(output_guarded(p->lse, (size_t)p->h.queries * sizeof *p->lse), "%s: lse", k->name);
    cr_assert(
        output_guarded(p->scratch, k->attention_scratch(p->h.queries, p->h.keys, p->h.head_dim)),
        "%s: scratch", k->name);
}

/* ---- the formula, in double ----------------------------------------------------------------- */

/* One query: its probabilities after dropout (p has room for keys) and its lse. */
static double oracle_row(const struct problem *p, const double *q, int i, double *probabilities)
{
    const struct sl_attention a = call_of(p);
    const int from = p->from[i], n = p->visible[i], d = p->h.head_dim;
    double max = -HUGE_VAL, total = 0.0;
    for (int j = from; j < n; j++) {
        probabilities[j] = 0.0;
        for (int c = 0; c < d; c++)
            probabilities[j] += q[c] * (double)p->k[j * d + c] * (double)a.scale;
        max = fmax(max, probabilities[j]);
    }
    for (int j = from; j < n; j++)
        total += exp(probabilities[j] - max);
    for (int j = from; j < n; j++) {
        float pair[2] = {1.0f, 1.0f};
        reference_kernels()->dropout(pair, pair, a.dropout, p->row_keys[i], j - j % 2, 2);
        probabilities[j] = exp(probabilities[j] - max) / total * (double)pair[j % 2];
    }
    return n > from ? max + log(total) : -HUGE_VAL;
}

static void oracle_out(const struct problem *p, int i, double *out, double *lse)
{
    const int d = p->h.head_dim;
    double q[256], probabilities[512];
    for (int c = 0; c < d; c++) {
        q[c] = (double)p->q[i * d + c];
        out[c] = 0.0;
    }
    *lse = oracle_row(p, q, i, probabilities);
    for (int j = p->from[i]; j < p->visible[i]; j++)
        for (int c = 0; c < d; c++)
            out[c] += probabilities[j] * (double)p->v[j * d + c];
}

/* ---- forward -------------------------------------------------------------------------------- */

static void check_attention(const struct sl_kernels *k, struct head h)
{
    struct problem p = problem_make(k, h);
    run(k, &p);
    /* Values are below 1.5, times at most 2 by dropout: fp32 rounds sums of them by some 1e-6; bf16
     * rounds probabilities and the result by 2^-9 each. */
    const double room = k->operand == SL_F32 ? 3e-6 : 3.0 * 0x1p-8;
    for (int i = 0; i < h.queries; i++) {
        double want[256], lse;
        float got[256];
        oracle_out(&p, i, want, &lse);
        k->from_operands(got,
                         (unsigned char *)p.out + (size_t)i * p.stride * sl_type_bytes(k->operand),
                         h.head_dim);
        for (int c = 0; c < h.head_dim; c++)
            cr_assert(fabs((double)got[c] - want[c]) <= room,
                      "%s: %d queries, %d keys, %d dims: [%d][%d] = %g, want %g", k->name,
                      h.queries, h.keys, h.head_dim, i, c, (double)got[c], want[c]);
        cr_assert(h.serves || isinf(lse) ? h.serves || (double)p.lse[i] < -50.0
                                         : fabs((double)p.lse[i] - lse) < 1e-5,
                  "%s: lse %g, want %g", k->name, (double)p.lse[i], lse);
    }
    problem_free(&p);
}

static void attends_all_shapes(const struct sl_kernels *k)
{
    static const int dims[] = {32, 64, 96, 12, 1, 40};
    static const int sizes[][2] = {{1, 1},   {1, 31},  {1, 128}, {2, 33},  {16, 16},
                                   {17, 40}, {32, 32}, {33, 33}, {70, 70}, {5, 129}};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct head h = {.queries = sizes[s][0],
                             .keys = sizes[s][1],
                             .head_dim = dims[d],
                             .pattern = (enum pattern)((d + s) % 4),
                             .threshold = s % 2 ? 20000 : 0};
            check_attention(k, h);
            h.serves = true;
            check_attention(k, h);
            h.sharpness = 400.0f; /* powers that fp32 lacks, unless they are shifted */
            if (k->operand == SL_BF16)
                check_attention(k, h);
        }
}

Test(attention, is_the_formula)
{
    for_each_isa(attends_all_shapes);
}

/* Query i alone, seeing `keys` rows of K and V, has the bits it has among all in p. */
static void query_alone(const struct sl_kernels *k, const struct problem *p, int i, int keys)
{
    const size_t row = p->stride * sl_type_bytes(k->operand);
    struct sl_attention a = call_of(p);
    unsigned char *out = output_make(row);
    float lse = 0.0f;
    a.q = (const unsigned char *)a.q + (size_t)i * row;
    a.visible += i;
    a.from = a.from ? a.from + i : NULL;
    a.row_keys += i;
    a.queries = 1;
    a.keys = keys;
    a.out = out;
    a.lse = p->h.serves ? NULL : &lse;
    a.scratch = output_make(k->attention_scratch(1, keys, a.head_dim));
    k->attention(k, &a);
    cr_assert_eq(memcmp(out, (unsigned char *)p->out + (size_t)i * row,
                        (size_t)a.head_dim * sl_type_bytes(k->operand)),
                 0, "%s: query %d of %d alone, %d keys", k->name, i, p->h.queries, keys);
    cr_assert(p->h.serves || same_bits(lse, p->lse[i]), "%s: lse of query %d", k->name, i);
    output_free(a.scratch);
    output_free(out);
}

/* Every query alone, with all keys and with no more than it sees; then all with garbage in place of
 * what no query sees. */
static void has_the_same_bits(const struct sl_kernels *k, struct head h)
{
    struct problem p = problem_make(k, h);
    const size_t row = p.stride * sl_type_bytes(k->operand);
    run(k, &p);
    int max = 0;
    for (int i = 0; i < h.queries; i++) {
        query_alone(k, &p, i, h.keys);
        if (p.visible[i] > 0)
            query_alone(k, &p, i, p.visible[i]);
        max = p.visible[i] > max ? p.visible[i] : max;
    }
    unsigned char *before = malloc(p.out_bytes);
    memcpy(before, p.out, p.out_bytes);
    memset((unsigned char *)p.k_operands + (size_t)max * row, 0xff, (size_t)(h.keys - max) * row);
    memset((unsigned char *)p.v_operands + (size_t)max * row, 0xff, (size_t)(h.keys - max) * row);
    run(k, &p);
    cr_assert_eq(memcmp(before, p.out, p.out_bytes), 0, "%s: unseen keys leak", k->name);
    free(before);
    problem_free(&p);
}

static void has_the_same_bits_in_all_shapes(const struct sl_kernels *k)
{
    static const int dims[] = {32, 64, 12};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (int pattern = ALL; pattern <= WINDOW; pattern++)
            for (int threshold = 0; threshold <= 20000; threshold += 20000) {
                struct head h = {.queries = 50,
                                 .keys = 77,
                                 .head_dim = dims[d],
                                 .pattern = (enum pattern)pattern,
                                 .threshold = (uint32_t)threshold};
                has_the_same_bits(k, h);
                h.serves = true;
                has_the_same_bits(k, h);
                h.queries = 3;
                h.keys = 21;
                has_the_same_bits(k, h);
                h.sharpness = 100.0f;
                has_the_same_bits(k, h);
            }
}

Test(attention, a_query_does_not_know_its_company)
{
    for_each_isa(has_the_same_bits_in_all_shapes);
}

/* ---- a KV cache ----------------------------------------------------------------------------- */

enum { HEADS = 3, PAST = 77 /* keys */ };

/* The same where operands are fp32 and the cache is bf16. */
static void fill_bf16_cache(const struct sl_kernels *k, const struct problem *p, uint16_t *to)
{
    const size_t d = (size_t)p->h.head_dim, room = sl_round_up(PAST, SL_PANEL);
    memset(to, 0xff, 2 * room * d * sizeof *to);
    for (size_t i = 0; i < PAST; i++) {
        uint16_t *panel = to + i / SL_PANEL * SL_PANEL * d;
        const int at = sl_compact_at(k, (int)(i % SL_PANEL));
        for (size_t c = 0; c < d; c++) {
            panel[c * SL_PANEL + (size_t)at] = sl_bf16_of(p->k[i * d + c]);
            to[(room + i) * d + c] = sl_bf16_of(p->v[i * d + c]);
        }
    }
}

/* A head's keys, then its values, as a cache holds them; past the last are NaN and zeros. */
static void fill_cache(const struct sl_kernels *k, const struct problem *p, unsigned char *to)
{
    const size_t d = (size_t)p->h.head_dim, room = sl_round_up(PAST, SL_PANEL);
    const size_t element = sl_type_bytes(k->operand);
    memset(to, 0xff, room * d * element);
    memset(to + room * d * element, 0, room * d * element);
    if (k->operand == SL_F32) {
        k->pack(to, p->k, SL_F32, d, true, p->h.head_dim, PAST, 0, PAST);
        memcpy(to + room * d * element, p->v, PAST * d * element);
        return;
    }
    uint16_t *keys = (uint16_t *)(void *)to, *values = keys + room * d;
    for (size_t i = 0; i < PAST; i++) {
        const uint16_t *key = (const uint16_t *)p->k_operands + i * p->stride;
        const uint16_t *value = (const uint16_t *)p->v_operands + i * p->stride;
        for (size_t c = 0; c < d; c++)
            keys[sl_keys_in_pairs(k, p->h.head_dim)
                     ? i / 16 * 16 * d + 2 * (c / 2 * 16 + i % 16) + c % 2
                     : i * d + c] = key[c];
        for (size_t c = 0; c < d; c++)
            values[2 * (i / 2 * d + c) + i % 2] = value[c];
    }
}

/* Queries `first` on, all heads at once; results in `out`, rows of HEADS * head_dim. */
static void run_cached(const struct sl_kernels *k, const struct problem *p, int first, int queries,
                       void *out)
{
    const size_t d = (size_t)p->h.head_dim, room = sl_round_up(PAST, SL_PANEL);
    const size_t element = sl_type_bytes(k->operand), head = 2 * room * d;
    const size_t cached = p->h.bf16_cache ? sizeof(uint16_t) : element;
    unsigned char *cache = aligned_alloc(64, sl_round_up(HEADS * head * element, 64));
    unsigned char *q = calloc((size_t)queries * HEADS * d, element);
    struct sl_attention a = call_of(p);
    for (size_t h = 0; h < HEADS; h++) {
        unsigned char *to = cache + h * head * cached;
        if (p->h.bf16_cache)
            fill_bf16_cache(k, p, (uint16_t *)(void *)to);
        else
            fill_cache(k, p, to);
        for (size_t i = 0; i < (size_t)queries; i++)
            memcpy(q + (i * HEADS + h) * d * element,
                   (const unsigned char *)a.q + ((size_t)first + i) * p->stride * element,
                   d * element);
    }
    a.q = q;
    a.k = cache;
    a.v = cache + room * d * cached;
    a.out = out;
    a.q_stride = a.out_stride = HEADS * d;
    a.kv_stride = d;
    a.kv_head = head;
    a.cached = true;
    a.bf16_cache = p->h.bf16_cache;
    a.heads = HEADS;
    a.queries = queries;
    a.visible += first;
    a.lse = NULL;
    a.scratch = output_make(k->attention_scratch(queries, a.keys, a.head_dim));
    k->attention(k, &a);
    cr_assert(output_guarded(a.scratch, k->attention_scratch(queries, a.keys, a.head_dim)),
              "%s: scratch", k->name);
    output_free(a.scratch);
    free(q);
    free(cache);
}

/* All queries at once and each alone have the bits that they have without a cache. */
static void cache_has_the_bits(const struct sl_kernels *k, bool bf16_cache)
{
    static const int dims[] = {32, 64, 12};
    for (size_t s = 0; s < sizeof dims / sizeof *dims; s++) {
        struct problem p = problem_make(k, (struct head){.queries = 40,
                                                         .keys = PAST,
                                                         .head_dim = dims[s],
                                                         .pattern = SCATTERED,
                                                         .serves = true,
                                                         .bf16_cache = bf16_cache,
                                                         .sharpness = s == 1 ? 100.0f : 1.0f});
        const size_t head = (size_t)dims[s] * sl_type_bytes(k->operand), row = HEADS * head;
        const size_t one = p.stride * sl_type_bytes(k->operand), count = (size_t)p.h.queries;
        unsigned char *all = output_make(count * row), *alone = output_make(row);
        run(k, &p);
        run_cached(k, &p, 0, p.h.queries, all);
        cr_assert(output_guarded(all, count * row), "%s: out", k->name);
        for (size_t i = 0; i < count; i++) {
            run_cached(k, &p, (int)i, 1, alone);
            cr_assert(output_guarded(alone, row), "%s: out", k->name);
            for (size_t h = 0; h < HEADS; h++) {
                const unsigned char *want = (const unsigned char *)p.out + i * one;
                cr_assert_eq(memcmp(all + i * row + h * head, want, head), 0,
                             "%s: query %zu of a cache, head %zu of %d", k->name, i, h, dims[s]);
                cr_assert_eq(memcmp(alone + h * head, want, head), 0,
                             "%s: query %zu alone, head %zu of %d", k->name, i, h, dims[s]);
            }
        }
        output_free(all);
        output_free(alone);
        problem_free(&p);
    }
}

static void cache_has_the_same_bits(const struct sl_kernels *k)
{
    cache_has_the_bits(k, false);
    if (k->operand == SL_F32)
        cache_has_the_bits(k, true);
}

Test(attention, a_query_does_not_know_that_keys_are_cached)
{
    for_each_isa(cache_has_the_same_bits);
}

/* ---- backward ------------------------------------------------------------------------------- */

struct gradients {
    float *dq, *dk, *dv;
    size_t q_count, kv_count;
};

static struct gradients run_back(const struct sl_kernels *k, const struct problem *p)
{
    const struct head *h = &p->h;
    struct gradients g = {.q_count = (size_t)h->queries * (size_t)h->head_dim,
                          .kv_count = (size_t)h->keys * (size_t)h->head_dim};
    g.dq = output_make(g.q_count * sizeof *g.dq);
    g.dk = output_make(g.kv_count * sizeof *g.dk);
    g.dv = output_make(g.kv_count * sizeof *g.dv);
    run(k, p);
    const size_t stride = (size_t)h->head_dim;
    const struct sl_attention_backward b = {.forward = call_of(p),
                                            .dout = p->dout,
                                            .dq = g.dq,
                                            .dk = g.dk,
                                            .dv = g.dv,
                                            .dout_stride = stride,
                                            .dq_stride = stride,
                                            .dkv_stride = stride};
    k->attention_backward(k, &b);
    cr_assert(output_guarded(g.dq, g.q_count * sizeof *g.dq), "%s: dq", k->name);
    cr_assert(output_guarded(g.dk, g.kv_count * sizeof *g.dk), "%s: dk", k->name);
    cr_assert(output_guarded(g.dv, g.kv_count * sizeof *g.dv), "%s: dv", k->name);
    cr_assert(output_guarded(p->scratch, k->attention_scratch(h->queries, h->keys, h->head_dim)),
              "%s: scratch", k->name);
    return g;
}

static void gradients_free(struct gradients *g)
{
    output_free(g->dq);
    output_free(g->dk);
    output_free(g->dv);
}

/* What the gradients are of. */
static double loss(const struct problem *p)
{
    double total = 0.0, out[256], lse;
    for (int i = 0; i < p->h.queries; i++) {
        oracle_out(p, i, out, &lse);
        for (int c = 0; c < p->h.head_dim; c++)
            total += out[c] * (double)p->dout[i * p->h.head_dim + c];
    }
    return total;
}

/* The slope of the loss in one number. The step is a power of 2, so that x + step and x - step are
 * exact; central differences then err by step^2 = 1e-6 times third derivatives near 1. */
static double slope(const struct problem *p, float *x)
{
    const float was = *x, step = 0x1p-10f;
    *x = was + step;
    const double above = loss(p);
    *x = was - step;
    const double below = loss(p);
    *x = was;
    return (above - below) / (2.0 * (double)step);
}

static void slopes_are(const struct problem *p, float *x, const float *got, size_t count,
                       const char *what)
{
    for (size_t i = 0; i < count; i++) {
        const double want = slope(p, &x[i]);
        cr_assert(fabs((double)got[i] - want) < 2e-5, "%s[%zu] = %.9g, want %.9g", what, i,
                  (double)got[i], want);
    }
}

static void slope_of(struct head h)
{
    struct problem p = problem_make(reference_kernels(), h);
    struct gradients g = run_back(reference_kernels(), &p);
    slopes_are(&p, p.q, g.dq, g.q_count, "dq");
    slopes_are(&p, p.k, g.dk, g.kv_count, "dk");
    slopes_are(&p, p.v, g.dv, g.kv_count, "dv");
    gradients_free(&g);
    problem_free(&p);
}

Test(attend_back, of_the_reference_is_the_slope)
{
    for (int threshold = 0; threshold <= 20000; threshold += 20000)
        slope_of((struct head){.queries = 5,
                               .keys = 7,
                               .head_dim = 4,
                               .pattern = SCATTERED,
                               .threshold = (uint32_t)threshold});
    slope_of((struct head){.queries = 40, .keys = 50, .head_dim = 2, .pattern = WINDOW});
}

/* The error of a whole gradient, relative to its length: single elements may nearly cancel. */
static void is_like(const struct sl_kernels *k, const float *got, const float *want, size_t count,
                    const char *what)
{
    double error = 0.0, size = 0.0;
    for (size_t i = 0; i < count; i++) {
        error += pow((double)got[i] - (double)want[i], 2.0);
        size += pow((double)want[i], 2.0);
    }
    /* fp32: some ulp. bf16 rounds P, dS, out and dO by 2^-9 each, partly averaged away; dO . out
     * has terms near 1, so its error stays even where the gradients themselves cancel. */
    const bool exact = k->operand == SL_F32;
    const double room = (exact ? 3e-6 : 0x1p-8) * sqrt(size);
    const double floor = (exact ? 1e-6 : 0x1p-8) * sqrt((double)count);
    cr_assert(sqrt(error) <= room + floor, "%s: %s is %g off, of %g", k->name, what, sqrt(error),
              sqrt(size));
}

static void back_is_the_reference(const struct sl_kernels *k, struct head h)
{
    struct problem p = problem_make(k, h), r = problem_make(reference_kernels(), h);
    memcpy(r.q_operands, p.q, (size_t)h.queries * (size_t)h.head_dim * sizeof(float));
    memcpy(r.k_operands, p.k, (size_t)h.keys * (size_t)h.head_dim * sizeof(float));
    memcpy(r.v_operands, p.v, (size_t)h.keys * (size_t)h.head_dim * sizeof(float));
    memcpy(r.dout, p.dout, (size_t)h.queries * (size_t)h.head_dim * sizeof(float));
    const size_t row = p.stride * sl_type_bytes(k->operand);
    int max = 0;
    for (int i = 0; i < h.queries; i++)
        max = p.visible[i] > max ? p.visible[i] : max;
    memset((unsigned char *)p.k_operands + (size_t)max * row, 0xff, (size_t)(h.keys - max) * row);
    memset((unsigned char *)p.v_operands + (size_t)max * row, 0xff, (size_t)(h.keys - max) * row);
    struct gradients got = run_back(k, &p), want = run_back(reference_kernels(), &r);
    is_like(k, got.dq, want.dq, got.q_count, "dq");
    is_like(k, got.dk, want.dk, got.kv_count, "dk");
    is_like(k, got.dv, want.dv, got.kv_count, "dv");
    gradients_free(&got);
    gradients_free(&want);
    problem_free(&p);
    problem_free(&r);
}

static void back_in_all_shapes(const struct sl_kernels *k)
{
    static const int dims[] = {32, 64, 12, 40};
    static const int sizes[][2] = {{1, 1},   {1, 40},  {7, 33},  {32, 32},
                                   {33, 70}, {70, 70}, {100, 20}};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (size_t s = d % TEST_STEP; s < sizeof sizes / sizeof *sizes; s += TEST_STEP)
            for (int threshold = 0; threshold <= 20000; threshold += 20000) {
                const struct head h = {.queries = sizes[s][0],
                                       .keys = sizes[s][1],
                                       .head_dim = dims[d],
                                       .pattern = s % 2 ? SCATTERED : WINDOW,
                                       .threshold = (uint32_t)threshold};
                back_is_the_reference(k, h);
            }
}

Test(attend_back, is_the_reference)
{
    for_each_isa(back_in_all_shapes);
}
