/* buffer.h - bytes appended one after another, in memory that grows.
 *
 * Start from {0}, or with bytes_max set; the owner releases. A buffer that cannot grow sets
 * `failed` and ignores what follows, so one check at the end is enough. Long loops check now and
 * then. One thread at a time. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_BUFFER_BYTES_MAX = 256 << 20 };

struct sl_buffer {
    char *data; /* NULL, or ends with a NUL that `bytes` does not count */
    size_t bytes, capacity;
    size_t bytes_max; /* the bound; 0: SL_BUFFER_BYTES_MAX */
    bool failed;
    bool is_full; /* it failed because of the bound, not out of memory */
};

void sl_buffer_release(struct sl_buffer *buffer);
void sl_buffer_clear(struct sl_buffer *buffer); /* empties it, keeps the memory */

void sl_buffer_append(struct sl_buffer *buffer, const char *bytes, size_t count);
void sl_buffer_append_string(struct sl_buffer *buffer, const char *string);
void sl_buffer_printf(struct sl_buffer *buffer, const char *format, ...) SL_PRINTF(2, 3);
void sl_buffer_append_int(struct sl_buffer *buffer, int64_t value);
/* With the fewest digits that read back as the same float. It must be finite. */
void sl_buffer_append_float(struct sl_buffer *buffer, float value);

/* The bytes, to be freed; NULL if an append failed. The buffer is empty afterwards. */
char *sl_buffer_take(struct sl_buffer *buffer);
/* False with an error if an append failed: out of memory, or past the bound. */
bool sl_buffer_check(const struct sl_buffer *buffer, struct sl_err *err) SL_MUST_CHECK;
