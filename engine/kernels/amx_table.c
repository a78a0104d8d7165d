/* amx_table.c - the table of the AMX level: bf16 operands, everything else from AVX-512. */
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"
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

static bool fills_tiles(int head_dim)
{
    return head_dim % TILE_K == 0;
}

static size_t attention_scratch(int queries, int keys, int head_dim)
{
    const int width = sl_ceil_div(head_dim, TILE_K) * TILE_K;
    const size_t forward = sl_amx_attention_scratch(queries, keys, width);
    const size_t back = sl_amx_attention_backward_scratch(queries, keys, width);
    const size_t copies =
        fills_tiles(head_dim) ? 0 : sl_amx_attention_padded_bytes(queries, keys, head_dim);
    return copies + (forward > back ? forward : back);
}

static void attention(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    (void)kernels;
    if (fills_tiles(a->head_dim))
        sl_amx_attention(a);
    else
        sl_amx_attention_padded(a);
}

static void attention_backward(const struct sl_kernels *kernels,
                               const struct sl_attention_backward *b)
{
    (void)kernels;
    if (fills_tiles(b->forward.head_dim))
        sl_amx_attention_backward(b);
    else
        sl_amx_attention_padded_backward(b);
}

/* Packed matrices are bf16 already. */
static bool compact(void *packed, int k, int n)
{
    (void)packed;
    (void)k;
    (void)n;
    return false;
}

void sl_amx_kernels(struct sl_kernels *t)
{
    t->operand = SL_BF16;
    t->pack_bytes = sl_amx_pack_bytes;
    t->pack = sl_amx_pack;
    t->compact = compact;
    t->gemm = sl_amx_gemm;
    t->transpose = sl_amx_transpose;
    t->to_operands = sl_amx_to_operands;
    t->from_operands = sl_amx_from_operands;
    t->multiply_to_operands = sl_amx_multiply_to_operands;
    t->epilogue = sl_amx_epilogue;
    t->layernorm = layernorm;
    t->gather_dot = sl_amx_gather_dot;
    t->gather_sum = sl_amx_gather_sum;
    t->attention_scratch = attention_scratch;
    t->attention = attention;
    t->attention_backward = attention_backward;
    t->softmax_backward = sl_amx_softmax_backward;
}
