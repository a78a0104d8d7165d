/* hash_index.h - numbers distinct 64-bit keys 0, 1, 2, ... in the order in which they are added.
 *
 * What belongs to a key is in an array of the user's, at the key's number. A key may be the hash of
 * something larger: where another has it already, the user tries key + 1.
 *
 * Open addressing, at most half full. A zeroed index is empty. While none adds, any thread may
 * read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_hash_index {
    uint64_t *keys; /* by number */
    int32_t *slots; /* a key's number + 1; 0: the slot is free */
    uint32_t slot_count;
    int32_t count; /* of keys */
    bool fixed;    /* in memory of the caller */
};

/* An empty index in memory of the caller, with room for `room` keys and 2 room slots: adding cannot
 * fail, and there is nothing to release. */
struct sl_hash_index sl_hash_index_in(uint64_t *keys, int32_t *slots, int room);

/* The slot of a key, or the free one where it belongs. Fibonacci hashing: Knuth, The Art of
 * Computer Programming, volume 3, 6.4. */
static inline int32_t *sl_hash_slot(const struct sl_hash_index *h, uint64_t key)
{
    const uint64_t mixed = key * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    uint32_t at = (uint32_t)(mixed * h->slot_count >> 32);
    for (uint32_t left = h->slot_count;
         left > 1 && h->slots[at] && h->keys[h->slots[at] - 1] != key; left--)
        at = at + 1 < h->slot_count ? at + 1 : 0;
    return &h->slots[at];
}

/* The number of a key; -1: it was not added. */
static inline int32_t sl_hash_find(const struct sl_hash_index *h, uint64_t key)
{
    return h->count > 0 ? *sl_hash_slot(h, key) - 1 : -1;
}

/* The number of a key, which is added if it is new: its number is then the count before. -1: no
 * memory, or more than 2^29 keys. */
int32_t sl_hash_add(struct sl_hash_index *h, uint64_t key);

void sl_hash_release(struct sl_hash_index *h);
