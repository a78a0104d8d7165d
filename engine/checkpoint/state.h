/* state.h - training that can go on after a stop: parameters and moments in fp32, and counters.
 *
 * A directory like a checkpoint's, written all or nothing: state.safetensors ("parameter.",
 * "first." and "second." before each name), state.json, manifest.json. Numbers come back bit for
 * bit. One writer at a time per directory. */
#pragma once

#include "autograd/tensor.h"
#include "sluice/err.h"

enum sl_counter_kind { SL_WHOLE, SL_NUMBER };

/* One of the trainer's own numbers: the step, the seed, the best loss. */
struct sl_counter {
    const char *name;
    enum sl_counter_kind kind;
    int64_t whole; /* SL_WHOLE */
    double number; /* SL_NUMBER; infinity and NaN are kept */
};

/* Where the parts of a state are in the trainer's memory; nothing is owned. */
struct sl_state {
    const struct sl_parameter *parameters;
    float *const *first, *const *second; /* Adam's moments, as large as each parameter */
    int count;                           /* of parameters, */
    int buffers;                         /* of which the last have no moments */
    struct sl_counter *counters;
    int counters_count;
};

bool sl_state_write(const char *directory, const struct sl_state *state, struct sl_err *err)
    SL_MUST_CHECK;

/* Fills these counters only, which the directory may have more of: whose state it is. */
bool sl_state_peek(const char *directory, struct sl_counter *counters, int count,
                   struct sl_err *err) SL_MUST_CHECK;

/* Fills parameters, moments and the counters, by name: the directory must hold exactly these.
 * On failure they hold anything. */
bool sl_state_read(const char *directory, const struct sl_state *state, struct sl_err *err)
    SL_MUST_CHECK;
