/* tensor_io.c - matches slots with the tensors of a file. */
#include "formats/tensor_io.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest finite BF16, 0x7F7F. */
static const float max_narrow = 0x1.FEp127f;

static size_t slot_count(const struct sl_tensor_slot *s)
{
    return (size_t)s->rows * (size_t)s->cols;
}

/* NaN is not. Without a branch for each element, so that several are compared at a time. */
static bool is_within(const float *x, size_t count, float max)
{
    int outside = 0;
    for (size_t i = 0; i < count; i++)
        outside |= !(fabsf(x[i]) <= max);
    return !outside;
}

static bool slot_check(const struct sl_tensor_slot *s, struct sl_err *err)
{
    size_t count = slot_count(s);
    if (is_within(s->data, count, s->bf16 ? max_narrow : FLT_MAX))
        return true;
    for (size_t i = 0; i < count; i++) {
        float x = s->data[i];
        if (!isfinite(x))
            return sl_fail(err, SL_NOT_FINITE, "tensor '%s': element %zu is %g", s->name, i,
                           (double)x);
        if (s->bf16 && fabsf(x) > max_narrow)
            return sl_fail(err, SL_NOT_FINITE, "tensor '%s': element %zu is %g, too large for BF16",
                           s->name, i, (double)x);
    }
    return true;
}

bool sl_tensors_check(struct sl_tensor_slots slots, struct sl_err *err)
{
    for (int i = 0; i < slots.count; i++)
        if (!slot_check(&slots.list[i], err))
            return false;
    return true;
}

static struct sl_safetensor_source unstored_of(const struct sl_tensor_slot *s)
{
    assert(!s->vector || s->rows == 1);
    return (struct sl_safetensor_source){
        .name = s->name,
        .data = s->data,
        .dtype = s->bf16 ? SL_DTYPE_BF16 : SL_DTYPE_F32,
        .rank = s->vector ? 1 : 2,
        .shape = {s->vector ? s->cols : s->rows, s->cols},
    };
}

bool sl_tensors_write(const char *path, struct sl_tensor_slots slots,
                      const struct sl_metadata_entry *metadata, int entries, struct sl_err *err)
{
    struct sl_safetensor_source *tensors = calloc((size_t)slots.count + 1, sizeof *tensors);
    if (!tensors)
        return sl_fail(err, SL_NO_MEMORY, "no memory to write %d tensors", slots.count);
    for (int i = 0; i < slots.count; i++)
        tensors[i] = unstored_of(&slots.list[i]);
    const struct sl_safetensors_content content = {
        .tensors = tensors, .count = slots.count, .metadata = metadata, .entries = entries};
    bool ok = sl_safetensors_write(path, &content, err);
    free(tensors);
    return ok;
}

/* A row may be stored with one dimension or with two. */
static bool shape_fits(const struct sl_safetensor *t, const struct sl_tensor_slot *s)
{
    if (t->rank == 1)
        return s->rows == 1 && t->shape[0] == s->cols;
    return t->rank == 2 && t->shape[0] == s->rows && t->shape[1] == s->cols;
}

static void slot_shape(const struct sl_tensor_slot *s, char text[SL_SHAPE_TEXT])
{
    if (s->vector)
        (void)snprintf(text, SL_SHAPE_TEXT, "%d", s->cols);
    else
        (void)snprintf(text, SL_SHAPE_TEXT, "%dx%d", s->rows, s->cols);
}

static bool slot_read(const struct sl_safetensors *file, const struct sl_tensor_slot *s,
                      struct sl_err *err)
{
    char want[SL_SHAPE_TEXT], have[SL_SHAPE_TEXT];
    slot_shape(s, want);
    const struct sl_safetensor *t = sl_safetensors_find(file, s->name);
    if (!t)
        return sl_fail(err, SL_CORRUPT, "tensor '%s' (%s) is missing", s->name, want);
    sl_safetensor_shape(t, have);
    if (!shape_fits(t, s))
        return sl_fail(err, SL_CORRUPT, "tensor '%s': shape %s: expected %s", s->name, have, want);
    if (t->dtype >= SL_DTYPES_READ)
        return sl_fail(err, SL_CORRUPT, "tensor '%s' is of %s: expected F32, F16 or BF16", s->name,
                       sl_dtype_name(t->dtype));
    assert(t->count == slot_count(s));
    sl_safetensor_read(t, s->data);
    return slot_check(s, err);
}

static bool has_slot(struct sl_tensor_slots slots, const char *name)
{
    for (int i = 0; i < slots.count; i++)
        if (strcmp(slots.list[i].name, name) == 0)
            return true;
    return false;
}

/* Called when the file has every slot, yet more tensors. */
static bool fail_surplus(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                         const char *skipped, struct sl_err *err)
{
    const struct sl_safetensor *t = file->tensors;
    while (has_slot(slots, t->name) || (skipped && strcmp(t->name, skipped) == 0))
        t++;
    char shape[SL_SHAPE_TEXT];
    sl_safetensor_shape(t, shape);
    return sl_fail(err, SL_CORRUPT, "tensor '%s' (%s) is unexpected; %d tensors: expected %d",
                   t->name, shape, file->count, slots.count);
}

bool sl_tensors_read(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                     const char *skipped, struct sl_err *err)
{
    const bool skips = skipped && !has_slot(slots, skipped) && sl_safetensors_find(file, skipped);
    for (int i = 0; i < slots.count; i++)
        if (!slot_read(file, &slots.list[i], err))
            return false;
    return file->count == slots.count + skips ||
           fail_surplus(file, slots, skips ? skipped : NULL, err);
}

bool sl_tensors_read_matching(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                              int *count, struct sl_err *err)
{
    *count = 0;
    for (int i = 0; i < slots.count; i++) {
        if (!sl_safetensors_find(file, slots.list[i].name))
            continue;
        if (!slot_read(file, &slots.list[i], err))
            return false;
        ++*count;
    }
    return true;
}
