/* amx_attention_decode.c - attention of a single query, as in decoding.
 *
 * Tiles would be nearly empty, K and V would have to be packed for a single use, and the tile unit
 * would have to wake up. So vectors emulate the tiles bit by bit. For each 32 products TDPBF16PS
 * (Intel SDM volume 2) computes one element as:
 *     even += a[2i] b[2i],  odd += a[2i+1] b[2i+1]   for i = 0 .. 15, from 0, fused
 *     sum  += even + odd
 * with denormals as zeros. Products with zero can be skipped: they only turn -0 into 0, and sums
 * begin with 0. */
#include "kernels/amx.h"
#include "kernels/amx_softmax.h"

#include <string.h>

/* Denormals are zeros between these two calls. Loads and stores must not be moved out of that
 * region, and the compiler does not know about the mode. */
static unsigned flush_begin(void)
{
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
    sl_tiles_fence();
    return mode;
}

static void flush_end(unsigned mode)
{
    sl_tiles_fence();
    _mm_setcsr(mode);
}

static inline __m512i broadcast_pair(const uint16_t *x)
{
    int pair;
    memcpy(&pair, x, sizeof pair);
    return _mm512_set1_epi32(pair);
}

/* ----------------------------------------------------------------------------------- scores */

/* 32 dims of 16 keys as pairs, key j in lane j; zeros past the last key. */
static inline void load_keys(const struct sl_attention *a, int first, int dim, __m512i pairs[16])
{
    const uint16_t *k = (const uint16_t *)a->k + (size_t)first * a->kv_stride + dim;
    for (int j = 0; j < 16; j++, k += a->kv_stride)
        pairs[j] = first + j < a->visible[0] ? _mm512_loadu_si512(k) : _mm512_setzero_si512();
    vec_transpose_words(pairs);
}

static void score16(const struct sl_attention *a, int first, float *scores)
{
    const uint16_t *q = a->q;
    __m512 sum = _mm512_setzero_ps();
    for (int dim = 0; dim < a->head_dim; dim += TILE_K, q += TILE_K) {
        __m512i k[16];
        __m512 even = _mm512_setzero_ps(), odd = even;
        load_keys(a, first, dim, k);
        for (int i = 0; i < 16; i++) {
            const __m512i pair = broadcast_pair(q + 2 * i);
            even = _mm512_fmadd_ps(sl_even16(pair), sl_even16(k[i]), even);
            odd = _mm512_fmadd_ps(sl_odd16(pair), sl_odd16(k[i]), odd);
        }
        sum = _mm512_add_ps(sum, _mm512_add_ps(even, odd));
    }
    _mm512_storeu_ps(scores, sum);
}

/* ---------------------------------------------------------------------------------- results */

/* Sums over the even or the odd ones of 32 keys, for the even and the odd ones of 32 dims. */
struct part {
    __m512 even_dims, odd_dims;
};

static inline void add_key(struct part *part, __m512 p, const uint16_t *v)
{
    const __m512i row = _mm512_loadu_si512(v);
    part->even_dims = _mm512_fmadd_ps(p, sl_even16(row), part->even_dims);
    part->odd_dims = _mm512_fmadd_ps(p, sl_odd16(row), part->odd_dims);
}

/* Probabilities times up to 32 values, v being the first of them. */
static inline struct part pv_matmul32(const uint16_t *p, const uint16_t *v, size_t stride,
                                      int count)
{
    const __m512 zero = _mm512_setzero_ps();
    struct part even = {zero, zero}, odd = {zero, zero};
    for (int i = 0; i < count; i += 2, v += 2 * stride) {
        const __m512i pair = broadcast_pair(p + i);
        add_key(&even, sl_even16(pair), v);
        if (i + 1 < count)
            add_key(&odd, sl_odd16(pair), v + stride);
    }
    return (struct part){_mm512_add_ps(even.even_dims, odd.even_dims),
                         _mm512_add_ps(even.odd_dims, odd.odd_dims)};
}

static void pv_matmul(const struct sl_attention *a, const uint16_t *p, int dim, float sums[32])
{
    const uint16_t *v = (const uint16_t *)a->v + dim;
    struct part sum = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int j = 0; j < a->visible[0]; j += 32, v += 32 * a->kv_stride) {
        const int rest = a->visible[0] - j;
        const struct part some = pv_matmul32(p + j, v, a->kv_stride, sl_min(rest, 32));
        sum.even_dims = _mm512_add_ps(sum.even_dims, some.even_dims);
        sum.odd_dims = _mm512_add_ps(sum.odd_dims, some.odd_dims);
    }
    _mm512_storeu_ps(sums, sum.even_dims);
    _mm512_storeu_ps(sums + 16, sum.odd_dims);
}

static void write_out(const struct sl_attention *a, int dim, const float sums[32], __m512 factor)
{
    const __m512 even = _mm512_mul_ps(_mm512_loadu_ps(sums), factor);
    const __m512 odd = _mm512_mul_ps(_mm512_loadu_ps(sums + 16), factor);
    const __m512i pairs =
        sl_pair16((__m256i)_mm512_cvtneps_pbh(even), (__m256i)_mm512_cvtneps_pbh(odd));
    _mm512_storeu_si512((uint16_t *)a->out + dim, pairs);
}

void sl_amx_attention_decode(const struct sl_attention *a)
{
    const int n = a->visible[0], groups = sl_ceil_div(n, 32);
    float *scores = a->scratch, *sums = scores + (size_t)groups * 32;
    uint16_t *p = (uint16_t *)(sums + a->head_dim);
    const struct sl_score_row row = {.scores = scores, .p = p, .score_pitch = 16, .p_pitch = 32};

    unsigned mode = flush_begin();
    for (int first = 0; first < groups * 32; first += 16)
        score16(a, first, scores + first);
    flush_end(mode);
    const float max = vec_highest(sl_maxima(&row, n)) * (a->scale * sl_log2_e);
    const float total = vec_sum(sl_softmax_tile(a, &row, 0, groups, max));
    mode = flush_begin();
    for (int dim = 0; dim < a->head_dim; dim += TILE_K)
        pv_matmul(a, p, dim, sums + dim);
    flush_end(mode);

    const __m512 factor = sl_total_factor(a, total);
    for (int dim = 0; dim < a->head_dim; dim += TILE_K)
        write_out(a, dim, sums + dim, factor);
    if (a->lse)
        _mm512_mask_storeu_ps(a->lse, 1, sl_lse16(_mm512_set1_ps(max), _mm512_set1_ps(total)));
}
