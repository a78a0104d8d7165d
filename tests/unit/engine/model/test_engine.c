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

static bool chooses_int8(const char *isa, const char *precision, double loss_increase)
{
    const struct sl_engine_options options = {.threads = 1, .isa = isa, .precision = precision};
    struct sl_err err;
    struct sl_engine *engine = sl_engine_create(&options, &err);
    cr_assert(engine, "%s, %s: %s", isa, precision, err.text);
    const bool chosen = sl_engine_chooses_int8(engine, loss_increase);
    sl_engine_destroy(engine);
    return chosen;
}

/* A tenth of a percent, and only where VNNI makes it faster. */
Test(engine, int8_is_chosen_for_models_that_lose_nothing_by_it)
{
    const double unknown = (double)NAN;
    if (sl_cpu_has(SL_ISA_AVX512_VNNI)) {
        cr_expect(chooses_int8("avx512", NULL, 0.001));
        cr_expect(chooses_int8("avx512", NULL, -0.5));
        cr_expect_not(chooses_int8("avx512", NULL, 0.0011));
        cr_expect_not(chooses_int8("avx512", NULL, unknown));
        cr_expect_not(chooses_int8("avx512", "fp32", 0));
    }
    if (sl_cpu_has(SL_ISA_AVX2_VNNI))
        cr_expect(chooses_int8("avx2", NULL, 0));
    if (sl_cpu_has(SL_ISA_AMX))
        cr_expect_not(chooses_int8("amx", NULL, 0));
    cr_expect_not(chooses_int8("portable", NULL, 0));
    cr_expect(chooses_int8("portable", "int8", unknown));
}

Test(engine, int8_does_not_train)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_int8_engine(1);
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

Test(engine, what_no_kernel_computes_is_rejected)
{
    fails("portable", "bf16", "portable on this CPU computes in fp32 or int8 only");
    fails(NULL, "fp8", "invalid precision 'fp8': expected fp32, bf16 or int8");
    fails("sse9", "fp32", "invalid isa 'sse9'");
}
