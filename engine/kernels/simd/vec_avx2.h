/* vec_avx2.h - 8 floats, with AVX2 and FMA; vec.h says what each function does. */
#pragma once

#include <immintrin.h>
#include <stdint.h>

/* A tile of a product keeps VEC_TILE_ROWS x VEC_TILE_VECTORS sums in registers. */
enum { LANES = 8, VEC_REGISTERS = 16, VEC_TILE_ROWS = 6, VEC_TILE_VECTORS = 2 };

typedef __m256 vec;
typedef uint32_t uvec __attribute__((vector_size(32)));
typedef int32_t ivec __attribute__((vector_size(32)));

struct vec_pair {
    vec low, high;
};

/* All bits set in the first n lanes. */
static inline __m256i vec_mask(int n)
{
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes);
}

static inline vec vec_set(float a)
{
    return _mm256_set1_ps(a);
}

static inline vec vec_load(const float *x, int n)
{
    return n >= LANES ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, vec_mask(n));
}

static inline vec vec_load_or(vec other, const float *x, int n)
{
    return _mm256_blendv_ps(other, vec_load(x, n), _mm256_castsi256_ps(vec_mask(n)));
}

static inline void vec_store(float *y, int n, vec v)
{
    if (n >= LANES)
        _mm256_storeu_ps(y, v);
    else
        _mm256_maskstore_ps(y, vec_mask(n), v);
}

static inline vec vec_first(vec v, int n)
{
    return n >= LANES ? v : _mm256_and_ps(v, _mm256_castsi256_ps(vec_mask(n)));
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vec vec_fnma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

static inline vec vec_sqrt(vec v)
{
    return _mm256_sqrt_ps(v);
}

static inline vec vec_if_positive(vec x, vec a, vec b)
{
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ));
}

static inline vec vec_round(vec v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline float vec_sum(vec v)
{
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

static inline float vec_highest(vec v)
{
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

static inline vec vec_fold(const vec rows[LANES])
{
    vec quarters[4], pairs[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        quarters[i] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20) +
                      _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        pairs[i] = _mm256_shuffle_ps(quarters[2 * i], quarters[2 * i + 1], 0x44) +
                   _mm256_shuffle_ps(quarters[2 * i], quarters[2 * i + 1], 0xEE);
    return _mm256_shuffle_ps(pairs[0], pairs[1], 0x88) +
           _mm256_shuffle_ps(pairs[0], pairs[1], 0xDD);
}

/* Swaps within pairs of rows, then pairs of pairs, then halves. */
static inline void vec_transpose(vec rows[LANES])
{
    vec pairs[8], quads[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        pairs[2 * i] = _mm256_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const vec left = pairs[i / 2 * 4 + i % 2], right = pairs[i / 2 * 4 + i % 2 + 2];
        quads[i / 2 * 4 + i % 2 * 2] = _mm256_shuffle_ps(left, right, 0x44);
        quads[i / 2 * 4 + i % 2 * 2 + 1] = _mm256_shuffle_ps(left, right, 0xEE);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        rows[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
        rows[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
    }
}

static inline struct vec_pair vec_drop(struct vec_pair v, uvec words, uint32_t threshold)
{
    const __m256i halves = (__m256i)words, least = _mm256_set1_epi16((short)threshold);
    const __m256i kept = _mm256_cmpeq_epi16(_mm256_max_epu16(halves, least), halves);
    const __m256i low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(kept));
    const __m256i high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(kept, 1));
    return (struct vec_pair){_mm256_and_ps(v.low, _mm256_castsi256_ps(low)),
                             _mm256_and_ps(v.high, _mm256_castsi256_ps(high))};
}
