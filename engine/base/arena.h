/* arena.h - a bump allocator: memory is taken piece by piece and freed all at once.
 *
 * An arena has a fixed size. A dry run finds that size: an arena from sl_arena_dry hands out no
 * memory and only counts. The same code runs on it, and `peak` is then the size that a real one
 * needs. Running out of a sized arena is a bug of this program: it aborts and prints the sizes.
 * Data whose size is not known beforehand goes into an arena that grows. One arena belongs to one
 * thread at a time. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

enum { SL_ALIGN = 64 }; /* a cache line, and one AVX-512 register */

struct sl_arena {
    char *base; /* NULL in a dry run */
    size_t size, used, peak;
    bool dry, grows;
    struct sl_arena_full *full; /* of an arena that grows: its full blocks */
};

bool sl_arena_init(struct sl_arena *a, size_t bytes, struct sl_err *err) SL_MUST_CHECK;
/* Grows from `bytes` on as needed; aborts when out of memory. It is only freed as a whole. */
bool sl_arena_init_growing(struct sl_arena *a, size_t bytes, struct sl_err *err) SL_MUST_CHECK;
/* Memory then comes in small pages, as it is written to: for an arena most of which may stay
 * unused, with small pieces in use all over it. */
void sl_arena_small_pages(struct sl_arena *a);
void sl_arena_dry(struct sl_arena *a);
void sl_arena_release(struct sl_arena *a); /* a zeroed arena is fine */

/* Memory for `count` items of `size` bytes, aligned to SL_ALIGN, contents undefined. In a dry run
 * the result is NULL and must not be dereferenced. */
void *sl_arena_take(struct sl_arena *a, size_t count, size_t size);

/* Frees everything taken after a mark. */
size_t sl_arena_mark(const struct sl_arena *a);
void sl_arena_rewind(struct sl_arena *a, size_t mark);

/* Gives the whole pages of a piece back to the system; what they held is lost. */
void sl_arena_discard(void *at, size_t bytes);

/* a * b, or abort: for sizes that were bounded before. */
size_t sl_size_product(size_t a, size_t b);
