/* engine.h - start-up: which instructions, how many threads, and what was chosen.
 *
 * An engine is made once and outlives every model, session and trainer that uses it. Work on the
 * pool is run by one thread at a time: one session or one trainer computes at any moment; others
 * wait their turn on the engine's lock, for the length of one batch. */
#pragma once

#include "sluice/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_engine;

struct sl_engine_options {
    int threads; /* 0: as many processors as affinity and cgroup allow */
    const char
        *isa; /* "ref", "blas", "avx2", "avx512", "amx"; NULL: SLUICE_ISA, else the fastest */
};

SL_PUBLIC struct sl_engine *sl_engine_create(const struct sl_engine_options *options,
                                             struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_engine_destroy(struct sl_engine *engine); /* NULL is fine */
SL_PUBLIC int sl_engine_threads(const struct sl_engine *engine);
SL_PUBLIC const char *sl_engine_isa(const struct sl_engine *engine);
/* "bf16" or "fp32": what matrix products read. */
SL_PUBLIC const char *sl_engine_precision(const struct sl_engine *engine);
SL_PUBLIC const char *sl_version(void); /* of this library, "0.1.0" */

#ifdef __cplusplus
}
#endif
