/* arena.h - bump memory: taken piece by piece, given back all at once.
 *
 * An arena has a fixed size. How large it must be is found by a dry run: an arena started with
 * sl_arena_dry hands out no memory and only counts, the same code runs against it, and `peak`
 * then says what a real one needs. Running out of a planned arena is our bug: it aborts with the
 * numbers. What cannot be planned, since its size is known only from what is put there, goes into
 * an arena that grows. One arena belongs to one thread at a time. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

enum { SL_ALIGN = 64 }; /* a cache line, and one AVX-512 register */

struct sl_arena {
    char *base; /* NULL in a dry run */
    size_t size, used, peak;
    bool dry, grows;
    struct sl_arena_full *full; /* of one that grows: what was full, until all goes back */
};

bool sl_arena_init(struct sl_arena *a, size_t bytes, struct sl_err *err) SL_MUST_CHECK;
/* From `bytes` on as large as needed; no memory aborts. All of it goes back, or nothing. */
bool sl_arena_init_growing(struct sl_arena *a, size_t bytes, struct sl_err *err) SL_MUST_CHECK;
void sl_arena_dry(struct sl_arena *a);
void sl_arena_release(struct sl_arena *a); /* a zeroed arena is fine */

/* Room for count things of `size` bytes, aligned to SL_ALIGN, contents undefined.
 * In a dry run the result is NULL and must not be followed. */
void *sl_arena_take(struct sl_arena *a, size_t count, size_t size);

/* Everything taken after a mark goes back at once. */
size_t sl_arena_mark(const struct sl_arena *a);
void sl_arena_rewind(struct sl_arena *a, size_t mark);

/* a * b, or abort: for sizes that were bounded before. */
size_t sl_size_product(size_t a, size_t b);
