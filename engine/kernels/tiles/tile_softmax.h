/* tile_softmax.h - softmax of one query's scores, shared by tile_attention.c and
 * tile_attention_decode.c. */
#pragma once

#include "kernels/kernels.h"
#include "kernels/tiles/bf16_vectors.h"

#include <math.h>

/* A query's row of scores and of probabilities. */
struct sl_score_row {
    const float *scores;
    uint16_t *p;
    size_t score_pitch,
        p_pitch; /* distance from 16 scores, and from 32 probabilities, to the next */
};

/* 16 partial maxima of the row's first n scores. */
static inline __m512 sl_maxima(const struct sl_score_row *row, int n)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    const float *s = row->scores;
    __m512 max = lowest;
    int j = 0;
    for (; j + 16 <= n; j += 16, s += row->score_pitch)
        max = _mm512_max_ps(max, _mm512_loadu_ps(s));
    if (j < n)
        max = _mm512_max_ps(max, _mm512_mask_loadu_ps(lowest, vec_mask(n - j), s));
    return max;
}

/* 2^(score - max) of 32 keys. */
struct sl_powers {
    __m512 low, high;
};

static inline struct sl_powers sl_powers_of(const struct sl_score_row *row, int group, __m512 unit,
                                            __m512 max)
{
    const float *s = row->scores + (size_t)(2 * group) * row->score_pitch;
    const __m512 low = _mm512_loadu_ps(s), high = _mm512_loadu_ps(s + row->score_pitch);
    return (struct sl_powers){.low = vec_exp2(_mm512_fmsub_ps(low, unit, max)),
                              .high = vec_exp2(_mm512_fmsub_ps(high, unit, max))};
}

/* The row's probabilities after dropout, not yet divided by their total, as bf16; zeros from n up
 * to `groups` groups of 32. Returns 16 partial sums of the total; key j is in lane j % 16. */
static inline __m512 sl_softmax_tile(const struct sl_attention *a, const struct sl_score_row *row,
                                     int query, int groups, float max)
{
    const struct sl_dropout drop = a->dropout;
    const __m512 unit = _mm512_set1_ps(a->scale * sl_log2_e), maxes = _mm512_set1_ps(max);
    __m512 low = _mm512_setzero_ps(), high = low;
    for (int group = 0; group < groups; group++) {
        uint16_t *p = row->p + (size_t)group * row->p_pitch;
        const int rest = a->visible[query] - group * 32;
        if (rest <= 0) {
            _mm512_storeu_si512(p, _mm512_setzero_si512());
            continue;
        }
        const struct sl_powers e = sl_powers_of(row, group, unit, maxes);
        __mmask32 kept = vec_mask32(rest);
        low = _mm512_mask_add_ps(low, (__mmask16)kept, low, e.low);
        high = _mm512_mask_add_ps(high, (__mmask16)(kept >> 16), high, e.high);
        if (drop.threshold)
            kept &= vec_kept(vec_dropout_words(a->row_keys[query], (uint32_t)group * 32),
                             drop.threshold);
        _mm512_storeu_si512(p, _mm512_maskz_mov_epi16(kept, sl_to_bf16_32(e.low, e.high)));
    }
    return _mm512_add_ps(low, high);
}

/* The factor that normalizes a sum of values weighted by 2^(score - max). A query that sees no key
 * has total 0 and max -infinity. */
static inline __m512 sl_total_factor(const struct sl_attention *a, float total)
{
    const float kept = a->dropout.threshold ? a->dropout.scale : 1.0f;
    return _mm512_set1_ps(total > 0.0f ? kept / total : 0.0f);
}

/* ln x for positive, normal, finite x. */
static inline __m512 sl_log16(__m512 x)
{
    const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
    const __m512 e = _mm512_getexp_ps(_mm512_div_ps(x, m)); /* of a power of two, exactly */
    const __m512 f = _mm512_sub_ps(m, _mm512_set1_ps(1.0f));
    const __m512 p = vec_polynomial(sl_log_terms, SL_LOG_TERMS, f);
    return _mm512_fmadd_ps(e, _mm512_set1_ps(sl_ln2), _mm512_mul_ps(f, p));
}

/* log(sum(exp(score))) of 16 queries from their max, in units of ln 2, and their total. */
static inline __m512 sl_lse16(__m512 max, __m512 total)
{
    const __m512 log = sl_log16(_mm512_max_ps(total, _mm512_set1_ps(1e-30f)));
    return _mm512_fmadd_ps(max, _mm512_set1_ps(sl_ln2), log);
}

/* A query's result: sums of 16 columns each, `pitch` floats apart, divided by the total. */
static inline void sl_attention_row(const struct sl_attention *a, uint16_t *out, const float *sums,
                                    size_t pitch, float total)
{
    const __m512 factor = sl_total_factor(a, total);
    for (int c = 0; c < a->head_dim; c += TILE_K, sums += 2 * pitch) {
        const __m512i bf16 = sl_to_bf16_32(_mm512_mul_ps(_mm512_loadu_ps(sums), factor),
                                           _mm512_mul_ps(_mm512_loadu_ps(sums + pitch), factor));
        _mm512_mask_storeu_epi16(out + c, vec_mask32(a->head_dim - c), bf16);
    }
}
