/* level.h - the files of simd/ and tiles/ are compiled once per level, with its name in
 * SL_LEVEL_NAME. What they define carries that name: SL_LEVEL(rows) is sl_avx2_rows at the level
 * avx2. */
#pragma once

#include "kernels/kernels.h"

#ifdef SL_LEVEL_NAME
#define SL_LEVEL_PASTE(level, name)  sl_##level##_##name
#define SL_LEVEL_EXPAND(level, name) SL_LEVEL_PASTE(level, name)
#define SL_LEVEL(name)               SL_LEVEL_EXPAND(SL_LEVEL_NAME, name)

/* The slots of one file each, and all of them. */
void SL_LEVEL(kernels)(struct sl_kernels *t);
void SL_LEVEL(rows)(struct sl_kernels *t);
void SL_LEVEL(gather)(struct sl_kernels *t);
void SL_LEVEL(gemm)(struct sl_kernels *t);
void SL_LEVEL(pack)(struct sl_kernels *t);
void SL_LEVEL(int8)(struct sl_kernels *t);
#endif
