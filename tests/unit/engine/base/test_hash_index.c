/* test_hash_index.c - numbers of keys, in memory of its own and of the caller. */
#include "base/hash_index.h"

#include "base/random.h"
#include "support/test.h"

static uint64_t key_of(int i)
{
    return i % 2 ? sl_random_bits(7, (uint64_t)i) : (uint64_t)i; /* scattered, and neighbours */
}

Test(hash_index, numbers_keys_in_order)
{
    enum { KEYS = 100000 };

    struct sl_hash_index h = {0};
    cr_assert_eq(sl_hash_find(&h, 0), -1);
    for (int i = 0; i < KEYS; i++) {
        cr_assert_eq(sl_hash_add(&h, key_of(i)), i);
        cr_assert_eq(sl_hash_add(&h, key_of(i / 2)), i / 2, "is there");
    }
    cr_assert_eq(h.count, KEYS);
    for (int i = 0; i < KEYS; i++) {
        cr_assert_eq(sl_hash_find(&h, key_of(i)), i);
        cr_assert_eq(h.keys[i], key_of(i));
    }
    cr_assert_eq(sl_hash_find(&h, key_of(KEYS)), -1);
    sl_hash_release(&h);
}

Test(hash_index, the_callers_memory_takes_as_many_keys_as_said)
{
    enum { KEYS = 777 };

    uint64_t keys[KEYS];
    int32_t slots[2 * KEYS + 1] = {[2 * KEYS] = 4711};
    for (int times = 0; times < 2; times++) {
        struct sl_hash_index h = sl_hash_index_in(keys, slots, KEYS);
        for (int i = 0; i < KEYS; i++)
            cr_assert_eq(sl_hash_add(&h, key_of(i + times)), i);
        for (int i = 0; i < KEYS; i++)
            cr_assert_eq(sl_hash_find(&h, key_of(i + times)), i);
        cr_assert_eq(slots[2 * KEYS], 4711);
    }
    const struct sl_hash_index none = sl_hash_index_in(keys, slots, 0);
    cr_assert_eq(sl_hash_find(&none, 0), -1);
}
