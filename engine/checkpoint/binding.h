/* binding.h - numbers by name: which tensors a file must hold, and where in memory each belongs. */
#pragma once

#include "checkpoint/safetensors.h"

#include <stdbool.h>

/* A matrix in memory, and how it is kept in a file. Owns nothing. */
struct sl_slot {
    const char *name;
    float *data; /* rows x cols */
    int rows, cols;
    bool vector; /* one dimension in the file: a bias, a gain; rows is 1 */
    bool narrow; /* BF16 in the file */
};

struct sl_slots {
    const struct sl_slot *list;
    int count;
};

/* Fails for a number that is not finite, or would not be in the file. */
bool sl_slots_check(struct sl_slots slots, struct sl_err *err) SL_MUST_CHECK;

bool sl_slots_write(const char *path, struct sl_slots slots, const struct sl_entry *metadata,
                    int entries, struct sl_err *err) SL_MUST_CHECK;

/* Fills every slot. The file must hold these tensors, no others, in these shapes, and finite.
 * On failure the slots hold anything. */
bool sl_slots_read(const struct sl_safetensors *file, struct sl_slots slots, struct sl_err *err)
    SL_MUST_CHECK;

/* Fills the slots that the file has a tensor for, and says how many. Others, on both sides, are
 * left alone; a shape that does not fit is an error. */
bool sl_slots_read_common(const struct sl_safetensors *file, struct sl_slots slots, int *count,
                          struct sl_err *err) SL_MUST_CHECK;
