/* isa_levels.h - internal to kernels/: the function of each level that fills its table, and
 * attention for all levels that compute it row by row in fp32. */
#pragma once

#include "kernels/kernels.h"

/* Each overrides the slots that it improves and leaves the inherited ones. */
void sl_ref_kernels(struct sl_kernels *t);
void sl_portable_kernels(struct sl_kernels *t);
void sl_avx2_kernels(struct sl_kernels *t);
void sl_avx512_kernels(struct sl_kernels *t);
void sl_avx512bf16_kernels(struct sl_kernels *t);
void sl_amx_kernels(struct sl_kernels *t);

/* Attention one query at a time, of fp32 operands, by the row slots of a table. */
size_t sl_attention_rows_scratch(int queries, int keys, int head_dim);
void sl_attention_rows(const struct sl_kernels *kernels, const struct sl_attention *a);
void sl_attention_rows_backward(const struct sl_kernels *kernels,
                                const struct sl_attention_backward *b);

/* `epilogue` made of the other slots of a level, a segment at a time. */
void sl_epilogue_rows(const struct sl_kernels *t, const struct sl_epilogue *f);
