/* allocate.h - memory for a struct, or an error. */
#pragma once

#include "sluice/err.h"

#include <stdlib.h>

/* Zeroed memory, to be freed. NULL: the error says what it was for. */
static inline void *sl_new(size_t bytes, const char *what, struct sl_err *err)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        (void)sl_fail(err, SL_NO_MEMORY, "no memory for %s", what);
    return memory;
}
