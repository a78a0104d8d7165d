/* avx512bf16_table.c - the table of the level with bf16 operands and without tiles; everything else
 * from AVX-512. */
#include "kernels/avx512bf16.h"
#include "kernels/isa_levels.h"

static void layernorm(void *y, const float *x, const float *weight, const float *bias,
                      float epsilon, int n, float stats[2])
{
    vec_moments(x, n, epsilon, stats);
    const __m512 mean = _mm512_set1_ps(stats[0]), inverse = _mm512_set1_ps(stats[1]);
    uint16_t *out = y;
    for (int i = 0; i < n; i += 32) {
        __m512 half[2];
        for (int h = 0; h < 2; h++) {
            const int at = i + 16 * h < n ? i + 16 * h : i; /* never point past the end */
            const __mmask16 mask = vec_mask(n - i - 16 * h);
            const __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + at), mean);
            const __m512 g = _mm512_maskz_loadu_ps(mask, weight + at);
            const __m512 s = _mm512_maskz_loadu_ps(mask, bias + at);
            half[h] = _mm512_maskz_fmadd_ps(mask, _mm512_mul_ps(d, inverse), g, s);
        }
        _mm512_storeu_si512(out + i, sl_to_bf16_32(half[0], half[1]));
    }
}

/* Packed matrices are bf16 already. */
static bool compact(void *packed, int k, int n)
{
    (void)packed;
    (void)k;
    (void)n;
    return false;
}

void sl_avx512bf16_kernels(struct sl_kernels *t)
{
    t->operand = SL_BF16;
    t->pack_bytes = sl_bf16_pack_bytes;
    t->pack = sl_bf16_pack;
    t->compact = compact;
    t->gemm = sl_bf16_gemm;
    t->transpose = sl_bf16_transpose;
    t->to_operands = sl_bf16_to_operands;
    t->from_operands = sl_bf16_from_operands;
    t->multiply_to_operands = sl_bf16_multiply_to_operands;
    t->epilogue = sl_bf16_epilogue;
    t->layernorm = layernorm;
    t->gather_dot = sl_bf16_gather_dot;
    t->gather_sum = sl_bf16_gather_sum;
    t->attention_scratch = sl_bf16_attention_scratch;
    t->attention = sl_bf16_attention;
    t->attention_backward = sl_bf16_attention_backward;
    t->softmax_backward = sl_bf16_softmax_backward;
}
