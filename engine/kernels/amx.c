/* amx.c - the table of the AMX level: bf16 operands, everything else from AVX-512.
 * Flags: -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mavx512bf16 -mamx-tile
 * -mamx-bf16. */
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"
#include "kernels/levels.h"

static void layernorm(void *y, const float *x, const float *gain, const float *shift, float epsilon,
                      int n, float stats[2])
{
    sl_avx512_moments(x, n, epsilon, stats);
    const __m512 mean = _mm512_set1_ps(stats[0]), inverse = _mm512_set1_ps(stats[1]);
    uint16_t *out = y;
    for (int i = 0; i < n; i += 32) {
        __m512 half[2];
        for (int h = 0; h < 2; h++) {
            const int at = i + 16 * h < n ? i + 16 * h : i; /* never point past the end */
            const __mmask16 mask = sl_first16(n - i - 16 * h);
            const __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + at), mean);
            const __m512 g = _mm512_maskz_loadu_ps(mask, gain + at);
            const __m512 s = _mm512_maskz_loadu_ps(mask, shift + at);
            half[h] = _mm512_maskz_fmadd_ps(mask, _mm512_mul_ps(d, inverse), g, s);
        }
        _mm512_storeu_si512(out + i, sl_narrow32(half[0], half[1]));
    }
}

static bool fills_tiles(int head_dim)
{
    return head_dim % TILE_K == 0;
}

static size_t attend_scratch(int queries, int keys, int head_dim)
{
    const int width = sl_steps(head_dim, TILE_K) * TILE_K;
    const size_t forward = sl_amx_attend_scratch(queries, keys, width);
    const size_t back = sl_amx_attend_back_scratch(queries, keys, width);
    const size_t copies =
        fills_tiles(head_dim) ? 0 : sl_amx_attend_copies_bytes(queries, keys, head_dim);
    return copies + (forward > back ? forward : back);
}

static void attend(const struct sl_kernels *at, const struct sl_attention *a)
{
    (void)at;
    if (fills_tiles(a->head_dim))
        sl_amx_attend(a);
    else
        sl_amx_attend_padded(a);
}

static void attend_back(const struct sl_kernels *at, const struct sl_attend_back *b)
{
    (void)at;
    if (fills_tiles(b->forward.head_dim))
        sl_amx_attend_back(b);
    else
        sl_amx_attend_padded_back(b);
}

void sl_kernels_amx(struct sl_kernels *t)
{
    t->operand = SL_BF16;
    t->pack_bytes = sl_amx_pack_bytes;
    t->pack = sl_amx_pack;
    t->gemm = sl_amx_gemm;
    t->transpose = sl_amx_transpose;
    t->narrow = sl_amx_narrow;
    t->widen = sl_amx_widen;
    t->narrow_product = sl_amx_narrow_product;
    t->epilogue = sl_amx_epilogue;
    t->layernorm = layernorm;
    t->dots = sl_amx_dots;
    t->mix = sl_amx_mix;
    t->attend_scratch = attend_scratch;
    t->attend = attend;
    t->attend_back = attend_back;
    t->slopes = sl_amx_slopes;
}
