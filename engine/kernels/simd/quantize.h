/* quantize.h - the slot `quantize`, a vector at a time. */
#pragma once

#include "base/int_math.h"
#include "kernels/int8.h"
#include "kernels/simd/dot4.h"

/* Up to LANES floats. Rows of bf16 end in zeros, so that whole vectors can be read. */
static inline __attribute__((always_inline)) vec load_floats(const void *x, int at, int n,
                                                             const enum sl_type type)
{
    if (type == SL_F32)
        return vec_load((const float *)x + at, n - at);
    return vec_load_bf16((const uint16_t *)x + at, LANES);
}

static inline __attribute__((always_inline)) float factor_of(float *scale, const void *x, int n,
                                                             const enum sl_type type)
{
    vec highest = vec_set(0.0f), zero = highest; /* NaN with the first NaN or infinity */
    for (int i = 0; i < n; i += LANES) {
        const vec v = load_floats(x, i, n, type);
        highest = vec_max(vec_abs(v), highest);
        zero = vec_fma(v, vec_set(0.0f), zero);
    }
    return sl_int8_scale(scale, vec_highest(highest), vec_sum(zero) == 0.0f);
}

static inline __attribute__((always_inline)) void quantize_group(int8_t *out,
                                                                 struct sl_int8_group *to,
                                                                 const void *x, int n,
                                                                 const enum sl_type type)
{
    const float factor = factor_of(&to->scale, x, n, type);
    const size_t padded = sl_round_up((size_t)n, LANES);
    sums4 sums = {0};
    memset(out + padded - LANES, 0, sl_round_up((size_t)n, SL_INT8_STEP) - padded + LANES);
    if (!(factor > 0.0f))
        memset(out, 0, padded);
    for (int i = 0; factor > 0.0f && i < n; i += LANES) {
        const vec v = vec_round(load_floats(x, i, n, type) * vec_set(factor));
        const sums4 whole = __builtin_convertvector(v, sums4);
        dot4_store(out + i, whole);
        sums += whole;
    }
    to->sum = 0;
    for (int i = 0; i < LANES; i++)
        to->sum += sums[i];
}
