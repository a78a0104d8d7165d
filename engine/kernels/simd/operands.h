/* operands.h - vectors of the operands of matrix products: bf16 where the level that includes this
 * multiplies them, else fp32. Operands are written 2 LANES at a time. */
#pragma once

#include "kernels/simd/vec_math.h"

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
    return vec_load_bf16(x, n);
}

/* The first n, rounded to nearest even, and zeros up to 32. */
static inline void operand_store_pair(operand *y, int n, struct vec_pair v)
{
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(v.high, v.low);
    _mm512_storeu_si512(y, n >= 32 ? both : _mm512_maskz_mov_epi16(vec_mask32(n), both));
}

static inline vec gelu_term(int power, __m512i piece)
{
    const float *terms = sl_gelu_terms[power];
    return _mm512_permutex2var_ps(vec_loadu(terms), piece, vec_loadu(terms + LANES));
}

/* GELU as exact as bf16 needs it, for a third of the instructions: polynomials.h. */
static inline vec operand_gelu(vec x)
{
    enum { SMALLER_MAGNITUDE_WITHOUT_SIGN = 10 };

    const vec whole = vec_set(0x1.8p23f), end = vec_set(sl_gelu_end);
    const vec z = _mm512_range_ps(x, end, SMALLER_MAGNITUDE_WITHOUT_SIGN);
    const __m512i piece = (__m512i)vec_fma(z, vec_set(sl_gelu_scale), whole);
    const vec h =
        vec_fma(vec_fma(gelu_term(2, piece), z, gelu_term(1, piece)), z, gelu_term(0, piece));
    return vec_max(vec_set(0.0f), x) + h; /* a NaN stays */
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

static inline vec operand_gelu(vec x)
{
    const struct vec_normal n = vec_normal(vec_abs(x));
    return vec_gelu(x, &n);
}
#endif

/* f(x), to be written as an operand. */
static inline struct vec_pair operand_activate(struct vec_pair x, enum sl_activation f)
{
    if (f == SL_GELU)
        return (struct vec_pair){operand_gelu(x.low), operand_gelu(x.high)};
    struct vec_pair y;
    vec unused;
    vec_activate(x.low, f, &y.low, &unused);
    vec_activate(x.high, f, &y.high, &unused);
    return y;
}
