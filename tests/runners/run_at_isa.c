/* run_at_isa.c - runs a program with SLUICE_ISA set to a level, or exits with 77 where that is
 * lacking.
 *
 *     at_isa avx512 build/dev/tests/test_ops */
#include "base/cpu.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77, MISUSED = 2 };

static int level_named(const char *name)
{
    for (int level = 0; level < SL_ISA_COUNT; level++)
        if (strcmp(sl_isa_name((enum sl_isa)level), name) == 0)
            return level;
    return -1;
}

int main(int count, char **words)
{
    int level = count > 2 ? level_named(words[1]) : -1;
    if (level < 0) {
        (void)fprintf(stderr, "usage: at_isa LEVEL PROGRAM [ARGUMENT...]\n");
        return MISUSED;
    }
    if (!sl_kernels_for((enum sl_isa)level)) {
        (void)printf("this machine has no %s\n", words[1]);
        return SKIPPED;
    }
    if (setenv("SLUICE_ISA", words[1], 1) != 0)
        return MISUSED;
    (void)execv(words[2], words + 2);
    perror(words[2]);
    return MISUSED;
}
