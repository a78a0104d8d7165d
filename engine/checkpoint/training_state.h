/* training_state.h - the state from which training resumes: parameters and AdamW's moments in fp32,
 * and the trainer's counters.
 *
 * A directory like a checkpoint's, written atomically: state.safetensors ("parameter.", "exp_avg.",
 * "exp_avg_sq." and, if weights are averaged, "average." before each name), state.json,
 * manifest.json. All values are restored bit for bit. One writer at a time per directory. */
#pragma once

#include "autograd/tensor.h"
#include "sluice/err.h"

enum sl_state_entry_kind { SL_ENTRY_INTEGER, SL_ENTRY_REAL };

/* One of the trainer's counters: the step, the seed, the best loss. */
struct sl_state_entry {
    const char *name;
    enum sl_state_entry_kind kind;
    int64_t whole; /* SL_ENTRY_INTEGER */
    double number; /* SL_ENTRY_REAL; infinity and NaN are kept */
};

/* The parts of a state in the trainer's memory; owns nothing. */
struct sl_training_state {
    const struct sl_parameter *parameters;
    float *const *first, *const *second; /* Adam's moments, as large as each parameter */
    float *const *average;               /* of each parameter; NULL: there is none */
    int count;                           /* of parameters, */
    int buffers;                         /* of which the last have no moments */
    struct sl_state_entry *counters;
    int counters_count;
};

bool sl_training_state_write(const char *directory, const struct sl_training_state *state,
                             struct sl_err *err) SL_MUST_CHECK;

/* Reads only these counters, to identify the state; the directory may have more. */
bool sl_training_state_peek(const char *directory, struct sl_state_entry *counters, int count,
                            struct sl_err *err) SL_MUST_CHECK;

/* Whether the numbers of two lists of the same counters are the same; the error names those that
 * are not. */
bool sl_state_numbers_agree(const struct sl_state_entry *saved, const struct sl_state_entry *asked,
                            int count, struct sl_err *err) SL_MUST_CHECK;

/* Fills parameters, moments and the counters, by name: the directory must hold exactly these. On
 * failure they are undefined. */
bool sl_training_state_read(const char *directory, const struct sl_training_state *state,
                            struct sl_err *err) SL_MUST_CHECK;
