/* vec_avx512.h - 16 floats, with AVX-512 F, BW, VL and DQ; vec.h says what each function does. */
#pragma once

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

/* A tile of a product keeps VEC_TILE_ROWS x VEC_TILE_VECTORS sums in registers. */
enum { LANES = 16, VEC_REGISTERS = 32, VEC_TILE_ROWS = 12, VEC_TILE_VECTORS = 2 };

typedef __m512 vec;
typedef uint32_t uvec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));

struct vec_pair {
    vec low, high;
};

/* The first n of 16 or 32 lanes; n may be any number. */
static inline __mmask16 vec_mask(int n)
{
    const int count = n < 0 ? 0 : n > 16 ? 16 : n;
    return (__mmask16)((1u << count) - 1);
}

static inline __mmask32 vec_mask32(int n)
{
    const int count = n < 0 ? 0 : n > 32 ? 32 : n;
    return (__mmask32)((1ull << count) - 1);
}

static inline vec vec_set(float a)
{
    return _mm512_set1_ps(a);
}

static inline vec vec_load(const float *x, int n)
{
    return n >= LANES ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(vec_mask(n), x);
}

#define SL_VEC_LOAD_BF16

static inline vec vec_load_bf16(const uint16_t *x, int n)
{
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(vec_mask(n), x));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

static inline vec vec_load_or(vec other, const float *x, int n)
{
    return n >= LANES ? _mm512_loadu_ps(x) : _mm512_mask_loadu_ps(other, vec_mask(n), x);
}

static inline void vec_store(float *y, int n, vec v)
{
    if (n >= LANES)
        _mm512_storeu_ps(y, v);
    else
        _mm512_mask_storeu_ps(y, vec_mask(n), v);
}

static inline vec vec_first(vec v, int n)
{
    return n >= LANES ? v : _mm512_maskz_mov_ps(vec_mask(n), v);
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vec vec_fnma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

static inline vec vec_sqrt(vec v)
{
    return _mm512_sqrt_ps(v);
}

static inline vec vec_if_positive(vec x, vec a, vec b)
{
    return _mm512_mask_mov_ps(b, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), a);
}

static inline vec vec_round(vec v)
{
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

#define SL_VEC_SCALE2

static inline vec vec_scale2(vec p, vec n)
{
    return _mm512_scalef_ps(p, n);
}

static inline float vec_sum(vec v)
{
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

static inline float vec_highest(vec v)
{
    const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

static inline vec vec_combine(vec x, vec y, bool is_max)
{
    if (is_max)
        return vec_max(x, y);
    return x + y;
}

/* Sums or maxima of 16 vectors: lane i is that of rows[i]. */
static inline __attribute__((always_inline)) vec vec_fold_by(const vec rows[LANES], bool is_max)
{
    vec r[LANES];
    for (int i = 0; i < 8; i++) {
        const vec a = rows[2 * i % 4 * 4 + i / 2], b = rows[2 * i % 4 * 4 + 4 + i / 2];
        const vec x = _mm512_shuffle_f32x4(a, b, 0x44), y = _mm512_shuffle_f32x4(a, b, 0xee);
        r[i] = vec_combine(x, y, is_max);
    }
    for (int i = 0; i < 4; i++) {
        const vec x = _mm512_shuffle_f32x4(r[2 * i], r[2 * i + 1], 0x88);
        const vec y = _mm512_shuffle_f32x4(r[2 * i], r[2 * i + 1], 0xdd);
        r[i] = vec_combine(x, y, is_max);
    }
    for (int i = 0; i < 2; i++) {
        const vec x = _mm512_shuffle_ps(r[2 * i], r[2 * i + 1], 0x44);
        const vec y = _mm512_shuffle_ps(r[2 * i], r[2 * i + 1], 0xee);
        r[i] = vec_combine(x, y, is_max);
    }
    const vec x = _mm512_shuffle_ps(r[0], r[1], 0x88), y = _mm512_shuffle_ps(r[0], r[1], 0xdd);
    return vec_combine(x, y, is_max);
}

static inline vec vec_fold(const vec rows[LANES])
{
    return vec_fold_by(rows, false);
}

/* Lane i of column j becomes lane j of column i. */
static inline void vec_transpose_words(__m512i r[LANES])
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

static inline void vec_transpose(vec rows[LANES])
{
    __m512i words[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        words[i] = _mm512_castps_si512(rows[i]);
    vec_transpose_words(words);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        rows[i] = _mm512_castsi512_ps(words[i]);
}

/* Which of 32 lanes vec_drop keeps. */
static inline __mmask32 vec_kept(uvec words, uint32_t threshold)
{
    return _mm512_cmpge_epu16_mask((__m512i)words, _mm512_set1_epi16((short)threshold));
}

static inline struct vec_pair vec_drop(struct vec_pair v, uvec words, uint32_t threshold)
{
    const __mmask32 kept = vec_kept(words, threshold);
    return (struct vec_pair){_mm512_maskz_mov_ps((__mmask16)kept, v.low),
                             _mm512_maskz_mov_ps((__mmask16)(kept >> 16), v.high)};
}
