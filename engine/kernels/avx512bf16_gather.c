/* avx512bf16_gather.c - gather and scatter slots for bf16 rows, 32 elements at a time; sums are
 * fp32. */
#include "kernels/avx512bf16.h"

enum { WHOLE = 32 };

/* 32 elements of x split into even and odd ones; zeros from n on. */
struct halves {
    __m512 even, odd;
};

static inline struct halves halves_of(const float *x, int n)
{
    const __m512 low = _mm512_maskz_loadu_ps(vec_mask(n), x);
    const __m512 high =
        n > LANES ? _mm512_maskz_loadu_ps(vec_mask(n - LANES), x + LANES) : _mm512_setzero_ps();
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return (struct halves){_mm512_permutex2var_ps(low, even, high),
                           _mm512_permutex2var_ps(low, odd, high)};
}

static inline void store_halves(float *out, struct halves sums, int n)
{
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    _mm512_mask_storeu_ps(out, vec_mask(n), _mm512_permutex2var_ps(sums.even, low, sums.odd));
    if (n > LANES)
        _mm512_mask_storeu_ps(out + LANES, vec_mask(n - LANES),
                              _mm512_permutex2var_ps(sums.even, high, sums.odd));
}

/* 32 columns of all rows: their products with x are added to `out`, or replace it. */
static void gather_dot32(float *out, const struct halves *x, const uint16_t *rows, __mmask32 mask,
                         bool overwrite, const struct sl_row_list *l)
{
    for (int j = 0; j < l->n; j += LANES) {
        const int count = sl_min(l->n - j, LANES);
        __m512 lanes[LANES];
        for (int i = 0; i < LANES; i++) {
            const __m512i row = i < count
                                    ? _mm512_maskz_loadu_epi16(mask, rows + sl_row_offset(l, j + i))
                                    : _mm512_setzero_si512();
            lanes[i] =
                _mm512_fmadd_ps(x->odd, sl_odd16(row), _mm512_mul_ps(x->even, sl_even16(row)));
        }
        const __mmask16 some = vec_mask(count);
        const __m512 old = overwrite ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(some, out + j);
        _mm512_mask_storeu_ps(out + j, some, _mm512_add_ps(old, vec_fold_by(lanes, false)));
    }
}

void sl_bf16_gather_dot(float *out, float a, const float *x, const void *rows,
                        const struct sl_row_list *l)
{
    for (int c = 0; c < l->width; c += WHOLE) {
        struct halves some = halves_of(x + c, l->width - c);
        some.even = _mm512_mul_ps(some.even, _mm512_set1_ps(a));
        some.odd = _mm512_mul_ps(some.odd, _mm512_set1_ps(a));
        gather_dot32(out, &some, (const uint16_t *)rows + c, vec_mask32(l->width - c), c == 0, l);
    }
}

void sl_bf16_gather_sum(float *out, const float *a, const void *rows, const struct sl_row_list *l)
{
    for (int c = 0; c < l->width; c += WHOLE) {
        const uint16_t *x = (const uint16_t *)rows + c;
        const __mmask32 mask = vec_mask32(l->width - c);
        struct halves sums = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (int j = 0; j < l->n; j++) {
            const __m512i row = _mm512_maskz_loadu_epi16(mask, x + sl_row_offset(l, j));
            const __m512 factor = _mm512_set1_ps(a[j]);
            sums.even = _mm512_fmadd_ps(factor, sl_even16(row), sums.even);
            sums.odd = _mm512_fmadd_ps(factor, sl_odd16(row), sums.odd);
        }
        store_halves(out + c, sums, l->width - c);
    }
}
