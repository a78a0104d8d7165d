/* isa_levels.h - internal to kernels/: the function of each level that fills its table, and
 * attention for all levels that compute it row by row in fp32. */
#pragma once

#include "kernels/kernels.h"

/* Each overrides the slots that it improves and leaves the inherited ones. */
void sl_ref_kernels(struct sl_kernels *t);
void sl_ref_int8(struct sl_kernels *t);
#ifndef SL_LEVEL_NAME /* simd/level.h declares those of the level */
void sl_portable_kernels(struct sl_kernels *t);
void sl_avx2_kernels(struct sl_kernels *t);
void sl_avx512_kernels(struct sl_kernels *t);
void sl_avx512bf16_kernels(struct sl_kernels *t);
void sl_amx_kernels(struct sl_kernels *t);
void sl_avx2vnni_int8(struct sl_kernels *t);
void sl_avx512vnni_int8(struct sl_kernels *t);
#endif

/* The call of one head of several. */
static inline struct sl_attention sl_attention_head(const struct sl_kernels *t,
                                                    const struct sl_attention *a, int head)
{
    const size_t element = sl_type_bytes(t->operand), h = (size_t)head;
    const size_t columns = h * (size_t)a->head_dim * element;
    const size_t rows = h * a->kv_head * (a->bf16_cache ? sizeof(uint16_t) : element);
    struct sl_attention one = *a;
    one.q = (const char *)a->q + columns;
    one.out = (char *)a->out + columns;
    one.k = (const char *)a->k + rows;
    one.v = (const char *)a->v + rows;
    one.heads = 1;
    return one;
}

/* Attention one query at a time, of fp32 operands, by the row slots of a table. */
size_t sl_attention_rows_scratch(int queries, int keys, int head_dim);
void sl_attention_rows(const struct sl_kernels *kernels, const struct sl_attention *a);
void sl_attention_rows_backward(const struct sl_kernels *kernels,
                                const struct sl_attention_backward *b);
