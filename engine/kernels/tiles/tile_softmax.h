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

/* Which of 32 keys a query sees. */
static inline __mmask32 sl_seen32(const struct sl_attention *a, int query, int first_key)
{
    return vec_mask32(a->visible[query] - first_key) &
           ~vec_mask32(sl_attention_from(a, query) - first_key);
}

/* The maximum of the scores that a query sees; the row begins with group `first` of 32 keys. */
static inline float sl_max_score(const struct sl_attention *a, const struct sl_score_row *row,
                                 int query, int first)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    const float *s = row->scores;
    __m512 max = lowest;
    for (int key = 32 * first; key < a->visible[query]; key += 32, s += 2 * row->score_pitch) {
        const __mmask32 seen = sl_seen32(a, query, key);
        max = _mm512_max_ps(max, _mm512_mask_loadu_ps(lowest, (__mmask16)seen, s));
        max = _mm512_max_ps(
            max, _mm512_mask_loadu_ps(lowest, (__mmask16)(seen >> 16), s + row->score_pitch));
    }
    return vec_highest(max);
}

/* Partial sums of 2^(score - shift), and that as bf16 for 32 keys, of which `kept` count. Sums of
 * what is rounded make normalized probabilities add up to 1; exact ones are better for lse. */
struct sl_powers {
    __m512 sums, unit, shift;
    bool exact;
};

static inline __m512i sl_add_powers(struct sl_powers *p, const struct sl_score_row *row, int group,
                                    __mmask32 kept)
{
    const __m512bh one = (__m512bh)_mm512_set1_epi16(0x3f80);
    const float *s = row->scores + (size_t)(2 * group) * row->score_pitch;
    const __m512 low = sl_exp2(_mm512_fmsub_ps(_mm512_loadu_ps(s), p->unit, p->shift));
    s += row->score_pitch;
    const __m512 high = sl_exp2(_mm512_fmsub_ps(_mm512_loadu_ps(s), p->unit, p->shift));
    const __m512i powers = _mm512_maskz_mov_epi16(kept, sl_to_bf16_32(low, high));
    if (p->exact)
        p->sums += _mm512_maskz_mov_ps((__mmask16)kept, low) +
                   _mm512_maskz_mov_ps((__mmask16)(kept >> 16), high);
    else
        p->sums = _mm512_dpbf16_ps(p->sums, (__m512bh)powers, one);
    return powers;
}

/* Groups of 32 keys that some query of a block sees. */
struct sl_key_groups {
    int first, count;
};

/* The row's probabilities after dropout, not yet divided by their total, as bf16, of these groups;
 * zeros for unseen keys. Returns 16 partial sums of their total before dropout. */
static inline __m512 sl_softmax_tile(const struct sl_attention *a, const struct sl_score_row *row,
                                     int query, struct sl_key_groups groups, float shift)
{
    const struct sl_dropout drop = a->dropout;
    struct sl_powers state = {.sums = _mm512_setzero_ps(),
                              .unit = _mm512_set1_ps(a->scale * sl_log2_e),
                              .shift = _mm512_set1_ps(shift),
                              .exact = a->lse};
    uint16_t *p = row->p;
    for (int i = 0; i < groups.count; i++, p += row->p_pitch) {
        const int key = (groups.first + i) * 32;
        const __mmask32 seen = sl_seen32(a, query, key);
        __m512i powers = _mm512_setzero_si512();
        if (seen)
            powers = sl_add_powers(&state, row, i, seen);
        if (seen && drop.threshold) {
            const uvec words = vec_dropout_words(a->row_keys[query], (uint32_t)key);
            powers = _mm512_maskz_mov_epi16(vec_kept(words, drop.threshold), powers);
        }
        _mm512_storeu_si512(p, powers);
    }
    return state.sums;
}

/* The exponents of bf16 leave room for scores that are not shifted by their maximum, which is how
 * they are summed first, but for lse. Which of 16 totals are too large or too small for that. */
static inline __mmask16 sl_out_of_range(__m512 totals)
{
    const __m512 least = _mm512_set1_ps(0x1p-60f), most = _mm512_set1_ps(0x1p60f);
    return _mm512_cmp_ps_mask(totals, least, _CMP_NGE_UQ) |
           _mm512_cmp_ps_mask(totals, most, _CMP_NLE_UQ);
}

/* The maximum of a query's scores, in units of ln 2; the row begins with group `first`. */
static inline float sl_max_shift(const struct sl_attention *a, const struct sl_score_row *row,
                                 int query, int first)
{
    return sl_max_score(a, row, query, first) * (a->scale * sl_log2_e);
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
