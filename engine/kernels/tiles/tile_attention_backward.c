/* tile_attention_backward.c - attention backward in bf16 tiles.
 *
 * Everything is computed with keys as rows and queries as columns: K and V are left operands
 * without a transpose, the values of a query (lse, D, its dropout key) are vectors across lanes,
 * and rows of P^T and dS^T are already left operands for dV and dK. With P = softmax(S) and P' =
 * dropout(P):
 *     S^T = K Q^T             dP^T = dropout(V dO^T)
 *     dS^T = P^T (dP^T - D)   D_i = sum_j P_ij dP_ij = dO_i . out_i
 *     dV = P'^T dO            dK = scale dS^T Q         dQ = scale dS K
 * 32 keys at a time go through all queries; dQ is added up in scratch, in the order of keys.
 *
 * A tile load stalls on data that is still in the store buffer, and so does a vector load of what a
 * tile has just stored. So the scores of a block are computed one block before its gradients, and
 * its part of dQ one block after; buffers between them exist twice. */
#include "kernels/tiles/tile_attention.h"
#include "kernels/tiles/tiles.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = 32, BLOCK_ELEMENTS = 2 * TILE_ELEMENTS };

/* The state of a call. A "block" is 32 queries (or keys) by TILE_K dims: two tiles. */
struct attention_ctx {
    const struct sl_attention *a;
    const struct sl_attention_backward *b;
    int max_keys;              /* keys that some query sees */
    int steps, blocks;         /* of TILE_K dims, of BLOCK queries */
    uint16_t *q_transposed;    /* [blocks][steps][2 x 16 queries][TILE_PAIRS of dims][16][2] */
    uint16_t *dout_transposed; /* the same of dO */
    uint16_t *q_pairs;         /* [blocks][steps][2 halves of dims][TILE_PAIRS of queries][16][2] */
    uint16_t *dout_pairs;      /* the same of dO */
    uint16_t *k, *v;           /* 32 rows of K and V: [steps][32][TILE_K] */
    uint16_t *k_pairs;         /* [steps][2 halves of dims][TILE_PAIRS of keys][16][2] */
    uint16_t *p, *ds;          /* P'^T and dS^T: [blocks][32 keys][32 queries] */
    uint16_t *ds_rows[2];      /* dS: [32 queries][32 keys] */
    float *scores[2], *dp[2];  /* [32 keys][32 queries] */
    float *dq;                 /* [blocks][steps][2][2][16][16] */
    float *dk, *dv;            /* of 32 keys: [steps][2][2][16][16] */
    float *lse, *mean;         /* per query: lse / ln 2 and D */
    int32_t *visible, *from;   /* per query, 0 past the last */
    int32_t *keys;             /* row keys per query */
    int32_t *block_visible;    /* per block: the max_keys keys that one of its queries sees */
};

static size_t lay_out(struct attention_ctx *r, void *scratch, int queries, int head_dim)
{
    const size_t n = sl_round_up((size_t)queries, 32), d = sl_round_up((size_t)head_dim, TILE_K),
                 half = sizeof(uint16_t);
    size_t used = 0;
    r->q_transposed = sl_take(scratch, &used, n * d * half);
    r->dout_transposed = sl_take(scratch, &used, n * d * half);
    r->q_pairs = sl_take(scratch, &used, n * d * half);
    r->dout_pairs = sl_take(scratch, &used, n * d * half);
    r->k = sl_take(scratch, &used, BLOCK * d * half);
    r->v = sl_take(scratch, &used, BLOCK * d * half);
    r->k_pairs = sl_take(scratch, &used, BLOCK * d * half);
    r->p = sl_take(scratch, &used, BLOCK * n * half);
    r->ds = sl_take(scratch, &used, BLOCK * n * half);
    for (int i = 0; i < 2; i++) {
        r->ds_rows[i] = sl_take(scratch, &used, BLOCK * BLOCK * half);
        r->scores[i] = sl_take(scratch, &used, BLOCK * BLOCK * sizeof(float));
        r->dp[i] = sl_take(scratch, &used, BLOCK * BLOCK * sizeof(float));
    }
    r->dq = sl_take(scratch, &used, n * d * sizeof(float));
    r->dk = sl_take(scratch, &used, BLOCK * d * sizeof(float));
    r->dv = sl_take(scratch, &used, BLOCK * d * sizeof(float));
    r->lse = sl_take(scratch, &used, n * sizeof(float));
    r->mean = sl_take(scratch, &used, n * sizeof(float));
    r->visible = sl_take(scratch, &used, n * sizeof(int32_t));
    r->from = sl_take(scratch, &used, n * sizeof(int32_t));
    r->keys = sl_take(scratch, &used, n * sizeof(int32_t));
    r->block_visible = sl_take(scratch, &used, n / BLOCK * sizeof(int32_t));
    return used;
}

size_t SL_LEVEL(attention_backward_scratch)(int queries, int head_dim)
{
    struct attention_ctx unused;
    return lay_out(&unused, NULL, queries, head_dim);
}

/* ------------------------------------------------------------------------------ preparation */

/* D of a query: dO . out. */
static float query_delta(const struct attention_ctx *r, int query)
{
    const float *dout = r->b->dout + (size_t)query * r->b->dout_stride;
    const uint16_t *out = (const uint16_t *)r->a->out + (size_t)query * r->a->out_stride;
    __m512 total = _mm512_setzero_ps();
    for (int c = 0; c < r->a->head_dim; c += 16) {
        const int rest = r->a->head_dim - c;
        const __m256i bf16 = _mm256_maskz_loadu_epi16(vec_mask(rest), out + c);
        const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16);
        total = _mm512_fmadd_ps(_mm512_castsi512_ps(wide), vec_load(dout + c, rest), total);
    }
    return vec_sum(total);
}

static void describe_queries(struct attention_ctx *r)
{
    const struct sl_attention *a = r->a;
    for (int block = 0; block < r->blocks; block++) {
        r->block_visible[block] = 0;
        sl_tiles_stay_awake();
        for (int i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
            const bool sees = i < a->queries && a->visible[i] > sl_attention_from(a, i);
            r->visible[i] = sees ? a->visible[i] : 0;
            r->from[i] = sees ? sl_attention_from(a, i) : 0;
            r->lse[i] = sees ? a->lse[i] * sl_log2_e : 0.0f;
            r->mean[i] = sees ? query_delta(r, i) : 0.0f;
            r->keys[i] = sees && a->dropout.threshold ? (int32_t)a->row_keys[i] : 0;
            if (r->visible[i] > r->block_visible[block])
                r->block_visible[block] = r->visible[i];
        }
        r->max_keys = r->block_visible[block] > r->max_keys ? r->block_visible[block] : r->max_keys;
    }
}

/* A block of rows as a right operand whose columns are the rows. */
static void pack_transposed(uint16_t *to, const __m512i rows[BLOCK])
{
    for (int half = 0; half < 2; half++) {
        __m512i r[TILE_ROWS];
        for (int i = 0; i < TILE_ROWS; i++)
            r[i] = rows[half * TILE_ROWS + i];
        vec_transpose_words(r);
        for (int i = 0; i < TILE_PAIRS; i++)
            _mm512_storeu_si512(to + (half * TILE_PAIRS + i) * TILE_K, r[i]);
    }
}

/* A block of rows as a right operand whose columns are the dims. */
static void pack_pairs(uint16_t *to, const __m512i rows[BLOCK])
{
    for (int i = 0; i < TILE_PAIRS; i++)
        sl_pair_rows(rows[2 * i], rows[2 * i + 1], to + i * TILE_K,
                     to + TILE_ELEMENTS + i * TILE_K);
}

/* 32 rows of Q, K or V; zeros past the last one and past head_dim. */
static void load_rows(const struct sl_bf16_rows *x, int first, int step, __m512i rows[BLOCK])
{
    for (int i = 0; i < BLOCK; i++)
        rows[i] = sl_tile_row(x, first + i, step * TILE_K);
}

static void load_dout(const struct attention_ctx *r, int first, int step, __m512i rows[BLOCK])
{
    const int rest = r->a->head_dim - step * TILE_K;
    for (int i = 0; i < BLOCK; i++) {
        const float *dout = r->b->dout + (size_t)(first + i) * r->b->dout_stride + step * TILE_K;
        rows[i] = first + i < r->a->queries
                      ? sl_to_bf16_32(vec_load(dout, rest), vec_load(dout + 16, rest - 16))
                      : _mm512_setzero_si512();
    }
}

static void prepare_queries(const struct attention_ctx *r)
{
    const struct sl_attention *a = r->a;
    const struct sl_bf16_rows q = {a->q, a->q_stride, a->queries, a->head_dim};
    __m512i rows[BLOCK];
    for (int block = 0; block < r->blocks; block++)
        for (int step = 0; step < r->steps; step++) {
            const size_t at = (size_t)(block * r->steps + step) * BLOCK_ELEMENTS;
            sl_tiles_stay_awake();
            load_rows(&q, block * BLOCK, step, rows);
            pack_transposed(r->q_transposed + at, rows);
            pack_pairs(r->q_pairs + at, rows);
            load_dout(r, block * BLOCK, step, rows);
            pack_transposed(r->dout_transposed + at, rows);
            pack_pairs(r->dout_pairs + at, rows);
        }
}

static void prepare_keys(const struct attention_ctx *r, int first)
{
    const struct sl_attention *a = r->a;
    const struct sl_bf16_rows k = {a->k, a->kv_stride, r->max_keys, a->head_dim};
    const struct sl_bf16_rows v = {a->v, a->kv_stride, r->max_keys, a->head_dim};
    __m512i rows[BLOCK];
    for (int step = 0; step < r->steps; step++) {
        const size_t at = (size_t)step * BLOCK_ELEMENTS;
        load_rows(&v, first, step, rows);
        memcpy(r->v + at, rows, sizeof rows);
        load_rows(&k, first, step, rows);
        memcpy(r->k + at, rows, sizeof rows);
        pack_pairs(r->k_pairs + at, rows);
    }
}

/* -------------------------------------------------------------------------------- products */

/* Sums += a block of the left operand times a block of the right one. */
static void multiply(const uint16_t *left, const uint16_t *right)
{
    sl_tiles_multiply((struct sl_tile_pair){left, left + TILE_ELEMENTS, TILE_BYTES},
                      (struct sl_tile_pair){right, right + TILE_ELEMENTS, TILE_BYTES});
}

/* Rows are keys (k or v), columns are queries; rows are 32 floats apart. */
static void score(float *out, const struct attention_ctx *r, const uint16_t *keys,
                  const uint16_t *queries)
{
    sl_tiles_zero();
    for (int step = 0; step < r->steps; step++)
        multiply(keys + step * BLOCK_ELEMENTS, queries + step * BLOCK_ELEMENTS);
    sl_tiles_store(out, 16, 16 * BLOCK, 2 * TILE_BYTES);
}

static void add_dq(const struct attention_ctx *r, int block, const uint16_t *ds_rows)
{
    sl_tiles_fence();
    for (int step = 0; step < r->steps; step++) {
        float *dq = r->dq + (size_t)(block * r->steps + step) * BLOCK * BLOCK;
        sl_tiles_reload(dq, 256, 512, TILE_BYTES);
        multiply(ds_rows, r->k_pairs + step * BLOCK_ELEMENTS);
        sl_tiles_store(dq, 256, 512, TILE_BYTES);
    }
}

/* ------------------------------------------------------------------- score gradients --------- */

/* The values of 16 queries that apply to every key. */
struct lanes {
    __m512 lse, mean;
    __m512i visible, from, keys;
};

static struct lanes lanes_of(const struct attention_ctx *r, int first)
{
    return (struct lanes){
        .lse = _mm512_loadu_ps(r->lse + first),
        .mean = _mm512_loadu_ps(r->mean + first),
        .visible = _mm512_loadu_si512(r->visible + first),
        .from = _mm512_loadu_si512(r->from + first),
        .keys = _mm512_loadu_si512(r->keys + first),
    };
}

/* The words of dropout for keys 2i and 2i + 1. */
static __m512i dropout_words(const struct lanes *l, int key)
{
    const uint32_t place = (uint32_t)(key / 2) * 0x9E3779B9u;
    return (__m512i)vec_hash((uvec)l->keys ^ place);
}

/* One key and 16 queries, in place: scores become P', dP becomes dS. */
static inline __attribute__((always_inline)) void softmax_backward16(const struct attention_ctx *r,
                                                                     const struct lanes *l, int key,
                                                                     __mmask16 kept, __m512 *s,
                                                                     __m512 *dp)
{
    const __m512i at = _mm512_set1_epi32(key);
    const __mmask16 seen =
        _mm512_cmpgt_epi32_mask(l->visible, at) & _mm512_cmple_epi32_mask(l->from, at);
    const __m512 unit = _mm512_set1_ps(r->a->scale * sl_log2_e);
    const __m512 p = sl_exp2(_mm512_fmsub_ps(*s, unit, l->lse));
    const __m512 dropped = _mm512_set1_ps(r->a->dropout.threshold ? r->a->dropout.scale : 1.0f);
    const __m512 slope = _mm512_maskz_mul_ps(kept, *dp, dropped);
    *s = _mm512_maskz_mul_ps(seen & kept, p, dropped);
    *dp = _mm512_maskz_mul_ps(seen, p, _mm512_sub_ps(slope, l->mean));
}

/* 32 keys and 32 queries: from S^T and dP^T to P'^T and dS^T. */
struct softmax_block {
    const float *scores, *dp;
    uint16_t *p, *ds;
};

/* Keys 2i and 2i + 1 of a block, 32 queries. */
static void softmax_backward_pair(const struct attention_ctx *r, const struct lanes l[2],
                                  int first_key, int pair, const struct softmax_block *to)
{
    const struct sl_dropout d = r->a->dropout;
    const __m512i low = _mm512_set1_epi32(0xffff), limit = _mm512_set1_epi32((int)d.threshold);
    __m512 s[2][2], dp[2][2]; /* [key][half of the queries] */
    for (int half = 0; half < 2; half++) {
        __mmask16 kept[2] = {0xffff, 0xffff};
        if (d.threshold) {
            const __m512i words = dropout_words(&l[half], first_key + 2 * pair);
            kept[0] = _mm512_cmpge_epu32_mask(_mm512_and_si512(words, low), limit);
            kept[1] = _mm512_cmpge_epu32_mask(_mm512_srli_epi32(words, 16), limit);
        }
        for (int odd = 0; odd < 2; odd++) {
            const int row = 2 * pair + odd;
            s[odd][half] = _mm512_loadu_ps(to->scores + row * BLOCK + half * 16);
            dp[odd][half] = _mm512_loadu_ps(to->dp + row * BLOCK + half * 16);
            softmax_backward16(r, &l[half], first_key + row, kept[odd], &s[odd][half],
                               &dp[odd][half]);
        }
    }
    for (int odd = 0; odd < 2; odd++) {
        const int at = (2 * pair + odd) * BLOCK;
        _mm512_storeu_si512(to->p + at, sl_to_bf16_32(s[odd][0], s[odd][1]));
        _mm512_storeu_si512(to->ds + at, sl_to_bf16_32(dp[odd][0], dp[odd][1]));
    }
}

/* dS from dS^T. */
static void transpose_ds(uint16_t *rows, const uint16_t *ds)
{
    __m512i pairs[2][TILE_PAIRS];
    for (int i = 0; i < TILE_PAIRS; i++)
        sl_pair_rows(_mm512_loadu_si512(ds + 2 * i * BLOCK),
                     _mm512_loadu_si512(ds + (2 * i + 1) * BLOCK), (uint16_t *)&pairs[0][i],
                     (uint16_t *)&pairs[1][i]);
    for (int half = 0; half < 2; half++) {
        vec_transpose_words(pairs[half]);
        memcpy(rows + half * TILE_ELEMENTS, pairs[half], sizeof pairs[half]);
    }
}

static void score_block(const struct attention_ctx *r, int block, int slot)
{
    const size_t at = (size_t)(block * r->steps) * BLOCK_ELEMENTS;
    score(r->scores[slot], r, r->k, r->q_transposed + at);
    score(r->dp[slot], r, r->v, r->dout_transposed + at);
    sl_tiles_fence();
}

static void softmax_backward_block(const struct attention_ctx *r, int first_key, int block,
                                   int slot)
{
    const struct softmax_block to = {.scores = r->scores[slot],
                                     .dp = r->dp[slot],
                                     .p = r->p + (size_t)block * BLOCK_ELEMENTS,
                                     .ds = r->ds + (size_t)block * BLOCK_ELEMENTS};
    const struct lanes l[2] = {lanes_of(r, block * BLOCK), lanes_of(r, block * BLOCK + 16)};
    for (int pair = 0; pair < BLOCK / 2; pair++) {
        softmax_backward_pair(r, l, first_key, pair, &to);
        if (pair % 8 == 7)
            sl_tiles_stay_awake();
    }
    transpose_ds(r->ds_rows[slot], to.ds);
}

/* ---------------------------------------------------------------------------------- results */

/* Writes the first n of 32 floats of a row, times factor. */
static void write_row(float *to, const float *left, const float *right, float factor, int n)
{
    vec_store(to, n, vec_set(factor) * vec_load(left, 16));
    if (n > 16)
        vec_store(to + 16, n - 16, vec_set(factor) * vec_load(right, 16));
}

/* dK or dV of 32 keys: dS^T or P'^T times Q or dO, of the queries that see some of them. */
static void sum_keys(const struct attention_ctx *r, const uint16_t *left, const uint16_t *right,
                     int first_key, float *sums)
{
    for (int step = 0; step < r->steps; step++, right += BLOCK_ELEMENTS, sums += BLOCK * BLOCK) {
        sl_tiles_zero();
        for (int block = 0; block < r->blocks; block++)
            if (r->block_visible[block] > first_key)
                multiply(left + (size_t)block * BLOCK_ELEMENTS,
                         right + (size_t)(block * r->steps) * BLOCK_ELEMENTS);
        sl_tiles_store(sums, 256, 512, TILE_BYTES);
    }
}

static void write_keys(const struct attention_ctx *r, const float *sums, int first_key, float *to,
                       float factor)
{
    for (int step = 0; step < r->steps; step++, sums += BLOCK * BLOCK)
        for (int i = 0; i < BLOCK && first_key + i < r->a->keys; i++) {
            const float *row = sums + i / 16 * 512 + i % 16 * 16;
            write_row(to + (size_t)(first_key + i) * r->b->dkv_stride + step * TILE_K, row,
                      row + 256, factor, r->a->head_dim - step * TILE_K);
        }
}

static void write_queries(const struct attention_ctx *r)
{
    for (int query = 0; query < r->a->queries; query++) {
        float *dq = r->b->dq + (size_t)query * r->b->dq_stride;
        const int block = query / BLOCK, i = query % BLOCK;
        for (int step = 0; step < r->steps; step++) {
            const float *row = r->dq + (size_t)(block * r->steps + step) * BLOCK * BLOCK +
                               i / 16 * 512 + i % 16 * 16;
            write_row(dq + step * TILE_K, row, row + 256, r->a->scale,
                      r->a->head_dim - step * TILE_K);
        }
    }
}

/* The first from `block` on with a query that sees key first_key, or the number of blocks. */
static int next_block(const struct attention_ctx *r, int first_key, int block)
{
    while (block < r->blocks && r->block_visible[block] <= first_key)
        block++;
    return block;
}

static void backward_keys(const struct attention_ctx *r, int first_key)
{
    prepare_keys(r, first_key);
    sl_tiles_fence();
    int block = next_block(r, first_key, 0), before = r->blocks, slot = 0;
    if (block < r->blocks)
        score_block(r, block, slot);
    for (; block < r->blocks; slot = 1 - slot) {
        const int next = next_block(r, first_key, block + 1);
        if (next < r->blocks)
            score_block(r, next, 1 - slot);
        softmax_backward_block(r, first_key, block, slot);
        if (before < r->blocks)
            add_dq(r, before, r->ds_rows[1 - slot]);
        before = block;
        block = next;
    }
    sl_tiles_fence();
    sum_keys(r, r->p, r->dout_pairs, first_key, r->dv);
    sum_keys(r, r->ds, r->q_pairs, first_key, r->dk);
    if (before < r->blocks)
        add_dq(r, before, r->ds_rows[1 - slot]);
    sl_tiles_fence();
    write_keys(r, r->dv, first_key, r->b->dv, 1.0f);
    write_keys(r, r->dk, first_key, r->b->dk, r->a->scale);
}

void SL_LEVEL(attention_backward)(const struct sl_kernels *kernels,
                                  const struct sl_attention_backward *b)
{
    const struct sl_attention *a = &b->forward;
    struct attention_ctx r = {.a = a, .b = b, .steps = sl_ceil_div(a->head_dim, TILE_K)};
    (void)kernels;
    assert(a->scratch);
    assert(!a->cached);
    r.blocks = sl_ceil_div(a->queries, BLOCK);
    (void)lay_out(&r, a->scratch, a->queries, a->head_dim);
    sl_tiles_configure(TILE_ROWS, TILE_ROWS);
    describe_queries(&r);
    prepare_queries(&r);
    memset(r.dq, 0, (size_t)(r.blocks * r.steps) * BLOCK * BLOCK * sizeof *r.dq);
    for (int first = 0; first < a->keys; first += BLOCK)
        backward_keys(&r, first);
    sl_tiles_release();
    write_queries(&r);
}
