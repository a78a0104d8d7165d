/* tile_attention.h - the pieces of attention in tiles. */
#pragma once

#include "kernels/isa_levels.h"
#include "kernels/simd/level.h"

/* Tiles of AMX read rows of keys; without it, 16 keys at a time are a vector of pairs. */
#ifdef __AMX_TILE__
enum { KEYS_IN_PAIRS = false };
#else
enum { KEYS_IN_PAIRS = true };
#endif

#ifdef SL_LEVEL_NAME
size_t SL_LEVEL(attention_scratch)(int keys, int head_dim);
void SL_LEVEL(attention)(const struct sl_kernels *kernels, const struct sl_attention *a);
size_t SL_LEVEL(attention_backward_scratch)(int queries, int head_dim);
void SL_LEVEL(attention_backward)(const struct sl_kernels *kernels,
                                  const struct sl_attention_backward *b);
/* One query of a KV cache whose heads fill tiles, with the bits of `attention`. */
size_t SL_LEVEL(attention_decode_scratch)(int keys, int head_dim);
void SL_LEVEL(attention_decode)(const struct sl_kernels *kernels, const struct sl_attention *a);
#endif
