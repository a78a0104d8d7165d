/* piece_table.h - the ids of pieces by their text.
 *
 * Built once, then immutable; any thread may read it. The texts stay the caller's. */
#pragma once

#include "base/hash_index.h"
#include "tokenizer/tokenizer_kind.h"

/* Starts as zeros. */
struct sl_piece_table {
    const struct sl_piece *pieces;
    struct sl_hash_index hashes;
    int32_t *ids; /* by number of the hash */
};

/* Adds all pieces with a text. A text that is there already is not added: *twin is the first such
 * id, -1 if there is none (may be NULL). */
bool sl_piece_table_fill(struct sl_piece_table *table, const struct sl_piece *pieces, int count,
                         int32_t *twin, struct sl_err *err) SL_MUST_CHECK;
void sl_piece_table_release(struct sl_piece_table *table);

/* -1: none. */
int32_t sl_piece_table_find(const struct sl_piece_table *table, const char *text, size_t bytes);
