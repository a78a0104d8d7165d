/* token_occurrences.c - a counting sort of the places of a text by their tokens. */
#include "vectors/token_occurrences.h"

#include "base/random.h"

#include <stdlib.h>

static void sort_places(struct sl_occurrences *o, int64_t *next)
{
    int32_t *places = o->places.data;
    for (int64_t i = 0; i < o->documents->count; i++)
        places[next[o->documents->ids[i]]++] = (int32_t)i;
}

bool sl_occurrences_open(struct sl_occurrences *o, const struct sl_documents *documents, int vocab,
                         struct sl_err *err)
{
    size_t count = (size_t)vocab + 1;
    *o = (struct sl_occurrences){.documents = documents};
    o->first = calloc(count, sizeof *o->first);
    int64_t *next = calloc(count, sizeof *next);
    bool ok = o->first && next;
    if (!ok)
        sl_fail(err, SL_NO_MEMORY, "no memory to count %d tokens", vocab);
    ok = ok && sl_scratch_file_reserve(&o->places, (size_t)documents->count * sizeof(int32_t), err);
    if (ok) {
        for (int64_t i = 0; i < documents->count; i++)
            o->first[documents->ids[i] + 1]++;
        for (int i = 0; i < vocab; i++)
            next[i + 1] = o->first[i + 1] += o->first[i];
        sort_places(o, next);
    }
    free(next);
    return ok;
}

void sl_occurrences_close(struct sl_occurrences *o)
{
    sl_scratch_file_close(&o->places);
    free(o->first);
    *o = (struct sl_occurrences){0};
}

int32_t sl_occurrences_draw(const struct sl_occurrences *o, int32_t token, int distance,
                            uint64_t key)
{
    const int32_t *places = o->places.data, *ids = o->documents->ids;
    int64_t first = o->first[token], count = o->first[token + 1] - first, there = -1;
    if (count > 0)
        there = places[first + (int64_t)sl_random_below(key, 0, (uint64_t)count)] + distance;
    if (there < 0 || there >= o->documents->count)
        there = (int64_t)sl_random_below(key, 1, (uint64_t)o->documents->count);
    return ids[there];
}
