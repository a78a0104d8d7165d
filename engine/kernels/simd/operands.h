/* operands.h - vectors of the operands of matrix products: bf16 where the level that includes this
 * multiplies them, else fp32. Operands are written 2 LANES at a time. */
#pragma once

#include "kernels/simd/vec.h"

/* The first n of 2 LANES floats, zeros after them. */
static inline struct vec_pair vec_load_pair(const float *x, int n)
{
    return (struct vec_pair){.low = vec_load(x, n),
                             .high = n > LANES ? vec_load(x + LANES, n - LANES) : vec_set(0.0f)};
}

static inline void vec_store_pair(float *y, int n, struct vec_pair v)
{
    vec_store(y, n, v.low);
    if (n > LANES)
        vec_store(y + LANES, n - LANES, v.high);
}

#ifdef __AVX512BF16__
typedef uint16_t operand;

static inline vec operand_load(const operand *x, int n)
{
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(vec_mask(n), x));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

/* The first n, rounded to nearest even, and zeros up to 32. */
static inline void operand_store_pair(operand *y, int n, struct vec_pair v)
{
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(v.high, v.low);
    _mm512_storeu_si512(y, _mm512_maskz_mov_epi16(vec_mask32(n), both));
}
#else
typedef float operand;

static inline vec operand_load(const operand *x, int n)
{
    return vec_load(x, n);
}

static inline void operand_store_pair(operand *y, int n, struct vec_pair v)
{
    vec_store_pair(y, n, v);
}
#endif
