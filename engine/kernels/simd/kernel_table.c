/* kernel_table.c - the slots that simd/ fills. */
#include "kernels/simd/level.h"

void SL_LEVEL(kernels)(struct sl_kernels *t)
{
    SL_LEVEL(rows)(t);
    SL_LEVEL(gather)(t);
    SL_LEVEL(gemm)(t);
    SL_LEVEL(pack)(t);
    SL_LEVEL(int8)(t);
}
