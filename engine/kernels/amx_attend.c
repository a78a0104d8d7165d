/* amx_attend.c - attention forward in bf16 tiles.
 * Flags: -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mavx512bf16 -mamx-tile
 * -mamx-bf16.
 *
 * 32 queries at a time meet all the keys that any of them sees: scores (fp32) in tiles, softmax
 * row by row, probabilities (bf16, not yet divided by their sum) times values in tiles. A single
 * query, as in decoding, takes K itself as the left operand and needs no transposed copy. Both
 * ways multiply and add the same numbers in the same order, key after key in steps of 32, and
 * share the softmax: so a query's bits do not depend on the company it is computed in.
 * Probabilities of unseen keys are exact zeros, and copies of unseen rows of K and V are zeros. */
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 32 };

/* Scores lie in groups of 16 keys, each with a row per query. 33 rows, not 32, so that the groups of
 * one query do not fall into the same few sets of the L1 cache. */
enum { SCORE_PITCH = BLOCK + 1 };

/* A call under way. */
struct run {
    const struct sl_attend *a;
    int most;       /* keys that some query sees */
    int steps;      /* of TILE_K dims */
    uint16_t *q;    /* [steps][BLOCK queries][TILE_K] */
    uint16_t *k;    /* [steps][groups of 16 keys][TILE_PAIRS of dims][16 keys][2] */
    uint16_t *v;    /* [groups of 32 keys][steps][2][TILE_PAIRS of keys][16 dims][2] */
    float *scores;  /* [groups of 16 keys][SCORE_PITCH][16] */
    uint16_t *p;    /* [groups of 32 keys][BLOCK][32] */
    float *sums;    /* [steps][2][BLOCK][16]: probabilities times values */
    int key_groups; /* of 32 keys: how many `most` needs */
};

/* How far the rows of a query are apart, in rows, when `rows` queries are computed at once. */
struct pitch {
    int scores, p;
};

/* What softmax found: the maximum of the scores in units of ln 2, and the sum of 2^(s - max). */
struct sum {
    float max, total;
};

static size_t up32(int n)
{
    return ((size_t)n + 31) / 32 * 32;
}

size_t sl_amx_attend_scratch(int queries, int keys, int head_dim)
{
    (void)queries;
    const size_t t = up32(keys), d = (size_t)head_dim;
    const size_t elements = BLOCK * d + 2 * t * d + BLOCK * t;
    const size_t floats = t * SCORE_PITCH + BLOCK * d;
    return elements * sizeof(uint16_t) + floats * sizeof(float);
}

static struct run run_of(const struct sl_attend *a)
{
    struct run r = {.a = a, .steps = a->head_dim / TILE_K};
    for (int i = 0; i < a->queries; i++) {
        assert(a->visible[i] >= 0);
        assert(a->visible[i] <= a->keys);
        r.most = a->visible[i] > r.most ? a->visible[i] : r.most;
    }
    const size_t t = up32(a->keys), d = (size_t)a->head_dim;
    r.key_groups = (int)(up32(r.most) / 32);
    r.scores = a->scratch;
    r.sums = r.scores + t * SCORE_PITCH;
    r.q = (uint16_t *)(r.sums + BLOCK * d);
    r.k = r.q + BLOCK * d;
    r.v = r.k + t * d;
    r.p = r.v + t * d;
    return r;
}

/* TILE_K dims of row `row` of K or V, or zeros past the last row that anyone sees. */
static __m512i kv_row(const struct run *r, const void *rows, int row, int step)
{
    if (row >= r->most)
        return _mm512_setzero_si512();
    const size_t at = (size_t)row * r->a->kv_stride + (size_t)step * TILE_K;
    return _mm512_loadu_si512((const uint16_t *)rows + at);
}

static uint16_t *v_tile(const struct run *r, int group, int step)
{
    return r->v + (size_t)(group * r->steps + step) * 2 * TILE_ELEMENTS;
}

static void pack_values(const struct run *r)
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

static uint16_t *k_tile(const struct run *r, int step, int group16)
{
    return r->k + (size_t)(step * 2 * r->key_groups + group16) * TILE_ELEMENTS;
}

static void pack_keys(const struct run *r)
{
    for (int step = 0; step < r->steps; step++)
        for (int group = 0; group < 2 * r->key_groups; group++) {
            __m512i rows[TILE_ROWS];
            for (int j = 0; j < TILE_ROWS; j++)
                rows[j] = kv_row(r, r->a->k, group * TILE_ROWS + j, step);
            sl_transpose16(rows);
            uint16_t *tile = k_tile(r, step, group);
            for (int i = 0; i < TILE_PAIRS; i++)
                _mm512_storeu_si512(tile + i * TILE_K, rows[i]);
        }
}

/* -------------------------------------------------------------------------------- softmax */

static float *score_row(const struct run *r, struct pitch pitch, int row, int group16)
{
    return r->scores + (size_t)(group16 * pitch.scores + row) * 16;
}

static float row_max(const struct run *r, struct pitch pitch, int row, int n, __m512 unit)
{
    const __m512 least = _mm512_set1_ps(-INFINITY);
    __m512 most = least;
    for (int j = 0; j < n; j += 16) {
        const __m512 s = _mm512_mul_ps(_mm512_loadu_ps(score_row(r, pitch, row, j / 16)), unit);
        most = _mm512_mask_max_ps(most, sl_first16(n - j), most, s);
    }
    return sl_max16(most);
}

/* The row's probabilities, not yet divided by their total, as bf16, dropped out; zeros from n up
 * to `groups` groups of 32. The total is added up lane by lane, key j into lane j % 32. */
static struct sum soften(const struct run *r, struct pitch pitch, int row, int query, int groups)
{
    const struct sl_attend *a = r->a;
    const int n = a->visible[query];
    const __m512 unit = _mm512_set1_ps(a->scale * sl_log2_e);
    const float max = row_max(r, pitch, row, n, unit);
    const __m512 maxes = _mm512_set1_ps(max);
    __m512 low_total = _mm512_setzero_ps(), high_total = low_total;
    uint16_t *p = r->p + (size_t)row * 32;
    int j = 0;
    for (; j < n; j += 32, p += pitch.p * 32) {
        const __m512 s0 = _mm512_loadu_ps(score_row(r, pitch, row, j / 16));
        const __m512 s1 = _mm512_loadu_ps(score_row(r, pitch, row, j / 16 + 1));
        const __m512 e0 = sl_exp2_16(_mm512_fmsub_ps(s0, unit, maxes));
        const __m512 e1 = sl_exp2_16(_mm512_fmsub_ps(s1, unit, maxes));
        const __mmask32 seen = sl_first32(n - j);
        low_total = _mm512_mask_add_ps(low_total, (__mmask16)seen, low_total, e0);
        high_total = _mm512_mask_add_ps(high_total, (__mmask16)(seen >> 16), high_total, e1);
        const __mmask32 kept =
            a->dropout.threshold
                ? seen & sl_kept32(a->dropout.threshold, a->row_keys[query], (uint32_t)j)
                : seen;
        _mm512_storeu_si512(p, _mm512_maskz_mov_epi16(kept, sl_narrow32(e0, e1)));
    }
    for (; j < groups * 32; j += 32, p += pitch.p * 32)
        _mm512_storeu_si512(p, _mm512_setzero_si512());
    return (struct sum){.max = max, .total = sl_sum16(_mm512_add_ps(low_total, high_total))};
}

/* lse of up to 16 queries at a time. */
static void write_lse(const struct run *r, const struct sum *sums, int first, int count)
{
    for (int i = 0; i < count; i += 16) {
        float max[16], total[16];
        for (int j = 0; j < 16; j++) {
            max[j] = i + j < count ? sums[i + j].max : 0.0f;
            total[j] = i + j < count ? sums[i + j].total : 1.0f;
        }
        /* A query that sees nothing has max -inf and total 0. */
        const __m512 totals = _mm512_max_ps(_mm512_loadu_ps(total), _mm512_set1_ps(1e-30f));
        const __m512 lse =
            _mm512_fmadd_ps(_mm512_loadu_ps(max), _mm512_set1_ps(sl_ln2), sl_log16(totals));
        _mm512_mask_storeu_ps(r->a->lse + first + i, sl_first16(count - i), lse);
    }
}

/* out = sums / total, as bf16. `rows` queries lie in a tile of sums. */
static void write_out(const struct run *r, int row, int rows, int query, float total)
{
    const struct sl_attend *a = r->a;
    const float dropped = a->dropout.threshold ? a->dropout.scale : 1.0f;
    const __m512 factor = _mm512_set1_ps(total > 0.0f ? dropped / total : 0.0f);
    const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0); /* undoes sl_pair_rows */
    for (int step = 0; step < r->steps; step++) {
        const float *left = r->sums + (size_t)(step * 2 * rows + row) * 16;
        const float *right = left + (size_t)rows * 16;
        const __m512i narrow = sl_narrow32(_mm512_mul_ps(_mm512_loadu_ps(left), factor),
                                           _mm512_mul_ps(_mm512_loadu_ps(right), factor));
        _mm512_storeu_si512((uint16_t *)a->out + (size_t)query * a->out_stride + step * TILE_K,
                            _mm512_permutexvar_epi64(order, narrow));
    }
}

/* --------------------------------------------------------------------------- many queries */

/* Tiles 0 .. 3 sums, 4 and 5 left operands, 6 and 7 right operands, all full. */
static const struct sl_tile_config many_config = {
    .palette = 1,
    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

static void copy_queries(const struct run *r, int first, int count)
{
    for (int step = 0; step < r->steps; step++)
        for (int i = 0; i < BLOCK; i++) {
            const uint16_t *q = (const uint16_t *)r->a->q + step * TILE_K;
            const __m512i row = i < count
                                    ? _mm512_loadu_si512(q + (size_t)(first + i) * r->a->q_stride)
                                    : _mm512_setzero_si512();
            _mm512_storeu_si512(r->q + (step * BLOCK + i) * TILE_K, row);
        }
}

/* Scores of 32 queries with 32 keys. */
static void score_many(const struct run *r, int group)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int step = 0; step < r->steps; step++) {
        const uint16_t *q = r->q + step * BLOCK * TILE_K, *k = k_tile(r, step, 2 * group);
        _tile_loadd(4, q, TILE_BYTES);
        _tile_loadd(6, k, TILE_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, k + TILE_ELEMENTS, TILE_BYTES);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, q + TILE_ELEMENTS, TILE_BYTES);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    float *left = r->scores + (size_t)(2 * group) * SCORE_PITCH * 16;
    float *right = left + SCORE_PITCH * 16;
    _tile_stored(0, left, TILE_BYTES);
    _tile_stored(1, right, TILE_BYTES);
    _tile_stored(2, left + 16 * 16, TILE_BYTES);
    _tile_stored(3, right + 16 * 16, TILE_BYTES);
}

/* TILE_K dims of probabilities times values, for 32 queries and `groups` x 32 keys. */
static void blend_many(const struct run *r, int step, int groups)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int group = 0; group < groups; group++) {
        const uint16_t *p = r->p + (size_t)group * BLOCK * 32, *v = v_tile(r, group, step);
        _tile_loadd(4, p, TILE_BYTES);
        _tile_loadd(6, v, TILE_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, v + TILE_ELEMENTS, TILE_BYTES);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, p + TILE_ELEMENTS, TILE_BYTES);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    float *left = r->sums + (size_t)(step * 2 * BLOCK) * 16, *right = left + BLOCK * 16;
    _tile_stored(0, left, TILE_BYTES);
    _tile_stored(1, right, TILE_BYTES);
    _tile_stored(2, left + 16 * 16, TILE_BYTES);
    _tile_stored(3, right + 16 * 16, TILE_BYTES);
}

static void attend_block(const struct run *r, int first, int count)
{
    const struct pitch pitch = {.scores = SCORE_PITCH, .p = BLOCK};
    int most = 0;
    for (int i = 0; i < count; i++)
        most = r->a->visible[first + i] > most ? r->a->visible[first + i] : most;
    const int groups = (int)(up32(most) / 32);

    copy_queries(r, first, count);
    sl_tiles_fence();
    for (int group = 0; group < groups; group++)
        score_many(r, group);
    sl_tiles_fence();
    struct sum sums[BLOCK];
    for (int i = 0; i < count; i++)
        sums[i] = soften(r, pitch, i, first + i, groups);
    sl_tiles_fence();
    for (int step = 0; step < r->steps; step++)
        blend_many(r, step, groups);
    sl_tiles_fence();
    for (int i = 0; i < count; i++)
        write_out(r, i, BLOCK, first + i, sums[i].total);
    if (r->a->lse)
        write_lse(r, sums, first, count);
}

/* ------------------------------------------------------------------------------ one query */

/* 0: scores of 16 keys; 1: 16 rows of K; 2: the query as 16 pairs; 3, 4: sums; 5: probabilities;
 * 6, 7: V. */
static const struct sl_tile_config one_config = {
    .palette = 1,
    .row_bytes = {4, 64, 4, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 1, 1, 1, 16, 16},
};

/* 16 rows of K from row `first`; the last few are copied, followed by zeros. */
static const uint16_t *key_rows(const struct run *r, int first, uint16_t *copy, size_t *stride)
{
    if (first + TILE_ROWS <= r->most) {
        *stride = r->a->kv_stride;
        return (const uint16_t *)r->a->k + (size_t)first * r->a->kv_stride;
    }
    *stride = (size_t)r->a->head_dim;
    for (int j = 0; j < TILE_ROWS; j++)
        for (int step = 0; step < r->steps; step++)
            _mm512_storeu_si512(copy + (size_t)j * *stride + step * TILE_K,
                                kv_row(r, r->a->k, first + j, step));
    return copy;
}

static void score_one(const struct run *r, int group16)
{
    const uint16_t *q = r->a->q;
    size_t stride;
    const uint16_t *k = key_rows(r, group16 * TILE_ROWS, r->k, &stride);
    sl_tiles_fence();
    _tile_zero(0);
    for (int step = 0; step < r->steps; step++) {
        _tile_loadd(1, k + step * TILE_K, stride * sizeof *k);
        _tile_loadd(2, q + step * TILE_K, 4);
        _tile_dpbf16ps(0, 1, 2);
    }
    _tile_stored(0, r->scores + group16 * 16, 4);
}

static void blend_one(const struct run *r, int step)
{
    _tile_zero(3);
    _tile_zero(4);
    for (int group = 0; group < r->key_groups; group++) {
        const uint16_t *v = v_tile(r, group, step);
        _tile_loadd(5, r->p + group * 32, TILE_BYTES);
        _tile_loadd(6, v, TILE_BYTES);
        _tile_dpbf16ps(3, 5, 6);
        _tile_loadd(7, v + TILE_ELEMENTS, TILE_BYTES);
        _tile_dpbf16ps(4, 5, 7);
    }
    _tile_stored(3, r->sums + step * 32, TILE_BYTES);
    _tile_stored(4, r->sums + step * 32 + 16, TILE_BYTES);
}

static void attend_one(const struct run *r)
{
    const struct pitch pitch = {.scores = 1, .p = 1};
    for (int group = 0; group < 2 * r->key_groups; group++)
        score_one(r, group);
    sl_tiles_fence();
    const struct sum sum = soften(r, pitch, 0, 0, r->key_groups);
    sl_tiles_fence();
    for (int step = 0; step < r->steps; step++)
        blend_one(r, step);
    sl_tiles_fence();
    write_out(r, 0, 1, 0, sum.total);
    if (r->a->lse)
        write_lse(r, &sum, 0, 1);
}

void sl_amx_attend(const struct sl_attend *a)
{
    assert(a->head_dim % TILE_K == 0);
    const struct run r = run_of(a);
    pack_values(&r);
    if (a->queries == 1) {
        sl_tiles_configure(&one_config);
        attend_one(&r);
    } else {
        pack_keys(&r);
        sl_tiles_configure(&many_config);
        for (int first = 0; first < a->queries; first += BLOCK)
            attend_block(&r, first, a->queries - first < BLOCK ? a->queries - first : BLOCK);
    }
    _tile_release();
}
