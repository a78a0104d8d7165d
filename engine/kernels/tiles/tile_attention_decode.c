/* tile_attention_decode.c - attention of a single query over a KV cache, several heads at once.
 *
 * Keys and values are read where they are. With AMX, rows of keys are a left operand, so a query is
 * a right one of a single column, and probabilities are a left operand of a single row. Without it,
 * groups of 16 keys and pairs of values are vectors, and sums stay in registers. Each stage runs
 * through all heads before the next, so that no stage waits for what the one before has just
 * stored. */
#include "kernels/tiles/tile_attention.h"
#include "kernels/tiles/tile_softmax.h"
#include "kernels/tiles/tiles.h"

#include <assert.h>

enum { HEADS = 16 }; /* at once */

/* Some heads. */
struct heads {
    const struct sl_attention *a;
    int groups;    /* of 32 keys */
    float *scores; /* [HEADS][groups][32] */
    uint16_t *p;   /* the same */
    float *sums;   /* [HEADS][head_dim] */
    float total[HEADS];
};

#ifdef __AMX_TILE__
/* Tiles 0 and 1 scores of 16 keys, 4 and 5 keys, 6 the query. */
static const struct sl_tile_config score_tiles = {
    .palette = 1,
    .row_bytes = {4, 4, 4, 4, 64, 64, 4, 4},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

/* Tiles 0 .. 3 sums of 16 dims, 4 and 5 probabilities, 6 and 7 values. */
static const struct sl_tile_config value_tiles = {
    .palette = 1,
    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {1, 1, 1, 1, 1, 1, 16, 16},
};

static void configure_scores(void)
{
    sl_tiles_load(&score_tiles);
}

static void configure_values(void)
{
    sl_tiles_load(&value_tiles);
}

/* Scores past the last key are of whatever is there, and never read. */
static void score(const struct heads *h, const struct sl_attention *a, float *scores)
{
    const size_t half = TILE_ROWS * a->kv_stride, bytes = a->kv_stride * sizeof(uint16_t);
    const uint16_t *k = a->k;
    for (int group = 0; group < h->groups; group++, k += 2 * half, scores += 32) {
        _tile_zero(0);
        _tile_zero(1);
        for (int dim = 0; dim < a->head_dim; dim += TILE_K) {
            _tile_loadd(6, (const uint16_t *)a->q + dim, 4);
            _tile_loadd(4, k + dim, bytes);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(5, k + half + dim, bytes);
            _tile_dpbf16ps(1, 5, 6);
        }
        _tile_stored(0, scores, 4);
        _tile_stored(1, scores + 16, 4);
    }
}

static void sum_values(const struct heads *h, const struct sl_attention *a, const uint16_t *p,
                       float *sums)
{
    const size_t pair = 2 * a->kv_stride;
    for (int dim = 0; dim < a->head_dim; dim += TILE_K) {
        const uint16_t *v = (const uint16_t *)a->v + 2 * dim;
        _tile_zero(0);
        _tile_zero(1);
        for (int group = 0; group < h->groups; group++, v += TILE_PAIRS * pair) {
            _tile_loadd(4, p + group * 32, TILE_BYTES);
            _tile_loadd(6, v, pair * sizeof *v);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, v + TILE_K, pair * sizeof *v);
            _tile_dpbf16ps(1, 4, 7);
        }
        _tile_stored(0, sums + dim, TILE_BYTES);
        _tile_stored(1, sums + dim + 16, TILE_BYTES);
    }
}

#else
static void configure_scores(void)
{
}

static void configure_values(void)
{
}

static __m512 add_products(__m512 sums, const uint16_t *two, const uint16_t *pairs)
{
    int both;
    memcpy(&both, two, sizeof both);
    return _mm512_dpbf16_ps(sums, (__m512bh)_mm512_set1_epi32(both),
                            (__m512bh)_mm512_loadu_si512(pairs));
}

/* Scores past the last key are of whatever is there, and never read. */
static void score(const struct heads *h, const struct sl_attention *a, float *scores)
{
    const size_t group = TILE_ROWS * (size_t)a->head_dim;
    const uint16_t *q = a->q, *k = a->k;
    for (int i = 0; i < h->groups; i++, k += 2 * group, scores += 32) {
        __m512 low = _mm512_setzero_ps(), high = low;
        for (int dim = 0; dim < a->head_dim; dim += 2) {
            low = add_products(low, q + dim, k + dim * TILE_ROWS);
            high = add_products(high, q + dim, k + group + dim * TILE_ROWS);
        }
        _mm512_storeu_ps(scores, low);
        _mm512_storeu_ps(scores + 16, high);
    }
}

static void sum_values(const struct heads *h, const struct sl_attention *a, const uint16_t *p,
                       float *sums)
{
    const size_t pair = 2 * a->kv_stride;
    for (int dim = 0; dim < a->head_dim; dim += TILE_K) {
        const uint16_t *v = (const uint16_t *)a->v + 2 * dim;
        __m512 low = _mm512_setzero_ps(), high = low;
        for (int key = 0; key < 32 * h->groups; key += 2, v += pair) {
            low = add_products(low, p + key, v);
            high = add_products(high, p + key, v + TILE_K);
        }
        _mm512_storeu_ps(sums + dim, low);
        _mm512_storeu_ps(sums + dim + 16, high);
    }
}
#endif

static size_t lay_out(struct heads *h, void *scratch, int groups, int head_dim)
{
    const size_t keys = (size_t)groups * 32;
    size_t used = 0;
    h->scores = sl_take(scratch, &used, HEADS * keys * sizeof *h->scores);
    h->p = sl_take(scratch, &used, HEADS * keys * sizeof *h->p);
    h->sums = sl_take(scratch, &used, HEADS * (size_t)head_dim * sizeof *h->sums);
    return used;
}

size_t SL_LEVEL(attention_decode_scratch)(int keys, int head_dim)
{
    struct heads unused;
    return lay_out(&unused, NULL, sl_ceil_div(keys, 32), head_dim);
}

static void softmax(struct heads *h, int head)
{
    const struct sl_attention *a = h->a;
    const size_t at = (size_t)head * (size_t)h->groups * 32;
    const struct sl_score_row row = {
        .scores = h->scores + at, .p = h->p + at, .score_pitch = 16, .p_pitch = 32};
    const struct sl_key_groups groups = {.count = h->groups};
    float shift = a->lse ? sl_max_shift(a, &row, 0, 0) : 0.0f;
    h->total[head] = vec_sum(sl_softmax_tile(a, &row, 0, groups, shift));
    if (!a->lse && sl_out_of_range(_mm512_set1_ps(h->total[head])))
        h->total[head] = vec_sum(sl_softmax_tile(a, &row, 0, groups, sl_max_shift(a, &row, 0, 0)));
    sl_tiles_stay_awake();
    if (a->lse)
        _mm512_mask_storeu_ps(a->lse, 1,
                              sl_lse16(_mm512_set1_ps(shift), _mm512_set1_ps(h->total[head])));
}

/* Keys and values come from memory, and loads do not overlap enough to hide it. */
static void fetch(const struct heads *h, const void *rows)
{
    const size_t bytes = (size_t)h->groups * 32 * h->a->kv_stride * sizeof(uint16_t);
    for (size_t at = 0; at < bytes; at += TILE_BYTES)
        _mm_prefetch((const char *)rows + at, _MM_HINT_T0);
}

static void attend_heads(const struct sl_kernels *kernels, struct heads *h, int first, int count)
{
    const size_t keys = (size_t)h->groups * 32, width = (size_t)h->a->head_dim;
    struct sl_attention each[HEADS];
    for (int i = 0; i < count; i++)
        each[i] = sl_attention_head(kernels, h->a, first + i);
    configure_scores();
    for (int i = 0; i < count; i++) {
        if (i + 1 < count)
            fetch(h, each[i + 1].k);
        score(h, &each[i], h->scores + (size_t)i * keys);
    }
    sl_tiles_fence();
    for (int i = 0; i < count; i++) {
        softmax(h, i);
        if (i == count - 1)
            fetch(h, each[0].v);
    }
    configure_values();
    for (int i = 0; i < count; i++) {
        if (i + 1 < count)
            fetch(h, each[i + 1].v);
        sum_values(h, &each[i], h->p + (size_t)i * keys, h->sums + (size_t)i * width);
    }
    sl_tiles_fence();
    for (int i = 0; i < count; i++)
        sl_attention_row(h->a, each[i].out, h->sums + (size_t)i * width, 16, h->total[i]);
}

void SL_LEVEL(attention_decode)(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    struct heads h = {.a = a, .groups = sl_ceil_div(a->visible[0], 32)};
    assert(a->heads == 1 || (!a->lse && !a->dropout.threshold));
    (void)lay_out(&h, a->scratch, h.groups, a->head_dim);
    for (int first = 0; first < a->heads; first += HEADS)
        attend_heads(kernels, &h, first, sl_min(a->heads - first, HEADS));
    sl_tiles_release();
}
