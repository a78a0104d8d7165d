/* engine.h - the kernels and the thread pool that all models of a process compute with. */
#pragma once

#include "autograd/tape.h"
#include "sluice/engine.h"

#include <pthread.h>

struct sl_engine {
    const struct sl_kernels *kernels;
    const struct sl_kernels *int8_kernels; /* of models that multiply int8: the same operands */
    struct sl_thread_pool *pool;
    bool int8;            /* all models do, except while training */
    bool prefers_int8;    /* models that lose nothing by it do: sl_engine_chooses_int8 */
    pthread_mutex_t lock; /* held by the thread that runs work on the pool */
    pthread_mutex_t shared_lock;
    struct sl_shared_values *shared; /* by its models, under that lock: shared_values.h */
    bool keeps_values; /* of models that are opened, to read them: model.h, discard_values */
};

/* Whether a model whose loss int8 raises by this fraction is computed in int8; NAN: unknown. */
bool sl_engine_chooses_int8(const struct sl_engine *engine, double loss_increase);
/* "fp32", "bf16" or "int8". */
const char *sl_precision_of(const struct sl_kernels *kernels, bool int8);
