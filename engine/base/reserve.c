/* reserve.c - realloc, at least doubling. */
#include "base/reserve.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 64 };

/* The caller's pointer is copied in and out: it may be a pointer to anything. */
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

bool sl_reserve(void *array, size_t *room, size_t want, size_t item_bytes, struct sl_err *err)
{
    assert(item_bytes > 0);
    if (want <= *room)
        return true;
    size_t most = PTRDIFF_MAX / item_bytes;
    size_t fresh = *room > most / 2 ? most : 2 * *room;
    if (fresh < ROOM_LEAST)
        fresh = ROOM_LEAST;
    if (fresh < want)
        fresh = want;
    void *grown = fresh <= most ? realloc(pointer_get(array), fresh * item_bytes) : NULL;
    if (!grown)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu items of %zu bytes", fresh,
                       item_bytes);
    pointer_put(array, grown);
    *room = fresh;
    return true;
}

void sl_trim(void *array, size_t *room, size_t count, size_t item_bytes)
{
    assert(count <= *room);
    if (count == 0 || count == *room)
        return;
    void *less = realloc(pointer_get(array), count * item_bytes);
    if (!less)
        return; /* nothing is lost but the chance */
    pointer_put(array, less);
    *room = count;
}
