/* tensor.h - a matrix view, which owns no memory, and a parameter of a model. */
#pragma once

#include "base/arena.h"
#include "kernels/kernels.h"

#include <assert.h>
#include <string.h>

/* rows x cols values; rows are tokens (or sequences), cols are features. Never owns its memory:
 * activations live in the tape's arena, parameters in the model's. A tensor of type SL_BF16 is an
 * operand: written once by an op, read by matrix products. Gradients are fp32, rows x cols,
 * dense. */
struct sl_tensor {
    void *data;    /* NULL in a dry run */
    float *grad;   /* NULL until the backward pass reaches it */
    size_t stride; /* elements from one row to the next */
    int rows, cols;
    enum sl_type type;
    bool needs_grad;
};

/* A named matrix, trained or only saved, with the packed forms that matrix products read. */
struct sl_parameter {
    const char *name;
    float *data; /* rows x cols; NULL once only the packed form is left */
    float *grad; /* NULL unless a trainer owns the model, and if frozen */
    int rows, cols;
    bool frozen;       /* training leaves it as it is: set before gradients are allocated */
    bool decays;       /* subject to weight decay: matrices, not biases, norms and embeddings */
    bool product;      /* read by matrix products, so kept packed as well */
    bool int8;         /* `packed` is: that of sl_int8_pack */
    bool kept;         /* `data` is read while serving, although it is a matrix of products */
    bool compact;      /* `packed` is: half as much to read, for the same results */
    void *packed;      /* B = data^T, for y = x w^T; NULL for what no product reads */
    void *packed_back; /* B = data, for dx = dy w; NULL unless training */
};

static inline size_t sl_parameter_floats(const struct sl_parameter *p)
{
    return sl_size_product((size_t)p->rows, (size_t)p->cols);
}

/* Copies the values if there are both, which have the same shape then. */
static inline void sl_parameter_copy(const struct sl_parameter *to, const struct sl_parameter *from)
{
    if (!to || !from)
        return;
    assert(to->rows == from->rows && to->cols == from->cols);
    memcpy(to->data, from->data, sl_parameter_floats(to) * sizeof *to->data);
}

/* Some rows of a batch, ascending. A NULL pointer to this means all of them. */
struct sl_rows {
    const int32_t *index;
    int count;
};

/* The i-th of them. */
static inline int sl_rows_at(const struct sl_rows *rows, int i)
{
    return rows ? rows->index[i] : i;
}

static inline float *sl_row(const struct sl_tensor *x, int row)
{
    assert(x->type == SL_F32);
    return (float *)x->data + (size_t)row * x->stride;
}

/* A row of either type. */
static inline void *sl_row_any(const struct sl_tensor *x, int row)
{
    return (char *)x->data + (size_t)row * x->stride * sl_type_bytes(x->type);
}

/* The element of a row, of either type, at a column. */
static inline void *sl_columns(const struct sl_tensor *x, int row, int column)
{
    return (char *)sl_row_any(x, row) + (size_t)column * sl_type_bytes(x->type);
}

/* Zeroes the padding of operand rows that are written in parts, as heads write their columns. */
static inline void sl_clear_padding(const struct sl_tensor *x)
{
    size_t padding = (x->stride - (size_t)x->cols) * sl_type_bytes(x->type);
    for (int r = 0; padding && r < x->rows; r++)
        memset(sl_columns(x, r, x->cols), 0, padding);
}

static inline float *sl_grad_row(const struct sl_tensor *x, int row)
{
    return x->grad + (size_t)row * (size_t)x->cols;
}
