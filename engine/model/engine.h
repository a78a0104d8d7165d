/* engine.h - the kernels and the thread pool that all models of a process compute with. */
#pragma once

#include "autograd/tape.h"
#include "sluice/engine.h"

#include <pthread.h>

struct sl_engine {
    const struct sl_kernels *kernels;
    struct sl_thread_pool *pool;
    bool int8;            /* matrix products, except while training */
    pthread_mutex_t lock; /* held by the thread that runs work on the pool */
    bool keeps_values;    /* of models that are opened, to look at them: model.h, discard_values */
};
