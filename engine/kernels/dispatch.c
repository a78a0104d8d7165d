/* dispatch.c - makes the kernel tables once. Each level starts as a copy of a lower one and
 * overrides the slots that it computes faster, so every slot of every table is filled. */
#include "kernels/int8.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct level {
    const char *name;
    enum sl_isa base; /* the level it inherits from; itself for the first */
    void (*fill)(struct sl_kernels *t);
    /* If any, the level is only used when it, or one of these precisions, is named: bits of 1 <<
     * enum sl_precision. VNNI only differs in the products of int8, which go with attention and
     * activations in bf16 where there is that, too. */
    unsigned precisions;
};

#if SL_X86
#define X86(fill) fill
#else
#define X86(fill) NULL
#endif

static const struct level levels[SL_ISA_COUNT] = {
    [SL_ISA_REF] = {.name = "ref", .base = SL_ISA_REF, .fill = sl_ref_kernels},
    [SL_ISA_PORTABLE] = {.name = "portable", .base = SL_ISA_REF, .fill = sl_portable_kernels},
    [SL_ISA_AVX2] = {.name = "avx2", .base = SL_ISA_REF, .fill = X86(sl_avx2_kernels)},
    [SL_ISA_AVX2_VNNI] = {.name = "avx2vnni",
                          .base = SL_ISA_AVX2,
                          .fill = X86(sl_avx2vnni_int8),
                          .precisions = 1 << SL_PRECISION_INT8},
    [SL_ISA_AVX512] = {.name = "avx512", .base = SL_ISA_REF, .fill = X86(sl_avx512_kernels)},
    [SL_ISA_AVX512_VNNI] = {.name = "avx512vnni",
                            .base = SL_ISA_AVX512,
                            .fill = X86(sl_avx512vnni_int8),
                            .precisions = 1 << SL_PRECISION_INT8},
    [SL_ISA_AVX512_BF16] = {.name = "avx512bf16",
                            .base = SL_ISA_AVX512,
                            .fill = X86(sl_avx512bf16_kernels),
                            .precisions = 1 << SL_PRECISION_BF16 | 1 << SL_PRECISION_INT8},
    [SL_ISA_AMX] = {.name = "amx", .base = SL_ISA_AVX512_BF16, .fill = X86(sl_amx_kernels)},
};

static pthread_once_t made = PTHREAD_ONCE_INIT;
static struct sl_kernels tables[SL_ISA_COUNT];

static void make_tables(void)
{
    for (int isa = 0; isa < SL_ISA_COUNT; isa++) {
        if (!sl_cpu_has((enum sl_isa)isa))
            continue;
        tables[isa] = tables[levels[isa].base];
        levels[isa].fill(&tables[isa]);
        tables[isa].name = levels[isa].name;
        tables[isa].isa = (enum sl_isa)isa;
    }
}

const struct sl_kernels *sl_kernels_for(enum sl_isa isa)
{
    assert(isa >= SL_ISA_REF);
    assert(isa < SL_ISA_COUNT);
    (void)pthread_once(&made, make_tables);
    return sl_cpu_has(isa) ? &tables[isa] : NULL;
}

static const struct sl_kernels *kernels_named(const char *name)
{
    for (int isa = 0; isa < SL_ISA_COUNT; isa++)
        if (strcmp(name, levels[isa].name) == 0)
            return sl_kernels_for((enum sl_isa)isa);
    return NULL;
}

const struct sl_kernels *sl_kernels_best(void)
{
    const char *wanted =
        getenv("SLUICE_ISA"); // NOLINT(concurrency-mt-unsafe): no thread calls setenv
    if (wanted && *wanted)
        return kernels_named(wanted);
    int isa = SL_ISA_COUNT - 1;
    while (!sl_cpu_has((enum sl_isa)isa) || levels[isa].precisions)
        isa--;
    return sl_kernels_for((enum sl_isa)isa);
}

static bool computes(const struct sl_kernels *k, enum sl_precision precision)
{
    return precision == SL_PRECISION_INT8 ||
           k->operand == (precision == SL_PRECISION_BF16 ? SL_BF16 : SL_F32);
}

const struct sl_kernels *sl_kernels_with(const struct sl_kernels *most, enum sl_precision precision)
{
    for (int isa = SL_ISA_COUNT - 1; isa > SL_ISA_REF; isa--)
        if ((levels[isa].precisions & 1u << precision) && levels[isa].base == most->isa &&
            sl_cpu_has((enum sl_isa)isa))
            return sl_kernels_for((enum sl_isa)isa);
    if (precision == SL_PRECISION_ANY || computes(most, precision))
        return most;
    for (int isa = (int)most->isa - 1; isa >= SL_ISA_REF; isa--) {
        const struct sl_kernels *k = sl_kernels_for((enum sl_isa)isa);
        if (k && !levels[isa].precisions && computes(k, precision))
            return k;
    }
    return NULL;
}

const struct sl_kernels *sl_kernels_in_groups(const struct sl_kernels *kernels)
{
    while (kernels->int8_group > SL_INT8_GROUP) /* a level is usable only if its base is, too */
        kernels = &tables[levels[kernels->isa].base];
    return kernels;
}

const char *sl_isa_name(enum sl_isa isa)
{
    assert(isa >= SL_ISA_REF);
    assert(isa < SL_ISA_COUNT);
    return levels[isa].name;
}

bool sl_isa_needs_precision(enum sl_isa isa)
{
    assert(isa >= SL_ISA_REF);
    assert(isa < SL_ISA_COUNT);
    return levels[isa].precisions;
}
