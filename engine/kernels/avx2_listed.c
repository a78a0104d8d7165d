/* avx2_listed.c - slots for listed rows, 8 floats at a time.
 * Flags: -mavx2 -mfma. */
#include "kernels/avx2_math.h"
#include "kernels/levels.h"

enum { LANES = 8 };

static float dot_short(const float *x, const float *y, int n)
{
    __m256 sums = _mm256_setzero_ps();
    for (int i = 0; i < n; i += LANES)
        sums = _mm256_fmadd_ps(sl_load8(x + i, n - i), sl_load8(y + i, n - i), sums);
    return sl_sum8(sums);
}

static void dots(float *out, float a, const float *x, const void *rows, const struct sl_listing *l)
{
    for (int j = 0; j < l->n; j++)
        out[j] = a * dot_short(x, (const float *)rows + sl_listed(l, j), l->width);
}

static void mix_tail(float *out, const float *a, const float *rows, const struct sl_listing *l,
                     int width)
{
    __m256 sum = _mm256_setzero_ps();
    for (int j = 0; j < l->n; j++)
        sum = _mm256_fmadd_ps(_mm256_set1_ps(a[j]), sl_load8(rows + sl_listed(l, j), width), sum);
    sl_store8(out, width, sum);
}

/* 32 columns at a time: four sums under way hide the latency of FMA. */
static void mix(float *out, const float *a, const void *rows, const struct sl_listing *l)
{
    int c = 0;
    for (; c + 4 * LANES <= l->width; c += 4 * LANES) {
        __m256 sums[4];
        for (int i = 0; i < 4; i++)
            sums[i] = _mm256_setzero_ps();
        for (int j = 0; j < l->n; j++) {
            const float *row = (const float *)rows + sl_listed(l, j) + c;
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

static void spread(float *rows, const float *a, const float *x, const struct sl_listing *l)
{
    for (int j = 0; j < l->n; j++)
        for (int c = 0; c < l->width; c += LANES) {
            float *y = rows + sl_listed(l, j) + c;
            const __m256 factor = _mm256_set1_ps(a[j]), v = sl_load8(x + c, l->width - c);
            sl_store8(y, l->width - c, _mm256_fmadd_ps(factor, v, sl_load8(y, l->width - c)));
        }
}

void sl_avx2_listed(struct sl_kernels *t)
{
    t->dots = dots;
    t->mix = mix;
    t->spread = spread;
}
