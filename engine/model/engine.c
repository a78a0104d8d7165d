/* engine.c - the kernels and the thread pool of a process. */
#include "model/engine.h"
#include "base/allocate.h"
#include "base/comma_list.h"

#include "base/cpu.h"
#include "base/thread_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Fails for an instruction set that is unknown or not supported by this CPU. Those that only a
 * precision selects are not listed. */
static const struct sl_kernels *fail_isa(const char *what, const char *isa, struct sl_err *err)
{
    char supported[64] = "";
    for (int level = SL_ISA_REF; level < SL_ISA_COUNT; level++)
        if (!sl_isa_needs_precision((enum sl_isa)level) && sl_kernels_for((enum sl_isa)level))
            sl_list_add(supported, sizeof supported, sl_isa_name((enum sl_isa)level));
    (void)sl_fail_value(err, what, isa, "expected one that this CPU supports: %s", supported);
    return NULL;
}

/* isa NULL: the one that SLUICE_ISA names, or else the fastest. */
static const struct sl_kernels *kernels_named(const char *isa, struct sl_err *err)
{
    if (!isa) {
        const struct sl_kernels *best = sl_kernels_best();
        // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets it
        return best ? best : fail_isa("SLUICE_ISA", getenv("SLUICE_ISA"), err);
    }
    for (int level = SL_ISA_REF; level < SL_ISA_COUNT; level++) {
        if (strcmp(sl_isa_name((enum sl_isa)level), isa) != 0)
            continue;
        const struct sl_kernels *kernels = sl_kernels_for((enum sl_isa)level);
        return kernels ? kernels : fail_isa("isa", isa, err);
    }
    return fail_isa("isa", isa, err);
}

static const char *const precisions[] =
    {[SL_PRECISION_FP32] = "fp32", [SL_PRECISION_BF16] = "bf16", [SL_PRECISION_INT8] = "int8"};

static enum sl_precision precision_named(const char *name)
{
    int p = SL_PRECISION_INT8;
    while (p > SL_PRECISION_ANY && strcmp(name, precisions[p]) != 0)
        p--;
    return (enum sl_precision)p;
}

static bool choose_precision(struct sl_engine *engine, const char *name, struct sl_err *err)
{
    const enum sl_precision precision = precision_named(name);
    if (precision == SL_PRECISION_ANY)
        return sl_fail_value(err, "precision", name, "expected fp32, bf16 or int8");
    const struct sl_kernels *found = sl_kernels_with(engine->kernels, precision);
    if (!found)
        return sl_fail_value(err, "precision", name, "%s on this CPU computes in fp32 or int8 only",
                             engine->kernels->name);
    engine->kernels = found;
    engine->precision = precision;
    return true;
}

/* Levels that are for a precision alone are faster: VNNI, and VDPBF16PS unless it is Intel's. */
static void choose_preferred(struct sl_engine *engine)
{
    for (int p = SL_PRECISION_BF16; p <= SL_PRECISION_INT8; p++) {
        const struct sl_kernels *kernels = engine->kernels_for[p];
        if (kernels && kernels->isa != engine->kernels->isa &&
            !(p == SL_PRECISION_BF16 && sl_cpu_is_intel()))
            engine->preferred |= 1u << p;
    }
}

static bool choose(struct sl_engine *engine, const struct sl_engine_options *options,
                   struct sl_err *err)
{
    const char *precision = options->precision;
    engine->kernels = kernels_named(options->isa, err);
    if (!engine->kernels || (precision && !choose_precision(engine, precision, err)))
        return false;
    for (int p = SL_PRECISION_ANY; p < SL_PRECISION_COUNT; p++)
        engine->kernels_for[p] = sl_kernels_with(engine->kernels, (enum sl_precision)p);
    if (!precision)
        choose_preferred(engine);
    return true;
}

struct sl_engine *sl_engine_create(const struct sl_engine_options *options, struct sl_err *err)
{
    enum { THREADS_MAX = 1024 };

    if (options->threads < 0 || options->threads > THREADS_MAX) {
        sl_fail(err, SL_BAD_INPUT, "invalid threads '%d': expected 0 (all processors) to %d",
                options->threads, THREADS_MAX);
        return NULL;
    }
    struct sl_engine chosen = {0};
    if (!choose(&chosen, options, err))
        return NULL;
    struct sl_engine *engine = sl_new(sizeof *engine, "an engine", err);
    if (!engine)
        return NULL;
    *engine = chosen;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->shared_lock, NULL);
    engine->pool =
        sl_thread_pool_create(options->threads ? options->threads : sl_cpu_budget(), err);
    if (engine->pool)
        return engine;
    sl_engine_destroy(engine);
    return NULL;
}

void sl_engine_destroy(struct sl_engine *engine)
{
    if (!engine)
        return;
    sl_thread_pool_destroy(engine->pool);
    assert(!engine->shared); /* models are closed before */
    pthread_mutex_destroy(&engine->shared_lock);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

int sl_engine_threads(const struct sl_engine *engine)
{
    return sl_thread_pool_size(engine->pool);
}

const char *sl_engine_isa(const struct sl_engine *engine)
{
    return engine->kernels->name;
}

enum sl_precision sl_engine_default_precision(const struct sl_engine *engine,
                                              const struct sl_precision_cost *costs)
{
    const double most = 0.001;
    for (int p = SL_PRECISION_INT8; p >= SL_PRECISION_BF16; p--)
        if ((engine->preferred & 1u << p) && costs[p].measured && costs[p].increase <= most)
            return (enum sl_precision)p;
    return engine->precision;
}

const char *sl_precision_of(const struct sl_kernels *kernels, bool int8)
{
    return precisions[int8                          ? SL_PRECISION_INT8
                      : kernels->operand == SL_BF16 ? SL_PRECISION_BF16
                                                    : SL_PRECISION_FP32];
}

const char *sl_engine_precision(const struct sl_engine *engine)
{
    return sl_precision_of(engine->kernels, engine->precision == SL_PRECISION_INT8);
}

const char *sl_version(void)
{
    return SL_VERSION;
}
