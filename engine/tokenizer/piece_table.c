/* piece_table.c - hashes of texts; of the few that are the same, all but one stand at the next. */
#include "tokenizer/piece_table.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *text, size_t bytes)
{
    uint64_t h = bytes, block;
    for (; bytes > sizeof block; text += sizeof block, bytes -= sizeof block) {
        memcpy(&block, text, sizeof block);
        h = sl_random_mix(h ^ block);
    }
    block = 0;
    for (size_t i = 0; i < bytes; i++)
        block = block << 8 | (unsigned char)text[i];
    return h * 0x9E3779B97F4A7C15 ^ block;
}

/* The id of a text, -1: none; *key: where it is, or belongs. */
static int32_t find(const struct sl_piece_table *table, struct sl_piece text, uint64_t *key)
{
    for (*key = hash(text.text, text.bytes);; ++*key) {
        int32_t number = sl_hash_find(&table->hashes, *key);
        if (number < 0)
            return -1;
        const struct sl_piece *piece = &table->pieces[table->ids[number]];
        if (piece->bytes == text.bytes && memcmp(piece->text, text.text, text.bytes) == 0)
            return table->ids[number];
    }
}

bool sl_piece_table_fill(struct sl_piece_table *table, const struct sl_piece *pieces, int count,
                         int32_t *twin, struct sl_err *err)
{
    uint64_t key;
    *table = (struct sl_piece_table){.pieces = pieces};
    table->ids = calloc((size_t)count + 1, sizeof *table->ids);
    bool ok = table->ids != NULL;
    if (twin)
        *twin = -1;
    for (int32_t id = 0; id < count && ok; id++) {
        if (!pieces[id].text)
            continue;
        if (find(table, pieces[id], &key) < 0) {
            int32_t number = sl_hash_add(&table->hashes, key);
            ok = number >= 0;
            table->ids[ok ? number : 0] = id;
        } else if (twin && *twin < 0) {
            *twin = id;
        }
    }
    return ok || sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %d pieces", count);
}

void sl_piece_table_release(struct sl_piece_table *table)
{
    sl_hash_release(&table->hashes);
    free(table->ids);
    *table = (struct sl_piece_table){0};
}

int32_t sl_piece_table_find(const struct sl_piece_table *table, const char *text, size_t bytes)
{
    uint64_t key;
    return find(table, (struct sl_piece){text, bytes}, &key);
}
