/* string_counter.c - one pool of bytes, one list, and an index of hashes. */
#include "tokenizer/string_counter.h"

#include "base/dynarray.h"
#include "base/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sl_string_counter_release(struct sl_string_counter *counts)
{
    free(counts->list);
    free(counts->text);
    sl_hash_release(&counts->index);
    *counts = (struct sl_string_counter){0};
}

struct sl_piece sl_string_counter_text(const struct sl_string_counter *counts, int number)
{
    assert(number >= 0);
    assert(number < counts->count);
    const struct sl_string_count *one = &counts->list[number];
    return (struct sl_piece){.text = counts->text + one->start, .bytes = one->bytes};
}

/* FNV-1a, then mixed: its low bits alone are poor. */
static uint64_t hash(struct sl_piece text)
{
    uint64_t h = 0xCBF29CE484222325;
    for (size_t i = 0; i < text.bytes; i++)
        h = (h ^ (unsigned char)text.text[i]) * 0x100000001B3;
    return sl_random_mix(h);
}

/* The key of a text, or the free one where it belongs; *number is its number, or -1. */
static uint64_t key_of(const struct sl_string_counter *c, struct sl_piece text, int *number)
{
    for (uint64_t key = hash(text);; key++) {
        *number = sl_hash_find(&c->index, key);
        if (*number < 0)
            return key;
        struct sl_piece other = sl_string_counter_text(c, *number);
        if (other.bytes == text.bytes && memcmp(other.text, text.text, text.bytes) == 0)
            return key;
    }
}

int sl_string_counter_find(const struct sl_string_counter *counts, struct sl_piece text)
{
    int number;
    (void)key_of(counts, text, &number);
    return number;
}

/* Adds a text that is new. */
static bool add(struct sl_string_counter *c, struct sl_piece text, uint64_t key)
{
    if (!sl_dynarray_reserve(&c->list, &c->list_capacity, (size_t)c->count + 1, sizeof *c->list,
                             NULL) ||
        !sl_dynarray_reserve(&c->text, &c->text_capacity, c->bytes + text.bytes, 1, NULL) ||
        sl_hash_add(&c->index, key) < 0)
        return false;
    memcpy(c->text + c->bytes, text.text, text.bytes);
    c->list[c->count++] =
        (struct sl_string_count){.start = c->bytes, .bytes = (uint32_t)text.bytes};
    c->bytes += text.bytes;
    return true;
}

bool sl_string_counter_add(struct sl_string_counter *counts, struct sl_piece text, int64_t times,
                           int *number, struct sl_err *err)
{
    assert(text.bytes > 0);
    assert(text.bytes <= UINT32_MAX);
    int found;
    const uint64_t key = key_of(counts, text, &found);
    if (found < 0) {
        found = counts->count;
        if (!add(counts, text, key))
            return sl_fail(err, SL_NO_MEMORY, "no memory for %d texts", found + 1);
    }
    counts->list[found].times += times;
    if (number)
        *number = found;
    return true;
}

bool sl_string_counter_add_all(struct sl_string_counter *counts, const char *const *texts,
                               int count, struct sl_err *err)
{
    for (int i = 0; i < count; i++)
        if (!sl_string_counter_add(counts, (struct sl_piece){texts[i], strlen(texts[i])}, 1, NULL,
                                   err))
            return false;
    return true;
}

bool sl_string_counter_prune(struct sl_string_counter *counts, int64_t times, struct sl_err *err)
{
    struct sl_string_counter kept = {0};
    bool ok = true;
    for (int i = 0; i < counts->count && ok; i++)
        if (counts->list[i].times > times)
            ok = sl_string_counter_add(&kept, sl_string_counter_text(counts, i),
                                       counts->list[i].times, NULL, err);
    if (!ok) {
        sl_string_counter_release(&kept);
        return false;
    }
    sl_string_counter_release(counts);
    *counts = kept;
    return true;
}
