/* avx512bf16_rows.c - conversion of rows to bf16 operands, fused with the epilogue. */
#include "kernels/avx512bf16.h"

enum { HALF = 16, WHOLE = 32 };

/* bf16 is the upper half of an fp32. */
static __m512 from_bf16_16(__mmask16 mask, const uint16_t *x)
{
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, x));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

void sl_bf16_multiply_to_operands(void *out, const float *x, const void *by, int n)
{
    const uint16_t *b = by;
    for (int i = 0; i < n; i += WHOLE) {
        __m512 half[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (int h = 0; h < 2 && i + h * HALF < n; h++) {
            const int at = i + h * HALF;
            const __mmask16 mask = vec_mask(n - at);
            half[h] =
                _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + at), from_bf16_16(mask, b + at));
        }
        _mm512_storeu_si512((uint16_t *)out + i, sl_to_bf16_32(half[0], half[1]));
    }
}

void sl_bf16_softmax_backward(const struct sl_softmax_backward *s)
{
    const uint16_t *e = s->e;
    const vec rate = vec_set(s->rate), mean = vec_set(s->mean);
    for (int j = 0; j < s->n; j += HALF) {
        const int k = s->n - j;
        const vec p = rate * vec_load(s->w + j, k) * from_bf16_16(vec_mask(k), e + j);
        const vec slope = p * (vec_load(s->dp + j, k) - mean);
        vec_store(s->ds + j, k, s->overwrite ? slope : vec_add(vec_load(s->ds + j, k), slope));
        vec_store(s->db + j, k, vec_load(s->db + j, k) + slope);
    }
}

/* 16 columns of y and of its slope. */
static void epilogue_half(const struct sl_epilogue *f, int at, __mmask16 kept, __m512 *y,
                          __m512 *slope)
{
    const __mmask16 mask = vec_mask(f->n - at);
    __m512 v = _mm512_maskz_loadu_ps(mask, f->products + at);
    if (f->bias)
        v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, f->bias + at));
    vec_activate(v, f->activation, y, slope);
    if (f->dropout.threshold) {
        const __m512 scale = _mm512_set1_ps(f->dropout.scale);
        *y = _mm512_maskz_mul_ps(kept, scale, *y);
        *slope = _mm512_maskz_mul_ps(kept, scale, *slope);
    }
    *y = _mm512_maskz_mov_ps(mask, *y);
    *slope = _mm512_maskz_mov_ps(mask, *slope);
    if (!f->out)
        _mm512_mask_storeu_ps(f->products + at, mask, *y);
}

void sl_bf16_epilogue(const struct sl_kernels *kernels, const struct sl_epilogue *f)
{
    (void)kernels;
    for (int i = 0; i < f->n; i += WHOLE) {
        __m512 y[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()}, slope[2] = {y[0], y[1]};
        const uint32_t column = (uint32_t)(f->first + i), threshold = f->dropout.threshold;
        const __mmask32 kept =
            threshold ? vec_kept(vec_dropout_words(f->row_key, column), threshold) : 0;
        for (int h = 0; h < 2 && i + h * HALF < f->n; h++)
            epilogue_half(f, i + h * HALF, (__mmask16)(kept >> h * HALF), &y[h], &slope[h]);
        if (f->out)
            _mm512_storeu_si512((uint16_t *)f->out + i, sl_to_bf16_32(y[0], y[1]));
        if (f->slope)
            _mm512_storeu_si512((uint16_t *)f->slope + i, sl_to_bf16_32(slope[0], slope[1]));
    }
}
