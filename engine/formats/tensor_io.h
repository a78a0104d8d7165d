/* tensor_io.h - tensors in memory to a safetensors file and back: by name, every shape and value
 * checked.
 *
 * A matrix x of I8 has a vector x_scale of F32 beside it, of as many numbers as it has rows: its
 * values are the whole numbers of a row times that row's scale. */
#pragma once

#include "formats/safetensors.h"

#include <stdbool.h>

/* A matrix in memory, and how it is kept in a file. Owns nothing. */
struct sl_tensor_slot {
    const char *name;
    float *data; /* rows x cols */
    int rows, cols;
    bool vector;         /* one dimension in the file: biases and norm weights; rows is 1 */
    enum sl_dtype dtype; /* in a file that is written: F32, BF16 or, unless it is a vector, I8 */
};

/* The scale of a row of I8: its largest value becomes the largest whole number, 127 or -127. */
float sl_int8_scale(const float *row, int count);

struct sl_tensor_slots {
    const struct sl_tensor_slot *list;
    int count;
};

/* Fails for a value that is NaN or infinite, or overflows the file's type. */
bool sl_tensors_check(struct sl_tensor_slots slots, struct sl_err *err) SL_MUST_CHECK;

bool sl_tensors_write(const char *path, struct sl_tensor_slots slots,
                      const struct sl_metadata_entry *metadata, int entries, struct sl_err *err)
    SL_MUST_CHECK;

/* Fills every slot. The file must hold exactly these tensors, with these shapes and finite values,
 * and scales; it may also hold `skipped` (NULL: none). On failure the slots are undefined. */
bool sl_tensors_read(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                     const char *skipped, struct sl_err *err) SL_MUST_CHECK;

/* Fills the slots for which the file has a tensor, and counts them. Other slots and tensors are
 * ignored; a different shape is an error. */
bool sl_tensors_read_matching(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                              int *count, struct sl_err *err) SL_MUST_CHECK;
