/* linear.h - internal to linear.c and linear_backward.c: the arguments of a linear node. */
#pragma once

#include "base/int_math.h"
#include "ops/ops.h"

/* Its input and its parameters. */
enum { SL_LINEAR_X };

enum { SL_LINEAR_WEIGHT, SL_LINEAR_BIAS };

/* A tile of the result that is computed and finished together: 32 KiB, so it is in the L1 cache
 * when bias, activation, dropout and rounding are applied. */
enum { SL_LINEAR_ROWS = 64, SL_LINEAR_COLUMNS = 128 };

/* The rows of the residual stream that results are added to. */
struct sl_residual_rows {
    const int32_t *rows; /* NULL: all */
    const float *gates;  /* NULL: 1 */
    float scale;
};

struct sl_linear {
    enum sl_activation activation;
    struct sl_dropout dropout;
    uint64_t random_key;
    const int32_t *origin;
    const struct sl_residual_rows *adds; /* or NULL */
    struct sl_tensor *slope; /* dy/dz through activation and dropout; kept while training */
    int blocks, column_pieces, columns; /* columns of one piece */
};

size_t sl_linear_backward_scratch(const struct sl_node *n);
void sl_linear_backward(const struct sl_node *n);
