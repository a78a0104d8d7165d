/* dynarray.c - realloc, at least doubling. */
#include "base/dynarray.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 64 };

/* The caller's pointer is copied in and out, because it may be of any pointer type. */
static void *pointer_get(const void *array)
{
    void *pointer;
    memcpy(&pointer, array, sizeof pointer);
    return pointer;
}

static void pointer_put(void *array, void *pointer)
{
    memcpy(array, &pointer, sizeof pointer);
}

bool sl_dynarray_reserve(void *array, size_t *capacity, size_t min_items, size_t item_bytes,
                         struct sl_err *err)
{
    assert(item_bytes > 0);
    if (min_items <= *capacity)
        return true;
    size_t max = PTRDIFF_MAX / item_bytes;
    size_t wanted = *capacity > max / 2 ? max : 2 * *capacity;
    if (wanted < CAPACITY_MIN)
        wanted = CAPACITY_MIN;
    if (wanted < min_items)
        wanted = min_items;
    void *grown = wanted <= max ? realloc(pointer_get(array), wanted * item_bytes) : NULL;
    if (!grown)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu items of %zu bytes", wanted,
                       item_bytes);
    pointer_put(array, grown);
    *capacity = wanted;
    return true;
}

void sl_dynarray_shrink(void *array, size_t *capacity, size_t count, size_t item_bytes)
{
    assert(count <= *capacity);
    if (count == 0 || count == *capacity)
        return;
    void *less = realloc(pointer_get(array), count * item_bytes);
    if (!less)
        return; /* the array stays larger than needed */
    pointer_put(array, less);
    *capacity = count;
}
