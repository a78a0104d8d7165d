/* hash_index.c - adds keys. */
#include "base/hash_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 1 << 9, ROOM_MAX = 1 << 29 };

struct sl_hash_index sl_hash_index_in(uint64_t *keys, int32_t *slots, int room)
{
    memset(slots, 0, 2 * (size_t)room * sizeof *slots);
    return (struct sl_hash_index){
        .keys = keys, .slots = slots, .slot_count = 2 * (uint32_t)room, .fixed = true};
}

static bool grow(struct sl_hash_index *h)
{
    const size_t room = h->slot_count ? h->slot_count : ROOM_FIRST;
    assert(!h->fixed);
    if (room > ROOM_MAX)
        return false;
    uint64_t *keys = realloc(h->keys, room * sizeof *keys);
    if (keys)
        h->keys = keys;
    int32_t *slots = keys ? calloc(2 * room, sizeof *slots) : NULL;
    if (!slots)
        return false;
    free(h->slots);
    h->slots = slots;
    h->slot_count = 2 * (uint32_t)room;
    for (int32_t i = 0; i < h->count; i++)
        *sl_hash_slot(h, h->keys[i]) = i + 1;
    return true;
}

int32_t sl_hash_add(struct sl_hash_index *h, uint64_t key)
{
    const int32_t found = sl_hash_find(h, key);
    if (found >= 0)
        return found;
    if (2 * (uint32_t)h->count >= h->slot_count && !grow(h))
        return -1;
    *sl_hash_slot(h, key) = h->count + 1;
    h->keys[h->count] = key;
    return h->count++;
}

void sl_hash_release(struct sl_hash_index *h)
{
    assert(!h->fixed);
    free(h->keys);
    free(h->slots);
    *h = (struct sl_hash_index){0};
}
