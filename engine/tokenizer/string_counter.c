/* string_counter.c - one pool of bytes, one list, and a hash table of indices into the list. */
#include "tokenizer/string_counter.h"

#include "base/dynarray.h"
#include "base/random.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 1 << 12 };

void sl_string_counter_release(struct sl_string_counter *counts)
{
    free(counts->list);
    free(counts->text);
    free(counts->slots);
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
static uint32_t hash(struct sl_piece text)
{
    uint64_t h = 0xCBF29CE484222325;
    for (size_t i = 0; i < text.bytes; i++)
        h = (h ^ (unsigned char)text.text[i]) * 0x100000001B3;
    return (uint32_t)sl_random_mix(h);
}

/* The slot of a text's index, or the free slot where it belongs. */
static uint32_t *slot_of(const struct sl_string_counter *c, struct sl_piece text)
{
    uint32_t at = hash(text) & c->mask;
    for (; c->slots[at]; at = (at + 1) & c->mask) {
        struct sl_piece other = sl_string_counter_text(c, (int)c->slots[at] - 1);
        if (other.bytes == text.bytes && memcmp(other.text, text.text, text.bytes) == 0)
            break;
    }
    return &c->slots[at];
}

int sl_string_counter_find(const struct sl_string_counter *counts, struct sl_piece text)
{
    return counts->slots ? (int)*slot_of(counts, text) - 1 : -1;
}

static bool slots_resize(struct sl_string_counter *c, uint32_t count)
{
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(c->slots);
    c->slots = slots;
    c->mask = count - 1;
    for (int i = 0; i < c->count; i++)
        *slot_of(c, sl_string_counter_text(c, i)) = (uint32_t)i + 1;
    return true;
}

static bool make_room(struct sl_string_counter *c, size_t bytes)
{
    if (c->count >= INT_MAX / 4)
        return false;
    if (!sl_dynarray_reserve(&c->list, &c->list_capacity, (size_t)c->count + 1, sizeof *c->list,
                             NULL) ||
        !sl_dynarray_reserve(&c->text, &c->text_capacity, c->bytes + bytes, 1, NULL))
        return false;
    bool full = !c->slots || (uint32_t)c->count >= c->mask / 2;
    return !full || slots_resize(c, c->slots ? (c->mask + 1) * 2 : SLOTS_FIRST);
}

bool sl_string_counter_add(struct sl_string_counter *counts, struct sl_piece text, int64_t times,
                           int *number, struct sl_err *err)
{
    assert(text.bytes > 0);
    assert(text.bytes <= UINT32_MAX);
    int found = sl_string_counter_find(counts, text);
    if (found < 0) {
        if (!make_room(counts, text.bytes))
            return sl_fail(err, SL_NO_MEMORY, "no memory for %d texts", counts->count + 1);
        memcpy(counts->text + counts->bytes, text.text, text.bytes);
        found = counts->count++;
        counts->list[found] =
            (struct sl_string_count){.start = counts->bytes, .bytes = (uint32_t)text.bytes};
        counts->bytes += text.bytes;
        *slot_of(counts, sl_string_counter_text(counts, found)) = (uint32_t)found + 1;
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
