/* avx512_gather.c - gather and scatter slots, 16 floats at a time. */
#include "kernels/avx512_math.h"
#include "kernels/isa_levels.h"

enum { LANES = 16 };

/* The products of two rows, added up lane by lane. */
static inline __m512 lanes_of(const float *x, const float *y, int width)
{
    __m512 sums = _mm512_setzero_ps();
    for (int c = 0; c < width; c += LANES) {
        const __mmask16 mask = sl_first16(width - c);
        sums = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, x + c),
                               _mm512_maskz_loadu_ps(mask, y + c), sums);
    }
    return sums;
}

static void gather_dot(float *out, float a, const float *x, const void *rows,
                       const struct sl_row_list *l)
{
    const float *y = rows;
    int j = 0;
    for (; j + LANES <= l->n; j += LANES) {
        __m512 lanes[LANES];
        for (int i = 0; i < LANES; i++)
            lanes[i] = lanes_of(x, y + sl_row_offset(l, j + i), l->width);
        _mm512_storeu_ps(out + j, _mm512_mul_ps(_mm512_set1_ps(a), sl_fold16(lanes, false)));
    }
    for (; j < l->n; j++)
        out[j] = a * sl_sum16(lanes_of(x, y + sl_row_offset(l, j), l->width));
}

/* 64 columns at a time: four independent sums hide the latency of FMA. */
static void gather_sum(float *out, const float *a, const void *rows, const struct sl_row_list *l)
{
    for (int c = 0; c < l->width; c += 4 * LANES) {
        __m512 sums[4];
        __mmask16 masks[4];
        for (int i = 0; i < 4; i++) {
            sums[i] = _mm512_setzero_ps();
            masks[i] = sl_first16(l->width - c - i * LANES);
        }
        for (int j = 0; j < l->n; j++) {
            const float *row = (const float *)rows + sl_row_offset(l, j) + c;
            for (int i = 0; i < 4; i++)
                sums[i] =
                    _mm512_fmadd_ps(_mm512_set1_ps(a[j]),
                                    _mm512_maskz_loadu_ps(masks[i], row + i * LANES), sums[i]);
        }
        for (int i = 0; i < 4 && c + i * LANES < l->width; i++)
            _mm512_mask_storeu_ps(out + c + i * LANES, masks[i], sums[i]);
    }
}

static void scatter_axpy(float *rows, const float *a, const float *x, const struct sl_row_list *l)
{
    for (int j = 0; j < l->n; j++)
        for (int c = 0; c < l->width; c += LANES) {
            float *y = rows + sl_row_offset(l, j) + c;
            const __mmask16 mask = sl_first16(l->width - c);
            const __m512 sum =
                _mm512_fmadd_ps(_mm512_set1_ps(a[j]), _mm512_maskz_loadu_ps(mask, x + c),
                                _mm512_maskz_loadu_ps(mask, y));
            _mm512_mask_storeu_ps(y, mask, sum);
        }
}

void sl_avx512_gather(struct sl_kernels *t)
{
    t->gather_dot = gather_dot;
    t->gather_sum = gather_sum;
    t->scatter_axpy = scatter_axpy;
}
