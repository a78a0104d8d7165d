/* initialize.h - the initial values of a parameter: a function of (seed, name, init) alone. */
#pragma once

#include "layers/builder.h"

#include <stdint.h>

void sl_initialize(struct sl_parameter *p, struct sl_init init, uint64_t seed);
