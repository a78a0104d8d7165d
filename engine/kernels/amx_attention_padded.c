/* amx_attention_padded.c - attention in tiles for heads that do not fill them.
 *
 * Copies of the operands have rows of whole tiles, padded with zeros: these add nothing to a score,
 * and the extra result columns are dropped. A head of 6 columns takes as long as one of 32, a tenth
 * of the time that its rows would take one by one. */
#include "base/int_math.h"
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"

#include <assert.h>

/* Rows of `width` elements, without padding between them. */
struct copies {
    int width;
    uint16_t *q, *k, *v, *out;
    float *dout, *dq, *dk, *dv; /* backward only */
    void *rest;                 /* scratch of the attention itself */
};

static struct copies lay_out(void *scratch, int queries, int keys, int head_dim, size_t *used)
{
    struct copies c = {.width = sl_ceil_div(head_dim, TILE_K) * TILE_K};
    const size_t q = (size_t)queries * (size_t)c.width, kv = (size_t)keys * (size_t)c.width;
    *used = 0;
    c.q = sl_bf16_take(scratch, used, q * sizeof *c.q);
    c.k = sl_bf16_take(scratch, used, kv * sizeof *c.k);
    c.v = sl_bf16_take(scratch, used, kv * sizeof *c.v);
    c.out = sl_bf16_take(scratch, used, q * sizeof *c.out);
    c.dout = sl_bf16_take(scratch, used, q * sizeof *c.dout);
    c.dq = sl_bf16_take(scratch, used, q * sizeof *c.dq);
    c.dk = sl_bf16_take(scratch, used, kv * sizeof *c.dk);
    c.dv = sl_bf16_take(scratch, used, kv * sizeof *c.dv);
    c.rest = sl_bf16_take(scratch, used, 0);
    return c;
}

size_t sl_amx_attention_padded_bytes(int queries, int keys, int head_dim)
{
    size_t used;
    (void)lay_out(NULL, queries, keys, head_dim, &used);
    return used;
}

/* -- rows ----------------------------------------------------------------------------------- */

static void pad_operands(uint16_t *to, int width, const void *from, size_t stride, int rows, int n)
{
    for (int r = 0; r < rows; r++, to += width) {
        const uint16_t *x = (const uint16_t *)from + (size_t)r * stride;
        for (int c = 0; c < width; c += TILE_K)
            _mm512_storeu_si512(to + c, _mm512_maskz_loadu_epi16(vec_mask32(n - c), x + c));
    }
}

static void take_operands(void *to, size_t stride, const uint16_t *from, int width, int rows, int n)
{
    for (int r = 0; r < rows; r++, from += width) {
        uint16_t *y = (uint16_t *)to + (size_t)r * stride;
        for (int c = 0; c < n; c += TILE_K)
            _mm512_mask_storeu_epi16(y + c, vec_mask32(n - c), _mm512_loadu_si512(from + c));
    }
}

static void pad_floats(float *to, int width, const float *from, size_t stride, int rows, int n)
{
    for (int r = 0; r < rows; r++, to += width, from += stride)
        for (int c = 0; c < width; c += 16)
            _mm512_storeu_ps(to + c, _mm512_maskz_loadu_ps(vec_mask(n - c), from + c));
}

static void take_floats(float *to, size_t stride, const float *from, int width, int rows, int n)
{
    for (int r = 0; r < rows; r++, to += stride, from += width)
        for (int c = 0; c < n; c += 16)
            _mm512_mask_storeu_ps(to + c, vec_mask(n - c), _mm512_loadu_ps(from + c));
}

/* -- both directions ------------------------------------------------------------------------ */

static struct sl_attention padded(const struct sl_attention *a, const struct copies *c)
{
    struct sl_attention wide = *a;
    pad_operands(c->q, c->width, a->q, a->q_stride, a->queries, a->head_dim);
    pad_operands(c->k, c->width, a->k, a->kv_stride, a->keys, a->head_dim);
    pad_operands(c->v, c->width, a->v, a->kv_stride, a->keys, a->head_dim);
    wide.q = c->q;
    wide.k = c->k;
    wide.v = c->v;
    wide.out = c->out;
    wide.q_stride = wide.kv_stride = wide.out_stride = (size_t)c->width;
    wide.head_dim = c->width;
    wide.scratch = c->rest;
    return wide;
}

void sl_amx_attention_padded(const struct sl_attention *a)
{
    size_t used;
    assert(a->scratch);
    const struct copies c = lay_out(a->scratch, a->queries, a->keys, a->head_dim, &used);
    const struct sl_attention wide = padded(a, &c);
    sl_amx_attention(&wide);
    take_operands(a->out, a->out_stride, c.out, c.width, a->queries, a->head_dim);
}

void sl_amx_attention_padded_backward(const struct sl_attention_backward *b)
{
    const struct sl_attention *a = &b->forward;
    size_t used;
    assert(a->scratch);
    const struct copies c = lay_out(a->scratch, a->queries, a->keys, a->head_dim, &used);
    const struct sl_attention_backward wide = {.forward = padded(a, &c),
                                               .dout = c.dout,
                                               .dq = c.dq,
                                               .dk = c.dk,
                                               .dv = c.dv,
                                               .dout_stride = (size_t)c.width,
                                               .dq_stride = (size_t)c.width,
                                               .dkv_stride = (size_t)c.width};
    pad_operands(c.out, c.width, a->out, a->out_stride, a->queries, a->head_dim);
    pad_floats(c.dout, c.width, b->dout, b->dout_stride, a->queries, a->head_dim);
    sl_amx_attention_backward(&wide);
    take_floats(b->dq, b->dq_stride, c.dq, c.width, a->queries, a->head_dim);
    take_floats(b->dk, b->dkv_stride, c.dk, c.width, a->keys, a->head_dim);
    take_floats(b->dv, b->dkv_stride, c.dv, c.width, a->keys, a->head_dim);
}
