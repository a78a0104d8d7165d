/* transevolve_score_table.c - parts of operands, for the ops that make and read the table. */
#include "arch/transevolve/transevolve_score_table.h"

#include "base/int_math.h"

#include <string.h>

void *sl_scratch_take(struct sl_scratch *scratch, size_t bytes)
{
    void *piece = scratch->base ? scratch->base + scratch->used : NULL;
    scratch->used += sl_round_up(bytes, SL_ALIGN);
    return piece;
}

size_t sl_head_rows_bytes(const struct sl_kernels *k, int rows, int columns)
{
    return (size_t)rows * sl_operand_stride(k, columns) * sl_type_bytes(k->operand);
}

void sl_head_rows_as_left_operand(const struct sl_kernels *k, const struct sl_head_rows *p,
                                  void *spare, struct sl_gemm *g)
{
    const bool alone = k->operand == SL_F32 || p->columns % SL_PANEL == 0;
    const size_t stride = sl_operand_stride(k, p->columns), bytes = sl_type_bytes(k->operand);
    g->m = p->rows;
    g->k = p->columns;
    g->x = alone ? sl_head_row(p, 0) : spare;
    g->x_stride = alone ? p->x->stride : stride;
    for (int i = 0; !alone && i < p->rows; i++) {
        char *row = (char *)spare + (size_t)i * stride * bytes;
        memset(row, 0, stride * bytes);
        memcpy(row, sl_head_row(p, i), (size_t)p->columns * bytes);
    }
}

void sl_head_row_write(const struct sl_kernels *k, const struct sl_head_rows *p, int i,
                       const float *y, void *spare)
{
    k->to_operands(spare, y, p->columns);
    memcpy(sl_head_row(p, i), spare, (size_t)p->columns * sl_type_bytes(k->operand));
}
