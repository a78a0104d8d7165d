/* byte_trie.h - finds all pieces that a text begins with.
 *
 * Several trees may share one table; each has a root. Built once, then immutable; any thread may
 * read it. */
#pragma once

#include "base/hash_index.h"
#include "tokenizer/tokenizer_kind.h"

enum { SL_BYTE_TRIE_NODES_MAX = 1 << 24 };

/* Starts as zeros. */
struct sl_byte_trie {
    struct sl_hash_index edges; /* node << 8 | byte; the edges lead to the nodes behind the roots */
    uint32_t roots;
    int32_t *ids; /* by node: the piece that ends there; -1: none */
    size_t nodes, capacity;
};

/* Adds `roots` nodes, numbered from 0. */
bool sl_byte_trie_init(struct sl_byte_trie *trie, uint32_t roots, struct sl_err *err) SL_MUST_CHECK;
void sl_byte_trie_release(struct sl_byte_trie *trie);

/* Adds a text of at least one byte. The same text again keeps the first id. */
bool sl_byte_trie_add(struct sl_byte_trie *trie, uint32_t root, struct sl_piece text, int32_t id,
                      struct sl_err *err) SL_MUST_CHECK;

/* The node behind a byte; 0: none. ids[node] is the piece that ends there. */
static inline uint32_t sl_byte_trie_next(const struct sl_byte_trie *trie, uint32_t node, char byte)
{
    int32_t edge = sl_hash_find(&trie->edges, (uint64_t)node << 8 | (unsigned char)byte);
    return edge < 0 ? 0 : trie->roots + (uint32_t)edge;
}
