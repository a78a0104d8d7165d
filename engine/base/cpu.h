/* cpu.h - instruction sets of this CPU, and the CPUs that this process may use. */
#pragma once

#include <stdbool.h>

/* Instruction-set levels, slowest and most portable first. Each includes those before it, except
 * that VNNI, the dot products of int8, is at two levels of its own. */
enum sl_isa {
    SL_ISA_REF,      /* plain C, the definition */
    SL_ISA_PORTABLE, /* vectors of 128 bits, which every 64-bit processor has: SSE2, NEON */
    SL_ISA_AVX2,     /* with FMA */
    SL_ISA_AVX2_VNNI,
    SL_ISA_AVX512,
    SL_ISA_AVX512_VNNI,
    SL_ISA_AVX512_BF16,
    SL_ISA_AMX, /* tiles */
    SL_ISA_COUNT
};

/* Whether this machine can run a level. Asks the kernel for AMX tile permission, once per
 * process. */
bool sl_cpu_has(enum sl_isa isa);

/* Whether Intel made it: its VDPBF16PS does half as many multiply-adds per second as FMA, AMD's as
 * many or twice as many. */
bool sl_cpu_is_intel(void);

/* Processors we may use: the affinity mask, and no more than every cgroup cpu.max above us allows
 * (rounded down, at least 1). */
int sl_cpu_budget(void);

/* Total time for which the cpu.max of our cgroups throttled processes; 0 without cgroups. */
double sl_cpu_throttled_seconds(void);
