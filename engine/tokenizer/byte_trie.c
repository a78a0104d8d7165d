/* byte_trie.c - edges are numbered as they are added, and so are the nodes behind them. */
#include "tokenizer/byte_trie.h"

#include "base/dynarray.h"

#include <assert.h>
#include <stdlib.h>

static bool fail_memory(struct sl_err *err)
{
    return sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
}

static bool node_add(struct sl_byte_trie *trie)
{
    if (!sl_dynarray_reserve(&trie->ids, &trie->capacity, trie->nodes + 1, sizeof *trie->ids, NULL))
        return false;
    trie->ids[trie->nodes++] = -1;
    return true;
}

bool sl_byte_trie_init(struct sl_byte_trie *trie, uint32_t roots, struct sl_err *err)
{
    bool ok = true;
    trie->roots = roots;
    for (uint32_t i = 0; i < roots && ok; i++)
        ok = node_add(trie);
    return ok || fail_memory(err);
}

void sl_byte_trie_release(struct sl_byte_trie *trie)
{
    sl_hash_release(&trie->edges);
    free(trie->ids);
    *trie = (struct sl_byte_trie){0};
}

/* The node at the end of an edge, created if missing; 0 without memory. */
static uint32_t node_after(struct sl_byte_trie *trie, uint32_t node, char byte)
{
    int32_t edge = sl_hash_add(&trie->edges, (uint64_t)node << 8 | (unsigned char)byte);
    uint32_t next = trie->roots + (uint32_t)edge;
    if (edge < 0 || (next == trie->nodes && !node_add(trie)))
        return 0;
    return next;
}

bool sl_byte_trie_add(struct sl_byte_trie *trie, uint32_t root, struct sl_piece text, int32_t id,
                      struct sl_err *err)
{
    uint32_t node = root;
    assert(text.bytes > 0);
    if (trie->nodes + text.bytes > SL_BYTE_TRIE_NODES_MAX)
        return sl_fail(err, SL_BAD_INPUT, "the pieces of a vocabulary have more than %d bytes",
                       SL_BYTE_TRIE_NODES_MAX);
    for (size_t i = 0; i < text.bytes; i++)
        if ((node = node_after(trie, node, text.text[i])) == 0)
            return fail_memory(err);
    if (trie->ids[node] < 0)
        trie->ids[node] = id;
    return true;
}
