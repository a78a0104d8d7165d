/* bytes.h - bytes that arrive in pieces and are wanted whole. */
#pragma once

#include "common/fault.h"

#include <stddef.h>

/* Zeroed it is empty. `data` is NULL or ends with a NUL that `count` does not count. */
struct bytes {
    char *data;
    size_t count, room;
};

/* False: no memory, and nothing was added. */
bool bytes_add(struct bytes *b, const char *data, size_t count) MUST_CHECK;
void bytes_release(struct bytes *b);
