/* engine.h - the instruction set and the thread pool that models compute with.
 *
 * Create one engine; it must outlive every model, session and trainer that uses it. Any thread may
 * use it. One session, classifier or trainer computes at a time; others wait on the engine's lock
 * for the length of one batch. */
#pragma once

#include "sluice/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_engine;

struct sl_engine_options {
    int threads; /* 0: as many processors as affinity and cgroup allow */
    const char
        *isa; /* "ref", "portable", "avx2", "avx512", "amx"; NULL: SLUICE_ISA, else the fastest */
    /* "fp32", "bf16" (AVX512-BF16 or AMX) or, not to train, "int8"; NULL: bf16 with AMX; with
     * VNNI, int8 for models whose config.json says that it raises their loss by at most 0.1 %;
     * else fp32 */
    const char *precision;
};

SL_PUBLIC struct sl_engine *sl_engine_create(const struct sl_engine_options *options,
                                             struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_engine_destroy(struct sl_engine *engine); /* NULL is fine */
SL_PUBLIC int sl_engine_threads(const struct sl_engine *engine);
SL_PUBLIC const char *sl_engine_isa(const struct sl_engine *engine);
/* "fp32", "bf16" or "int8": the inputs of matrix products. NULL was given: of models for which
 * int8 is not chosen; sl_model_info says it for each. */
SL_PUBLIC const char *sl_engine_precision(const struct sl_engine *engine);
SL_PUBLIC const char *sl_version(void); /* of this library, "0.1.0" */

#ifdef __cplusplus
}
#endif
