/* cpu.c - asks the processor and the kernel what this process may use.
 *
 * An instruction set counts only when the processor has it and the operating system saves its
 * registers (XCR0); AMX tiles also need a permission that the kernel gives per process. */
#include "base/cpu.h"

#include "base/control_groups.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static bool usable[SL_ISA_COUNT];

#if SL_X86

#include <cpuid.h>

/* CPUID feature bits, Intel SDM volume 2A, table 3-8. */
enum { LEAF_1_ECX_FMA = 1 << 12, LEAF_1_ECX_OSXSAVE = 1 << 27, LEAF_1_ECX_F16C = 1 << 29 };

enum { LEAF_7_EBX_AVX2 = 1 << 5, LEAF_7_EBX_AVX512F = 1 << 16, LEAF_7_EBX_AVX512DQ = 1 << 17 };

enum {
    LEAF_7_EBX_AVX512BW = 1 << 30,
    LEAF_7_ECX_AVX512_VNNI = 1 << 11,
    LEAF_7_EDX_AMX_BF16 = 1 << 22,
    LEAF_7_EDX_AMX_TILE = 1 << 24,
    LEAF_7_EDX_AMX_INT8 = 1 << 25
};

enum { LEAF_7_1_EAX_AVX_VNNI = 1 << 4, LEAF_7_1_EAX_AVX512_BF16 = 1 << 5 };

static const uint32_t leaf_7_ebx_avx512vl = 1u << 31;

/* XCR0: the register files the operating system saves on a context switch. */
enum { XCR0_AVX = 0x6, XCR0_AVX512 = 0xe6, XCR0_TILES = 0x60000 };

/* arch_prctl: "may I use this register file?", Linux 5.16 and later. */
enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

static uint32_t saved_registers(void)
{
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool all_of(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

static bool tiles_permitted(void)
{
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static void look(void)
{
    usable[SL_ISA_REF] = usable[SL_ISA_PORTABLE] = true;
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0, eax_1 = 0, unused[3] = {0};
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !all_of(ecx, LEAF_1_ECX_OSXSAVE))
        return;
    const bool fma = all_of(ecx, LEAF_1_ECX_FMA | LEAF_1_ECX_F16C);
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return;
    if (eax >= 1) /* leaf 7 has a second page */
        (void)__get_cpuid_count(7, 1, &eax_1, &unused[0], &unused[1], &unused[2]);
    const uint32_t saved = saved_registers();
    const uint32_t avx512 = LEAF_7_EBX_AVX512F | LEAF_7_EBX_AVX512DQ | LEAF_7_EBX_AVX512BW;
    const uint32_t amx = LEAF_7_EDX_AMX_BF16 | LEAF_7_EDX_AMX_INT8 | LEAF_7_EDX_AMX_TILE;
    usable[SL_ISA_AVX2] = fma && all_of(saved, XCR0_AVX) && all_of(ebx, LEAF_7_EBX_AVX2);
    usable[SL_ISA_AVX512] = usable[SL_ISA_AVX2] && all_of(saved, XCR0_AVX512) &&
                            all_of(ebx, avx512 | leaf_7_ebx_avx512vl);
    usable[SL_ISA_AVX2_VNNI] = usable[SL_ISA_AVX2] && all_of(eax_1, LEAF_7_1_EAX_AVX_VNNI);
    usable[SL_ISA_AVX512_VNNI] = usable[SL_ISA_AVX512] && all_of(ecx, LEAF_7_ECX_AVX512_VNNI);
    usable[SL_ISA_AVX512_BF16] =
        usable[SL_ISA_AVX512_VNNI] && all_of(eax_1, LEAF_7_1_EAX_AVX512_BF16);
    usable[SL_ISA_AMX] = usable[SL_ISA_AVX512_BF16] && all_of(saved, XCR0_TILES) &&
                         all_of(edx, amx) && tiles_permitted();
}

bool sl_cpu_is_intel(void)
{
    uint32_t eax, ebx = 0, ecx, edx;
    return __get_cpuid(0, &eax, &ebx, &ecx, &edx) && ebx == signature_INTEL_ebx;
}

#else

static void look(void)
{
    usable[SL_ISA_REF] = usable[SL_ISA_PORTABLE] = true;
}

bool sl_cpu_is_intel(void)
{
    return false;
}

#endif

bool sl_cpu_has(enum sl_isa isa)
{
    assert(isa >= SL_ISA_REF);
    assert(isa < SL_ISA_COUNT);
    (void)pthread_once(&looked, look);
    return usable[isa];
}

/* ------------------------------------------------------------------ available processors */

static int affinity_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than a cpu_set_t holds */
    return online > 0 && online < INT_MAX ? (int)online : 1;
}

/* Whole processors that the cpu.max of one cgroup ("quota period" or "max period") allows. */
static int cgroup_limit(const char *directory)
{
    char line[SL_KERNEL_LINE_BYTES], *rest;
    if (!sl_kernel_line(directory, "cpu.max", "", line))
        return INT_MAX; /* the root has none */
    const long long quota = strtoll(line, &rest, 10), period = strtoll(rest, NULL, 10);
    if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
        return INT_MAX;
    return quota / period > 0 ? (int)(quota / period) : 1;
}

static void lower_budget(void *context, const char *directory)
{
    int *budget = context;
    const int limit = cgroup_limit(directory);
    *budget = limit < *budget ? limit : *budget;
}

int sl_cpu_budget(void)
{
    int budget = affinity_count();
    sl_cgroup_for_each(lower_budget, &budget);
    return budget > 0 ? budget : 1;
}

static void add_throttled(void *context, const char *directory)
{
    double *seconds = context;
    char microseconds[SL_KERNEL_LINE_BYTES];
    if (sl_kernel_line(directory, "cpu.stat", "throttled_usec ", microseconds))
        *seconds += 1e-6 * strtod(microseconds, NULL);
}

double sl_cpu_throttled_seconds(void)
{
    double seconds = 0;
    sl_cgroup_for_each(add_throttled, &seconds);
    return seconds;
}
