/* epilogue_unfused.c - `epilogue` in separate steps. This is its definition; levels that do not
 * fuse the steps use it. */
#include "kernels/isa_levels.h"

enum { SEGMENT = 64 }; /* a multiple of 32, so that padding comes last */

static void epilogue_segment(const struct sl_kernels *t, const struct sl_epilogue *f, int at, int n)
{
    float slope[SEGMENT], *y = f->products + at;
    const size_t offset = (size_t)at * sl_type_bytes(t->operand);
    if (f->bias)
        t->axpy(y, 1.0f, f->bias + at, n);
    if (f->slope)
        t->activate_with_slope(y, slope, y, f->activation, n);
    else if (f->activation != SL_LINEAR)
        t->activate(y, y, f->activation, n);
    if (f->dropout.threshold)
        t->dropout(y, y, f->dropout, f->row_key, f->first + at, n);
    if (f->dropout.threshold && f->slope)
        t->dropout(slope, slope, f->dropout, f->row_key, f->first + at, n);
    if (f->slope)
        t->to_operands((char *)f->slope + offset, slope, n);
    if (f->out)
        t->to_operands((char *)f->out + offset, y, n);
}

void sl_epilogue_rows(const struct sl_kernels *t, const struct sl_epilogue *f)
{
    for (int at = 0; at < f->n; at += SEGMENT)
        epilogue_segment(t, f, at, f->n - at < SEGMENT ? f->n - at : SEGMENT);
}
