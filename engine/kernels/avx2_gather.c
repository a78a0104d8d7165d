/* avx2_gather.c - gather and scatter slots, 8 floats at a time. */
#include "kernels/avx2_math.h"
#include "kernels/isa_levels.h"

enum { LANES = 8 };

static float dot_short(const float *x, const float *y, int n)
{
    __m256 sums = _mm256_setzero_ps();
    for (int i = 0; i < n; i += LANES)
        sums = _mm256_fmadd_ps(sl_load8(x + i, n - i), sl_load8(y + i, n - i), sums);
    return sl_sum8(sums);
}

/* Eight rows at once. Each is summed in the same order as in dot_short. Rows of less than a vector
 * (`narrow`, a constant) are one load each. Without the pragmas gcc 12 keeps the sums in memory. */
static inline __attribute__((always_inline)) void gather_dot8(float *out, float a, const float *x,
                                                              const float *rows,
                                                              const struct sl_row_list *l,
                                                              int first, const bool narrow)
{
    const float *row[8];
    __m256 sums[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++) {
        row[r] = rows + sl_row_offset(l, first + r);
        sums[r] = _mm256_setzero_ps();
    }
    int i = 0;
    for (; !narrow && i + LANES <= l->width; i += LANES)
#pragma GCC unroll 8
        for (int r = 0; r < 8; r++)
            sums[r] = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(row[r] + i), sums[r]);
    if (narrow || i < l->width) {
        const __m256i rest = sl_first8(l->width - i);
        const __m256 v = _mm256_maskload_ps(x + i, rest);
#pragma GCC unroll 8
        for (int r = 0; r < 8; r++)
            sums[r] = _mm256_fmadd_ps(v, _mm256_maskload_ps(row[r] + i, rest), sums[r]);
    }
    _mm256_storeu_ps(out + first, _mm256_mul_ps(_mm256_set1_ps(a), sl_sum8_of_8(sums)));
}

static void gather_dot(float *out, float a, const float *x, const void *rows,
                       const struct sl_row_list *l)
{
    const struct sl_row_list list = *l; /* the compiler cannot know that out is elsewhere */
    int j = 0;
    if (list.width < LANES)
        for (; j + 8 <= list.n; j += 8)
            gather_dot8(out, a, x, rows, &list, j, true);
    else
        for (; j + 8 <= list.n; j += 8)
            gather_dot8(out, a, x, rows, &list, j, false);
    for (; j < list.n; j++)
        out[j] = a * dot_short(x, (const float *)rows + sl_row_offset(&list, j), list.width);
}

static void mix_tail(float *out, const float *a, const float *rows, const struct sl_row_list *l,
                     int width)
{
    __m256 sum = _mm256_setzero_ps();
    for (int j = 0; j < l->n; j++)
        sum =
            _mm256_fmadd_ps(_mm256_set1_ps(a[j]), sl_load8(rows + sl_row_offset(l, j), width), sum);
    sl_store8(out, width, sum);
}

/* 32 columns at a time: four independent sums hide the latency of FMA. */
static void gather_sum(float *out, const float *a, const void *rows, const struct sl_row_list *l)
{
    int c = 0;
    for (; c + 4 * LANES <= l->width; c += 4 * LANES) {
        __m256 sums[4];
        for (int i = 0; i < 4; i++)
            sums[i] = _mm256_setzero_ps();
        for (int j = 0; j < l->n; j++) {
            const float *row = (const float *)rows + sl_row_offset(l, j) + c;
            for (int i = 0; i < 4; i++)
                sums[i] = _mm256_fmadd_ps(_mm256_set1_ps(a[j]), _mm256_loadu_ps(row + i * LANES),
                                          sums[i]);
        }
        for (int i = 0; i < 4; i++)
            _mm256_storeu_ps(out + c + i * LANES, sums[i]);
    }
    for (; c < l->width; c += LANES)
        mix_tail(out + c, a, (const float *)rows + c, l, l->width - c);
}

static void scatter_axpy(float *rows, const float *a, const float *x, const struct sl_row_list *l)
{
    for (int j = 0; j < l->n; j++)
        for (int c = 0; c < l->width; c += LANES) {
            float *y = rows + sl_row_offset(l, j) + c;
            const __m256 factor = _mm256_set1_ps(a[j]), v = sl_load8(x + c, l->width - c);
            sl_store8(y, l->width - c, _mm256_fmadd_ps(factor, v, sl_load8(y, l->width - c)));
        }
}

void sl_avx2_gather(struct sl_kernels *t)
{
    t->gather_dot = gather_dot;
    t->gather_sum = gather_sum;
    t->scatter_axpy = scatter_axpy;
}
