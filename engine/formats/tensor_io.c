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
    const bool is_narrow = s->dtype == SL_DTYPE_BF16;
    size_t count = slot_count(s);
    if (is_within(s->data, count, is_narrow ? max_narrow : FLT_MAX))
        return true;
    for (size_t i = 0; i < count; i++) {
        float x = s->data[i];
        if (!isfinite(x))
            return sl_fail(err, SL_NOT_FINITE, "tensor '%s': element %zu is %g", s->name, i,
                           (double)x);
        if (is_narrow && fabsf(x) > max_narrow)
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

/* ---- writing --------------------------------------------------------------------------------- */

enum { NAME_BYTES = 256, WHOLE_MOST = 127 };

/* What a file of slots is made of: theirs, and the scales of those that are I8. */
struct unstored {
    struct sl_safetensor_source *tensors;
    int count;
    float *scales; /* of all rows */
    char (*names)[NAME_BYTES];
};

static void scale_name(char name[NAME_BYTES], const char *of)
{
    (void)snprintf(name, NAME_BYTES, "%s_scale", of);
}

float sl_int8_scale(const float *row, int count)
{
    float most = 0.0f;
    for (int i = 0; i < count; i++)
        most = fmaxf(most, fabsf(row[i]));
    return most >= FLT_MIN * (float)WHOLE_MOST ? most / (float)WHOLE_MOST : 1.0f;
}

static void set_scales(const struct sl_tensor_slot *s, float *scales)
{
    for (int r = 0; r < s->rows; r++)
        scales[r] = sl_int8_scale(s->data + (size_t)r * (size_t)s->cols, s->cols);
}

static void add_slot(struct unstored *u, const struct sl_tensor_slot *s, float **scales)
{
    assert(!s->vector || (s->rows == 1 && s->dtype != SL_DTYPE_I8));
    struct sl_safetensor_source *tensor = &u->tensors[u->count++];
    *tensor = (struct sl_safetensor_source){
        .name = s->name,
        .data = s->data,
        .dtype = s->dtype,
        .rank = s->vector ? 1 : 2,
        .shape = {s->vector ? s->cols : s->rows, s->cols},
    };
    if (s->dtype != SL_DTYPE_I8)
        return;
    set_scales(s, *scales);
    tensor->scales = *scales;
    scale_name(u->names[u->count], s->name);
    u->tensors[u->count] = (struct sl_safetensor_source){
        .name = u->names[u->count], .data = *scales, .rank = 1, .shape = {s->rows}};
    u->count++;
    *scales += s->rows;
}

static bool unstored_open(struct unstored *u, struct sl_tensor_slots slots, struct sl_err *err)
{
    const size_t most = 2 * (size_t)slots.count + 1;
    size_t rows = 0;
    for (int i = 0; i < slots.count; i++)
        rows += slots.list[i].dtype == SL_DTYPE_I8 ? (size_t)slots.list[i].rows : 0;
    u->tensors = calloc(most, sizeof *u->tensors);
    u->names = calloc(most, sizeof *u->names);
    u->scales = calloc(rows + 1, sizeof *u->scales);
    if (!u->tensors || !u->names || !u->scales)
        return sl_fail(err, SL_NO_MEMORY, "no memory to write %d tensors", slots.count);
    float *scales = u->scales;
    for (int i = 0; i < slots.count; i++)
        add_slot(u, &slots.list[i], &scales);
    return true;
}

bool sl_tensors_write(const char *path, struct sl_tensor_slots slots,
                      const struct sl_metadata_entry *metadata, int entries, struct sl_err *err)
{
    struct unstored u = {0};
    const bool ok = unstored_open(&u, slots, err) &&
                    sl_safetensors_write(path,
                                         &(struct sl_safetensors_content){.tensors = u.tensors,
                                                                          .count = u.count,
                                                                          .metadata = metadata,
                                                                          .entries = entries},
                                         err);
    free(u.tensors);
    free(u.names);
    free(u.scales);
    return ok;
}

/* ---- reading --------------------------------------------------------------------------------- */

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

/* NULL: it has none. */
static const struct sl_safetensor *scales_of(const struct sl_safetensors *file,
                                             const struct sl_safetensor *t)
{
    char name[NAME_BYTES];
    if (t->dtype != SL_DTYPE_I8)
        return NULL;
    scale_name(name, t->name);
    return sl_safetensors_find(file, name);
}

static bool read_multiples(const struct sl_safetensors *file, const struct sl_safetensor *t,
                           const struct sl_tensor_slot *s, struct sl_err *err)
{
    const struct sl_safetensor *scales = scales_of(file, t);
    if (!scales)
        return sl_fail(err, SL_CORRUPT, "tensor '%s' is of I8, and '%s_scale' is missing", s->name,
                       s->name);
    if (scales->dtype != SL_DTYPE_F32 || scales->rank != 1 || scales->shape[0] != s->rows)
        return sl_fail(err, SL_CORRUPT, "tensor '%s': expected a vector of %d numbers of F32",
                       scales->name, s->rows);
    const int8_t *numbers = (const int8_t *)t->data;
    for (int r = 0; r < s->rows; r++) {
        const size_t first = (size_t)r * (size_t)s->cols;
        float scale;
        memcpy(&scale, scales->data + (size_t)r * sizeof scale, sizeof scale);
        for (int c = 0; c < s->cols; c++)
            s->data[first + (size_t)c] = scale * (float)numbers[first + (size_t)c];
    }
    return true;
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
    if (t->dtype >= SL_DTYPES_READ && t->dtype != SL_DTYPE_I8)
        return sl_fail(err, SL_CORRUPT, "tensor '%s' is of %s: expected F32, F16, BF16 or I8",
                       s->name, sl_dtype_name(t->dtype));
    assert(t->count == slot_count(s));
    if (t->dtype != SL_DTYPE_I8)
        sl_safetensor_read(t, s->data);
    else if (!read_multiples(file, t, s, err))
        return false;
    return slot_check(s, err);
}

static bool has_slot(struct sl_tensor_slots slots, const char *name)
{
    for (int i = 0; i < slots.count; i++)
        if (strcmp(slots.list[i].name, name) == 0)
            return true;
    return false;
}

/* Whether a tensor is the scales of a slot's. */
static bool is_scale(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                     const char *name)
{
    for (int i = 0; i < slots.count; i++) {
        const struct sl_safetensor *of = sl_safetensors_find(file, slots.list[i].name);
        const struct sl_safetensor *scales = of ? scales_of(file, of) : NULL;
        if (scales && strcmp(scales->name, name) == 0)
            return true;
    }
    return false;
}

/* Called when the file has every slot. */
static bool check_others(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                         const char *skipped, struct sl_err *err)
{
    char shape[SL_SHAPE_TEXT];
    for (int i = 0; i < file->count; i++) {
        const struct sl_safetensor *t = &file->tensors[i];
        if (has_slot(slots, t->name) || (skipped && strcmp(t->name, skipped) == 0) ||
            is_scale(file, slots, t->name))
            continue;
        sl_safetensor_shape(t, shape);
        return sl_fail(err, SL_CORRUPT, "tensor '%s' (%s) is unexpected; %d tensors: expected %d",
                       t->name, shape, file->count, slots.count);
    }
    return true;
}

bool sl_tensors_read(const struct sl_safetensors *file, struct sl_tensor_slots slots,
                     const char *skipped, struct sl_err *err)
{
    const bool skips = skipped && !has_slot(slots, skipped) && sl_safetensors_find(file, skipped);
    for (int i = 0; i < slots.count; i++)
        if (!slot_read(file, &slots.list[i], err))
            return false;
    return file->count == slots.count + skips || check_others(file, slots, skipped, err);
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
