/* number_types.h - how the numbers of files are stored, and their values.
 *
 * Numbers of the types of GGUF lie in blocks that share a scale. Formats: ggml-common.h of
 * llama.cpp. */
#pragma once

#include <stddef.h>

enum sl_number_type {
    SL_NUMBER_F32,
    SL_NUMBER_F16,
    SL_NUMBER_BF16,
    SL_NUMBER_Q4_0, /* 32 numbers: an F16 d and 4 bits q each; d (q - 8) */
    SL_NUMBER_Q4_1, /* 32 numbers: F16s d and m and 4 bits q each; d q + m */
    SL_NUMBER_Q8_0, /* 32 numbers: an F16 d and 8 bits q each; d q */
    SL_NUMBER_OTHER /* none that is read */
};

struct sl_number_layout {
    const char *name;
    size_t block, bytes; /* numbers of a block, and its bytes */
};

/* By type, but for SL_NUMBER_OTHER. */
extern const struct sl_number_layout sl_number_layouts[SL_NUMBER_OTHER];

/* The values of whole blocks; count: of numbers. data needs no alignment. */
void sl_numbers_read(enum sl_number_type type, const char *data, size_t count, float *out);
