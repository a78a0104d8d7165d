/* fuzz_target.h - the function that a fuzzer calls with any bytes.
 *
 * With the fuzz preset libFuzzer calls it with inputs that it invents; in other builds
 * tests/runners/fuzz_replay.c calls it with the files of tests/corpus. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns 0; aborts when the code under test broke a promise. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts, which the fuzzer reports as a finding. */
static inline void must(bool truth)
{
    if (!truth)
        abort();
}
