/* amx_attention.c - attention forward in bf16 tiles.
 *
 * A block is 32 queries and all the keys that any of them sees: scores (fp32) in tiles, softmax row
 * by row, then probabilities (bf16, not yet divided by their sum) times values in tiles. A single
 * query, as in decoding, is computed by amx_attention_decode.c. Both add the same products in the
 * same order, key after key in steps of 32, and share the softmax, so the bits of a query do not
 * depend on its block. Probabilities of unseen keys are exact zeros, and copies of unseen rows of K
 * and V are zeros.
 *
 * A tile load stalls on data that is still in the store buffer, and so does a vector load of what a
 * tile has just stored. So blocks pass through a pipeline of four stages: scores, softmax, products
 * with V, results. Buffers between two stages exist twice. */
#include "kernels/amx.h"
#include "kernels/amx_softmax.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = 32, STAGES = 4 };

/* Scores lie in groups of 16 keys, each with a row per query. 33 rows, not 32, so that the
 * groups of one query do not fall into the same few sets of the L1 cache. */
enum { SCORE_PITCH = BLOCK + 1 };

/* The state of a call. */
struct attention_ctx {
    const struct sl_attention *a;
    int max_keys;     /* keys that some query sees */
    int steps;        /* of TILE_K dims */
    int key_groups;   /* of 32 keys: how many `max_keys` needs */
    uint16_t *q;      /* the last few queries and zeros: [BLOCK][head_dim] */
    uint16_t *k;      /* [steps][groups of 16 keys][TILE_PAIRS of dims][16 keys][2] */
    uint16_t *v;      /* [groups of 32 keys][steps][2][TILE_PAIRS of keys][16 dims][2] */
    float *scores[2]; /* [groups of 16 keys][SCORE_PITCH][16] */
    uint16_t *p[2];   /* [groups of 32 keys][BLOCK][32] */
    float *sums[2];   /* [steps][2][BLOCK][16]: probabilities times values */
};

/* A block of up to 32 queries in the pipeline. */
struct block {
    int first, count, groups; /* groups of 32 keys: the maximum over its queries */
    float max[BLOCK];         /* of a query's scores, in units of ln 2 */
    float total[BLOCK];       /* of its 2^(score - max) */
};

size_t sl_amx_attention_scratch(int queries, int keys, int head_dim)
{
    (void)queries;
    const size_t t = sl_round_up((size_t)keys, 32), d = (size_t)head_dim;
    const size_t elements = BLOCK * d + 2 * t * d + 2 * BLOCK * t;
    const size_t floats = 2 * (t * SCORE_PITCH + BLOCK * d);
    return elements * sizeof(uint16_t) + floats * sizeof(float);
}

static struct attention_ctx ctx_of(const struct sl_attention *a)
{
    struct attention_ctx r = {.a = a, .steps = a->head_dim / TILE_K};
    for (int i = 0; i < a->queries; i++) {
        assert(a->visible[i] >= 0);
        assert(a->visible[i] <= a->keys);
        r.max_keys = a->visible[i] > r.max_keys ? a->visible[i] : r.max_keys;
    }
    const size_t t = sl_round_up((size_t)a->keys, 32), d = (size_t)a->head_dim;
    r.key_groups = sl_ceil_div(r.max_keys, 32);
    r.scores[0] = a->scratch;
    r.scores[1] = r.scores[0] + t * SCORE_PITCH;
    r.sums[0] = r.scores[1] + t * SCORE_PITCH;
    r.sums[1] = r.sums[0] + BLOCK * d;
    r.q = (uint16_t *)(r.sums[1] + BLOCK * d);
    r.k = r.q + BLOCK * d;
    r.v = r.k + t * d;
    r.p[0] = r.v + t * d;
    r.p[1] = r.p[0] + BLOCK * t;
    return r;
}

/* TILE_K dims of row `row` of K or V, or zeros past the last visible row. */
static __m512i kv_row(const struct attention_ctx *r, const void *rows, int row, int step)
{
    if (row >= r->max_keys)
        return _mm512_setzero_si512();
    const size_t at = (size_t)row * r->a->kv_stride + (size_t)step * TILE_K;
    return _mm512_loadu_si512((const uint16_t *)rows + at);
}

static uint16_t *v_tile(const struct attention_ctx *r, int group, int step)
{
    return r->v + (size_t)(group * r->steps + step) * 2 * TILE_ELEMENTS;
}

static void pack_values(const struct attention_ctx *r)
{
    for (int group = 0; group < r->key_groups; group++)
        for (int step = 0; step < r->steps; step++) {
            uint16_t *left = v_tile(r, group, step), *right = left + TILE_ELEMENTS;
            for (int i = 0; i < TILE_PAIRS; i++) {
                const int row = group * 32 + 2 * i;
                sl_pair_rows(kv_row(r, r->a->v, row, step), kv_row(r, r->a->v, row + 1, step),
                             left + i * TILE_K, right + i * TILE_K);
            }
        }
}

static uint16_t *k_tile(const struct attention_ctx *r, int step, int group16)
{
    return r->k + (size_t)(step * 2 * r->key_groups + group16) * TILE_ELEMENTS;
}

static void pack_keys(const struct attention_ctx *r)
{
    for (int step = 0; step < r->steps; step++)
        for (int group = 0; group < 2 * r->key_groups; group++) {
            __m512i rows[TILE_ROWS];
            for (int j = 0; j < TILE_ROWS; j++)
                rows[j] = kv_row(r, r->a->k, group * TILE_ROWS + j, step);
            vec_transpose_words(rows);
            uint16_t *tile = k_tile(r, step, group);
            for (int i = 0; i < TILE_PAIRS; i++)
                _mm512_storeu_si512(tile + i * TILE_K, rows[i]);
        }
}

/* ---------------------------------------------------------------------------------- results */

static void write_lse(const struct attention_ctx *r, const struct block *b)
{
    for (int i = 0; i < b->count; i += 16) {
        const __m512 lse = sl_lse16(_mm512_loadu_ps(b->max + i), _mm512_loadu_ps(b->total + i));
        _mm512_mask_storeu_ps(r->a->lse + b->first + i, vec_mask(b->count - i), lse);
    }
}

/* out = sums / total, as bf16. */
static void write_out(const struct attention_ctx *r, const struct block *b, int row,
                      const float *sums)
{
    const struct sl_attention *a = r->a;
    const __m512 factor = sl_total_factor(a, b->total[row]);
    const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0); /* undoes sl_pair_rows */
    uint16_t *out = (uint16_t *)a->out + (size_t)(b->first + row) * a->out_stride;
    for (int step = 0; step < r->steps; step++) {
        const float *left = sums + (size_t)(step * 2 * BLOCK + row) * 16,
                    *right = left + BLOCK * 16;
        const __m512i bf16 = sl_to_bf16_32(_mm512_mul_ps(_mm512_loadu_ps(left), factor),
                                           _mm512_mul_ps(_mm512_loadu_ps(right), factor));
        _mm512_storeu_si512(out + step * TILE_K, _mm512_permutexvar_epi64(order, bf16));
    }
}

/* ---------------------------------------------------------------------------------- stages */

/* Tiles 0 .. 3 sums, 4 and 5 left operands, 6 and 7 right operands, all full. */
static const struct sl_tile_config config = {
    .palette = 1,
    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

static struct block block_at(const struct attention_ctx *r, int first)
{
    const int rest = r->a->queries - first;
    struct block b = {.first = first, .count = sl_min(rest, BLOCK)};
    int max_keys = 0;
    for (int i = first; i < first + b.count; i++)
        max_keys = r->a->visible[i] > max_keys ? r->a->visible[i] : max_keys;
    b.groups = sl_ceil_div(max_keys, 32);
    return b;
}

/* Where 32 rows of q are; the last few are copied, followed by zeros. */
static const uint16_t *query_rows(const struct attention_ctx *r, const struct block *b,
                                  size_t *stride)
{
    const uint16_t *q = (const uint16_t *)r->a->q + (size_t)b->first * r->a->q_stride;
    *stride = r->a->q_stride;
    if (b->count == BLOCK)
        return q;
    *stride = (size_t)r->a->head_dim;
    for (int i = 0; i < BLOCK; i++)
        for (int c = 0; c < r->a->head_dim; c += TILE_K) {
            const __m512i dims = i < b->count
                                     ? _mm512_loadu_si512(q + (size_t)i * r->a->q_stride + c)
                                     : _mm512_setzero_si512();
            _mm512_storeu_si512(r->q + (size_t)i * *stride + c, dims);
        }
    return r->q;
}

/* Scores of 32 queries with 32 keys. */
static void score_group(const struct attention_ctx *r, const uint16_t *q, size_t stride, int group,
                        float *left)
{
    const size_t bytes = stride * sizeof *q;
    float *right = left + (size_t)SCORE_PITCH * 16;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int step = 0; step < r->steps; step++, q += TILE_K) {
        const uint16_t *k = k_tile(r, step, 2 * group);
        _tile_loadd(4, q, bytes);
        _tile_loadd(6, k, TILE_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, k + TILE_ELEMENTS, TILE_BYTES);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, q + TILE_ROWS * stride, bytes);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, left, TILE_BYTES);
    _tile_stored(1, right, TILE_BYTES);
    _tile_stored(2, left + 16 * 16, TILE_BYTES);
    _tile_stored(3, right + 16 * 16, TILE_BYTES);
}

static void score_block(const struct attention_ctx *r, const struct block *b, float *scores)
{
    size_t stride;
    const uint16_t *q = query_rows(r, b, &stride);
    sl_tiles_fence();
    for (int group = 0; group < b->groups; group++)
        score_group(r, q, stride, group, scores + (size_t)(2 * group) * SCORE_PITCH * 16);
    sl_tiles_fence();
}

static struct sl_score_row row_of(const float *scores, uint16_t *p, int i)
{
    return (struct sl_score_row){.scores = scores + i * 16,
                                 .p = p + i * 32,
                                 .score_pitch = SCORE_PITCH * 16,
                                 .p_pitch = BLOCK * 32};
}

/* 16 queries at a time: their maxima, their probabilities, their totals. */
static void softmax_some(const struct attention_ctx *r, struct block *b, int first,
                         const float *scores, uint16_t *p)
{
    const struct sl_attention *a = r->a;
    const __m512 unit = _mm512_set1_ps(a->scale * sl_log2_e);
    __m512 lanes[16];
    for (int i = 0; i < 16; i++) {
        const struct sl_score_row row = row_of(scores, p, first + i);
        lanes[i] = sl_maxima(&row, first + i < b->count ? a->visible[b->first + first + i] : 0);
    }
    sl_tiles_stay_awake();
    _mm512_storeu_ps(b->max + first, _mm512_mul_ps(vec_fold_by(lanes, true), unit));
    for (int i = 0; i < 16; i++) {
        const struct sl_score_row row = row_of(scores, p, first + i);
        lanes[i] = _mm512_setzero_ps();
        if (first + i < b->count)
            lanes[i] = sl_softmax_tile(a, &row, b->first + first + i, b->groups, b->max[first + i]);
        if (i % 8 == 7)
            sl_tiles_stay_awake();
    }
    _mm512_storeu_ps(b->total + first, vec_fold_by(lanes, false));
}

/* Probabilities times values. Rows of p past the last query hold old data; the rows of
 * sums computed from them are never read. */
static void pv_matmul_block(const struct attention_ctx *r, const struct block *b, const uint16_t *p,
                            float *sums)
{
    sl_tiles_fence();
    for (int step = 0; step < r->steps; step++, sums += 2 * BLOCK * 16) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (int group = 0; group < b->groups; group++) {
            const uint16_t *left = p + (size_t)group * BLOCK * 32, *v = v_tile(r, group, step);
            _tile_loadd(4, left, TILE_BYTES);
            _tile_loadd(6, v, TILE_BYTES);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, v + TILE_ELEMENTS, TILE_BYTES);
            _tile_dpbf16ps(1, 4, 7);
            _tile_loadd(5, left + TILE_ELEMENTS, TILE_BYTES);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(0, sums, TILE_BYTES);
        _tile_stored(1, sums + BLOCK * 16, TILE_BYTES);
        _tile_stored(2, sums + 16 * 16, TILE_BYTES);
        _tile_stored(3, sums + BLOCK * 16 + 16 * 16, TILE_BYTES);
    }
    sl_tiles_fence();
}

static void write_block(const struct attention_ctx *r, const struct block *b, const float *sums)
{
    for (int i = 0; i < b->count; i++)
        write_out(r, b, i, sums);
    if (r->a->lse)
        write_lse(r, b);
}

static void attention_blocks(const struct attention_ctx *r)
{
    struct block blocks[STAGES];
    pack_keys(r);
    const int count = sl_ceil_div(r->a->queries, BLOCK);
    for (int i = 0; i < count + STAGES - 1; i++) {
        struct block *overwrite = &blocks[i % STAGES], *scored = &blocks[(i + 3) % STAGES];
        struct block *softened = &blocks[(i + 2) % STAGES], *multiplied = &blocks[(i + 1) % STAGES];
        if (i < count) {
            *overwrite = block_at(r, i * BLOCK);
            score_block(r, overwrite, r->scores[i % 2]);
        }
        for (int half = 0; i >= 1 && i - 1 < count && half < scored->count; half += 16)
            softmax_some(r, scored, half, r->scores[(i + 1) % 2], r->p[(i + 1) % 2]);
        if (i >= 2 && i - 2 < count)
            pv_matmul_block(r, softened, r->p[i % 2], r->sums[i % 2]);
        if (i >= 3)
            write_block(r, multiplied, r->sums[(i + 1) % 2]);
    }
}

void sl_amx_attention(const struct sl_attention *a)
{
    assert(a->head_dim % TILE_K == 0);
    assert(a->scale > 0.0f); /* so that the largest score stays the largest */
    if (a->queries == 1) {
        sl_amx_attention_decode(a);
        return;
    }
    const struct attention_ctx r = ctx_of(a);
    sl_tiles_configure(&config);
    sl_tiles_stay_awake();
    pack_values(&r);
    sl_tiles_stay_awake();
    attention_blocks(&r);
    _tile_release();
}
