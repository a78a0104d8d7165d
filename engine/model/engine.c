/* engine.c - the kernels and the thread pool of a process. */
#include "model/engine.h"
#include "base/comma_list.h"

#include "base/cpu.h"
#include "base/thread_pool.h"

#include <stdlib.h>
#include <string.h>

/* Fails for an instruction set that is unknown or not supported by this CPU. The one that the
 * precision bf16 selects is not listed. */
static const struct sl_kernels *fail_isa(const char *what, const char *isa, struct sl_err *err)
{
    char supported[64] = "";
    for (int level = SL_ISA_REF; level < SL_ISA_COUNT; level++)
        if (level != SL_ISA_AVX512_BF16 && sl_kernels_for((enum sl_isa)level))
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

/* The fastest level with these operands, none above the given one. AVX-512 has one of each. */
static const struct sl_kernels *kernels_with(const struct sl_kernels *most, enum sl_type operand)
{
    int level = (int)(most->isa == SL_ISA_AVX512 ? SL_ISA_AVX512_BF16 : most->isa);
    for (; level >= SL_ISA_REF; level--) {
        const struct sl_kernels *kernels = sl_kernels_for((enum sl_isa)level);
        if (kernels && kernels->operand == operand)
            return kernels;
    }
    return NULL;
}

static const struct sl_kernels *kernels_of(const struct sl_engine_options *options,
                                           struct sl_err *err)
{
    const char *precision = options->precision;
    const struct sl_kernels *kernels = kernels_named(options->isa, err);
    if (!kernels || !precision)
        return kernels;
    const bool is_bf16 = strcmp(precision, "bf16") == 0;
    if (!is_bf16 && strcmp(precision, "fp32") != 0) {
        (void)sl_fail_value(err, "precision", precision, "expected fp32 or bf16");
        return NULL;
    }
    const struct sl_kernels *found = kernels_with(kernels, is_bf16 ? SL_BF16 : SL_F32);
    if (!found)
        (void)sl_fail_value(err, "precision", precision, "%s on this CPU computes in fp32 only",
                            kernels->name);
    return found;
}

struct sl_engine *sl_engine_create(const struct sl_engine_options *options, struct sl_err *err)
{
    enum { THREADS_MAX = 1024 };

    if (options->threads < 0 || options->threads > THREADS_MAX) {
        sl_fail(err, SL_BAD_INPUT, "invalid threads '%d': expected 0 (all processors) to %d",
                options->threads, THREADS_MAX);
        return NULL;
    }
    const struct sl_kernels *kernels = kernels_of(options, err);
    if (!kernels)
        return NULL;
    struct sl_engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        sl_fail(err, SL_NO_MEMORY, "no memory for an engine");
        return NULL;
    }
    engine->kernels = kernels;
    pthread_mutex_init(&engine->lock, NULL);
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

const char *sl_engine_precision(const struct sl_engine *engine)
{
    return engine->kernels->operand == SL_BF16 ? "bf16" : "fp32";
}

const char *sl_version(void)
{
    return SL_VERSION;
}
