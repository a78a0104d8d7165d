/* op_check.h - the gradients of an op with respect to every input and parameter, against finite
 * differences: an op in one of its uses is a row of a table. */
#pragma once

#include "support/model_fixture.h"

enum {
    ROWS = 13,
    COLS = 20,
    OUTS = 12,
    NARROW = 8,
    BINS = 4,
    LEAVES = 3,
    PARAMETERS = 4,
    EXPERTS = 5
};

/* The inputs that may be varied: leaves are activations. */
struct op_inputs {
    float leaves[LEAVES][ROWS * 2 * COLS];
    struct sl_tensor *tensors[LEAVES];
    struct sl_parameter parameters[PARAMETERS];
    float data[PARAMETERS][OUTS * 2 * COLS], grads[PARAMETERS][OUTS * 2 * COLS];
};

struct op_case {
    const char *name;
    int leaf_rows[LEAVES], leaf_cols[LEAVES];                   /* 0: not used */
    int parameter_rows[PARAMETERS], parameter_cols[PARAMETERS]; /* 0: not used */
    int products; /* this many parameters, the first ones, are read by products */
    struct sl_tensor *(*build)(struct sl_tape *t, struct op_inputs *in);
};

/* A number for each index, from N(0, 1). */
float op_weight(int i);

/* Fails the test if a gradient of the case is not the slope of a loss that looks at every element
 * of the result. The batch has sequences of 6, 1 and 6 rows. */
void op_check(const struct op_case *c, struct sl_engine *engine);
