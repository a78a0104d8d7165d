/* vocabulary_trie.c - edges in one index: a node needs no memory beyond its edge. */
#include "tokenizer/vocabulary_trie.h"

#include "base/dynarray.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t key_of(uint32_t node, uint32_t codepoint)
{
    return (uint64_t)node << 32 | codepoint;
}

/* The node at the end of an edge; 0: there is none. */
static uint32_t node_after(const struct sl_trie *t, uint32_t node, uint32_t codepoint)
{
    const int32_t edge = sl_hash_find(&t->edges, key_of(node, codepoint));
    return edge >= 0 ? SL_TRIE_ROOTS + (uint32_t)edge : 0;
}

/* -- building --------------------------------------------------------------------------------- */

static bool node_add(struct sl_trie *t)
{
    if (!sl_dynarray_reserve(&t->ids, &t->capacity, t->nodes + 1, sizeof *t->ids, NULL))
        return false;
    t->ids[t->nodes++] = -1;
    return true;
}

/* The node at the end of an edge, created if missing; 0 without memory. */
static uint32_t node_make(struct sl_trie *t, uint32_t node, uint32_t codepoint)
{
    const int32_t edge = sl_hash_add(&t->edges, key_of(node, codepoint));
    bool ok = edge >= 0 && (SL_TRIE_ROOTS + (size_t)edge < t->nodes || node_add(t));
    return ok ? SL_TRIE_ROOTS + (uint32_t)edge : 0;
}

/* Removes the prefix; returns the root of the tree that the rest belongs to. */
static uint32_t strip_prefix(struct sl_piece *piece, const char *prefix)
{
    size_t length = prefix ? strlen(prefix) : 0;
    if (!prefix || piece->bytes < length || memcmp(piece->text, prefix, length) != 0)
        return SL_TRIE_WORD;
    piece->text += length;
    piece->bytes -= length;
    return SL_TRIE_CONTINUATION;
}

static bool piece_check(const struct sl_piece *piece, int line, struct sl_err *err)
{
    if (piece->bytes == 0)
        return sl_fail(err, SL_BAD_INPUT, "line %d is empty", line);
    if (piece->bytes > SL_PIECE_BYTES_MAX)
        return sl_fail(err, SL_BAD_INPUT, "line %d has %zu bytes: expected at most %d", line,
                       piece->bytes, SL_PIECE_BYTES_MAX);
    if (memchr(piece->text, '\n', piece->bytes) || memchr(piece->text, '\0', piece->bytes))
        return sl_fail(err, SL_BAD_INPUT, "line %d contains a line break or NUL", line);
    return sl_utf8_check(piece->text, piece->bytes, err) || sl_wrap(err, "line %d", line);
}

static bool piece_add(struct sl_trie *t, struct sl_piece piece, const char *prefix, int32_t id,
                      struct sl_err *err)
{
    const char *text = piece.text; /* ends with a NUL, as a tokenizer's do */
    uint32_t node = strip_prefix(&piece, prefix);
    for (size_t at = 0; at < piece.bytes;) {
        uint32_t codepoint = 0;
        bool valid = sl_utf8_next(piece.text, piece.bytes, &at, &codepoint);
        assert(valid);
        node = node_make(t, node, codepoint);
        if (node == 0)
            return sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
    }
    if (t->ids[node] >= 0)
        return sl_fail(err, SL_BAD_INPUT, "line %d, '%s', is the same as line %d", id + 1, text,
                       t->ids[node] + 1);
    t->ids[node] = id;
    return true;
}

bool sl_trie_fill(struct sl_trie *trie, const struct sl_tokenizer *tokenizer, const char *prefix,
                  struct sl_err *err)
{
    for (int root = 0; root < 2; root++)
        if (!node_add(trie))
            return sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
    for (int32_t id = 0; id < tokenizer->count; id++)
        if (!piece_check(&tokenizer->pieces[id], id + 1, err) ||
            !piece_add(trie, tokenizer->pieces[id], prefix, id, err))
            return false;
    return true;
}

void sl_trie_release(struct sl_trie *trie)
{
    sl_hash_release(&trie->edges);
    free(trie->ids);
    *trie = (struct sl_trie){0};
}

/* -- reading ---------------------------------------------------------------------------------- */

int32_t sl_trie_find(const struct sl_trie *trie, const char *text)
{
    uint32_t node = SL_TRIE_WORD;
    size_t bytes = strlen(text);
    for (size_t at = 0; at < bytes;) {
        uint32_t codepoint = 0;
        bool valid = sl_utf8_next(text, bytes, &at, &codepoint);
        assert(valid);
        node = node_after(trie, node, codepoint);
        if (node == 0)
            return -1;
    }
    return trie->ids[node];
}

int sl_trie_match(const struct sl_trie *trie, enum sl_trie_root root, const struct sl_word *word,
                  int from, int32_t *id)
{
    assert(word->count <= SL_WORD_CODEPOINTS_MAX);
    int length = 0;
    uint32_t node = root;
    for (int at = from; at < word->count; at++) {
        node = node_after(trie, node, word->codepoints[at].point);
        if (node == 0)
            break;
        if (trie->ids[node] >= 0) {
            length = at + 1 - from;
            *id = trie->ids[node];
        }
    }
    return length;
}
