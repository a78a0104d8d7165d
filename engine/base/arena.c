/* arena.c - bump memory over one anonymous mapping; under ASan, memory that is not handed out is
 * poisoned. */
#include "base/arena.h"
#include "base/int_math.h"

#include <assert.h>
#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The header of a full block, at the beginning of the block that replaced it. */
struct sl_arena_full {
    char *base;
    size_t size;
    struct sl_arena_full *before;
};

static_assert(sizeof(struct sl_arena_full) <= SL_ALIGN, "it takes the first line");
static_assert((SL_ALIGN & (SL_ALIGN - 1)) == 0, "a power of two");

bool sl_arena_init(struct sl_arena *a, size_t bytes, struct sl_err *err)
{
    assert(a);
    size_t size = bytes > 0 ? bytes : 1; /* mmap rejects a size of 0 */
    /* NORESERVE: an arena is sized for the largest batch, and most batches are smaller. */
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return sl_fail(err, SL_NO_MEMORY, "no memory: cannot reserve %zu bytes", size);
    /* A hint. Kernels built without huge pages reject it, which only costs speed. */
    (void)madvise(base, size, MADV_HUGEPAGE);
    ASAN_POISON_MEMORY_REGION(base, size);
    *a = (struct sl_arena){.base = base, .size = size};
    return true;
}

bool sl_arena_init_growing(struct sl_arena *a, size_t bytes, struct sl_err *err)
{
    bool ok = sl_arena_init(a, bytes, err);
    a->grows = ok;
    return ok;
}

void sl_arena_small_pages(struct sl_arena *a)
{
    (void)madvise(a->base, a->size, MADV_NOHUGEPAGE); /* a hint */
}

void sl_arena_dry(struct sl_arena *a)
{
    assert(a);
    *a = (struct sl_arena){.dry = true};
}

static void unmap(char *base, size_t size)
{
    ASAN_UNPOISON_MEMORY_REGION(base, size); /* a later mapping may get this address */
    (void)munmap(base, size);
}

/* A block begins with a header about the block before it. */
static void drop_full(struct sl_arena *a)
{
    static const struct sl_arena_full none;
    struct sl_arena_full full = a->full ? *a->full : none;
    while (full.base) {
        const struct sl_arena_full before = full.before ? *full.before : none;
        unmap(full.base, full.size);
        full = before;
    }
    a->full = NULL;
}

void sl_arena_release(struct sl_arena *a)
{
    assert(a);
    drop_full(a);
    if (a->base)
        unmap(a->base, a->size);
    *a = (struct sl_arena){0};
}

static _Noreturn void exhausted(const struct sl_arena *a, size_t wanted)
{
    (void)fprintf(stderr, "arena exhausted: %zu bytes requested, %zu of %zu used, peak %zu\n",
                  wanted, a->used, a->size, a->peak);
    abort();
}

/* Adds a block at least twice as large as the last. */
static void grow(struct sl_arena *a, size_t bytes)
{
    struct sl_arena more = {0};
    struct sl_err err;
    size_t size = 2 * a->size > bytes + SL_ALIGN ? 2 * a->size : bytes + SL_ALIGN;
    if (!sl_arena_init_growing(&more, size, &err))
        exhausted(a, bytes);
    assert(more.base);
    ASAN_UNPOISON_MEMORY_REGION(more.base, sizeof *more.full);
    more.full = (struct sl_arena_full *)(void *)more.base;
    more.used = SL_ALIGN;
    *more.full = (struct sl_arena_full){.base = a->base, .size = a->size, .before = a->full};
    more.peak = a->peak;
    *a = more;
}

void *sl_arena_take(struct sl_arena *a, size_t count, size_t size)
{
    assert(a);
    assert(a->used % SL_ALIGN == 0);
    size_t bytes = sl_size_product(count, size);
    if (bytes > SIZE_MAX / 4 - a->used)
        exhausted(a, bytes);
    /* The last piece need not fill its cache line. */
    if (!a->dry && a->used + bytes > a->size) {
        if (!a->grows)
            exhausted(a, bytes);
        grow(a, bytes);
    }
    size_t end = a->used + sl_round_up(bytes, SL_ALIGN);
    void *piece = a->dry ? NULL : a->base + a->used;
    if (piece)
        ASAN_UNPOISON_MEMORY_REGION(piece, bytes);
    a->used = end;
    if (a->peak < end)
        a->peak = end;
    return piece;
}

size_t sl_arena_mark(const struct sl_arena *a)
{
    assert(a);
    return a->used;
}

void sl_arena_rewind(struct sl_arena *a, size_t mark)
{
    assert(a);
    assert(mark <= a->used);
    assert(mark % SL_ALIGN == 0);
    assert(!a->grows || mark == 0);
    drop_full(a);
    if (!a->dry && mark < a->size)
        ASAN_POISON_MEMORY_REGION(a->base + mark, a->size - mark);
    a->used = mark;
}

size_t sl_size_product(size_t a, size_t b)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        (void)fprintf(stderr, "size overflow: %zu * %zu\n", a, b);
        abort();
    }
    return product;
}

void sl_arena_discard(void *at, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)at;
    const uintptr_t first = (begin + page - 1) / page * page, last = (begin + bytes) / page * page;
    if (first < last)
        (void)madvise((char *)at + (first - begin), last - first, MADV_DONTNEED); /* a hint */
}
