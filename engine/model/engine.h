/* engine.h - the kernels and the thread pool that all models of a process compute with. */
#pragma once

#include "autograd/tape.h"
#include "sluice/engine.h"

#include <pthread.h>

struct sl_engine {
    const struct sl_kernels *kernels;
    /* Of models in each precision; NULL: this CPU has none */
    const struct sl_kernels *kernels_for[SL_PRECISION_COUNT];
    struct sl_thread_pool *pool;
    enum sl_precision precision; /* of all models, in int8 except while training; or any */
    /* Faster than `kernels`, so for models that lose nothing by them: bits of 1 << precision */
    unsigned preferred;
    pthread_mutex_t lock; /* held by the thread that runs work on the pool */
    pthread_mutex_t shared_lock;
    struct sl_shared_values *shared; /* by its models, under that lock: shared_values.h */
    bool keeps_values; /* of models that are opened, to read them: model.h, discard_values */
};

/* How much a precision changes the results of a model beside fp32, as a fraction: the increase of
 * its loss, or what `sluice import` compares. */
struct sl_precision_cost {
    bool measured;
    double increase;
};

/* What a model is computed in: the fastest precision that the engine prefers and that costs the
 * model at most 0.1 %; if there is none, the engine's. costs: of each precision. */
enum sl_precision sl_engine_default_precision(const struct sl_engine *engine,
                                              const struct sl_precision_cost *costs);
/* "fp32", "bf16" or "int8". */
const char *sl_precision_of(const struct sl_kernels *kernels, bool int8);
