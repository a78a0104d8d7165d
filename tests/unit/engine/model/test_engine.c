/* test_engine.c - which kernels an engine computes with. */
#include "base/cpu.h"
#include "model/engine.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

static void computes(const char *isa, const char *precision, const char *wanted)
{
    const struct sl_engine_options options = {.threads = 1, .isa = isa, .precision = precision};
    struct sl_err err;
    struct sl_engine *engine = sl_engine_create(&options, &err);
    cr_assert(engine, "%s, %s: %s", isa, precision, err.text);
    cr_expect_str_eq(sl_engine_isa(engine), wanted);
    if (precision)
        cr_expect_str_eq(sl_engine_precision(engine), precision);
    sl_engine_destroy(engine);
}

static void fails(const char *isa, const char *precision, const char *why)
{
    const struct sl_engine_options options = {.threads = 1, .isa = isa, .precision = precision};
    struct sl_err err;
    cr_assert_not(sl_engine_create(&options, &err));
    cr_expect(strstr(err.text, why), "%s", err.text);
}

Test(engine, precision_is_apart_from_the_instruction_set)
{
    computes("portable", "fp32", "portable");
    computes("portable", NULL, "portable");
    if (sl_cpu_has(SL_ISA_AVX512))
        computes("avx512", NULL, "avx512");
    if (sl_cpu_has(SL_ISA_AVX512_BF16))
        computes("avx512", "bf16", "avx512bf16");
    computes("portable", "int8", "portable");
    if (sl_cpu_has(SL_ISA_AVX2))
        computes("avx2", "int8", sl_cpu_has(SL_ISA_AVX2_VNNI) ? "avx2vnni" : "avx2");
    if (sl_cpu_has(SL_ISA_AVX512))
        computes("avx512", "int8",
                 sl_cpu_has(SL_ISA_AVX512_BF16)   ? "avx512bf16"
                 : sl_cpu_has(SL_ISA_AVX512_VNNI) ? "avx512vnni"
                                                  : "avx512");
    if (sl_cpu_has(SL_ISA_AMX)) {
        computes("amx", "int8", "amx");
        computes("amx", "bf16", "amx");
        computes("amx", "fp32", "avx512");
    }
}

enum {
    ANY = SL_PRECISION_ANY,
    FP32 = SL_PRECISION_FP32,
    BF16 = SL_PRECISION_BF16,
    INT8 = SL_PRECISION_INT8
};

/* What an engine computes a model in for which int8 and bf16 cost this much; NAN: not measured. */
static int chosen(const struct sl_engine *engine, double int8, double bf16)
{
    const struct sl_precision_cost costs[SL_PRECISION_COUNT] = {
        [BF16] = {!isnan(bf16), isnan(bf16) ? 0 : bf16},
        [INT8] = {!isnan(int8), isnan(int8) ? 0 : int8}};
    return (int)sl_engine_default_precision(engine, costs);
}

/* A tenth of a percent; int8 before bf16; and nothing that the engine does not prefer. */
Test(engine, models_are_computed_in_the_fastest_precision_that_costs_them_nothing)
{
    enum {
        NEITHER = 0,
        ONLY_INT8 = 1 << INT8,
        ONLY_BF16 = 1 << BF16,
        BOTH = ONLY_INT8 | ONLY_BF16
    };

    const double unknown = (double)NAN;

    static const struct {
        unsigned preferred;
        int wanted[9];
    } rows[] = {
        {NEITHER, {ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY}},
        {ONLY_INT8, {INT8, INT8, INT8, ANY, ANY, ANY, ANY, ANY, ANY}},
        {ONLY_BF16, {BF16, ANY, ANY, BF16, ANY, ANY, BF16, ANY, ANY}},
        {BOTH, {INT8, INT8, INT8, BF16, ANY, ANY, BF16, ANY, ANY}},
    };

    const double costs[] = {0.001, 0.0011, unknown};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int i = 0; i < 9; i++) {
            const struct sl_engine engine = {.preferred = rows[r].preferred};
            cr_expect_eq(chosen(&engine, costs[i / 3], costs[i % 3]), rows[r].wanted[i],
                         "preferred %u, int8 %g, bf16 %g", rows[r].preferred, costs[i / 3],
                         costs[i % 3]);
        }
    const struct sl_engine engine = {.preferred = BOTH};
    cr_expect_eq(chosen(&engine, -0.5, 0.5), INT8);
    cr_expect_eq(chosen(&engine, 0.5, -0.5), BF16);
}

/* Of a model that loses nothing in int8 nor in bf16, and of one that does not in bf16 alone. */
static void chooses(const char *isa, const char *precision, int wanted, int without_int8)
{
    const struct sl_engine_options options = {.threads = 1, .isa = isa, .precision = precision};
    struct sl_err err;
    struct sl_engine *engine = sl_engine_create(&options, &err);
    cr_assert(engine, "%s, %s: %s", isa, precision, err.text);
    cr_expect_eq(chosen(engine, 0, 0), wanted, "%s, %s", isa, precision);
    cr_expect_eq(chosen(engine, 1, 0), without_int8, "%s, %s", isa, precision);
    sl_engine_destroy(engine);
}

/* VNNI and AVX512-BF16 do, beside levels without; AMX computes in bf16 anyway. */
Test(engine, precisions_are_chosen_where_they_are_faster)
{
    const bool bf16 = sl_cpu_has(SL_ISA_AVX512_BF16) && !sl_cpu_is_intel();
    if (sl_cpu_has(SL_ISA_AVX512_VNNI)) {
        chooses("avx512", NULL, INT8, bf16 ? BF16 : ANY);
        chooses("avx512", "fp32", FP32, FP32);
    }
    if (sl_cpu_has(SL_ISA_AVX2_VNNI))
        chooses("avx2", NULL, INT8, ANY);
    if (sl_cpu_has(SL_ISA_AMX))
        chooses("amx", NULL, ANY, ANY);
    if (sl_cpu_has(SL_ISA_AVX512_BF16)) {
        chooses("avx512bf16", NULL, ANY, ANY);
        chooses("avx512", "bf16", BF16, BF16);
    }
    chooses("portable", NULL, ANY, ANY);
    chooses("portable", "fp32", FP32, FP32);
    chooses("portable", "int8", INT8, INT8);
}

Test(engine, int8_does_not_train)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_int8_engine(NULL, 1);
    const struct sl_arch *arch = sl_arch_at(0);
    const struct sl_config config = fixture_config(arch);
    struct sl_model *model = sl_model_create(engine, arch, &config, &err);
    cr_assert(model, "%s", err.text);
    cr_expect_not(sl_model_allocate_gradients(model, &err));
    cr_expect(strstr(err.text, "invalid precision 'int8': training computes in fp32 or bf16"), "%s",
              err.text);
    sl_model_close(model);
    sl_engine_destroy(engine);
}

/* The columns of a group of a transformer for this task, at the highest level of this CPU. */
static int int8_group_of(enum sl_task task)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_int8_engine(NULL, 1);
    const struct sl_arch *arch = sl_arch_find("transformer");
    struct sl_config config = fixture_config(arch);
    config.task = task;
    config.classes = task == SL_TASK_CLASSIFICATION ? 2 : 0;
    struct sl_model *model = sl_model_create(engine, arch, &config, &err);
    cr_assert(model, "%s", err.text);
    const int group = model->kernels->int8_group;
    sl_model_close(model);
    sl_engine_destroy(engine);
    return group;
}

Test(engine, published_decoders_keep_the_scales_of_groups_where_there_are_tiles)
{
    const int whole_row = SL_INT8_DEPTH_MAX, group = 64;
    const bool tiles = strcmp(sl_kernels_best()->name, "amx") == 0;
    cr_expect_eq(int8_group_of(SL_TASK_COMPLETION), group);
    cr_expect_eq(int8_group_of(SL_TASK_CLASSIFICATION), tiles ? whole_row : group);
}

Test(engine, what_no_kernel_computes_is_rejected)
{
    fails("portable", "bf16", "portable on this CPU computes in fp32 or int8 only");
    fails(NULL, "fp8", "invalid precision 'fp8': expected fp32, bf16 or int8");
    fails("sse9", "fp32", "invalid isa 'sse9'");
}
