/* vocabulary_trie.h - finds the longest piece of the vocabulary that a word begins with.
 *
 * Two trees in one table: pieces at the start of a word, and pieces that continue one. Built once,
 * then immutable; any thread may read it. */
#pragma once

#include "base/hash_index.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

enum sl_trie_root { SL_TRIE_WORD, SL_TRIE_CONTINUATION, SL_TRIE_ROOTS };

/* A node is an index: the roots, then one at the end of each edge, by the edge's number. */
struct sl_trie {
    struct sl_hash_index edges; /* by node and code point */
    int32_t *ids;               /* by node: the piece that ends there; -1: none */
    size_t nodes, capacity;
};

/* Adds all pieces of a tokenizer to a zeroed trie, those that begin with `prefix` (may be NULL)
 * under SL_TRIE_CONTINUATION without it. Fails for pieces that no file of lines could hold, and for
 * two of the same text, by line: id + 1. */
bool sl_trie_fill(struct sl_trie *trie, const struct sl_tokenizer *tokenizer, const char *prefix,
                  struct sl_err *err) SL_MUST_CHECK;
void sl_trie_release(struct sl_trie *trie); /* a zeroed one is fine */

/* The id of a whole piece, spelled as in the file; -1: none. */
int32_t sl_trie_find(const struct sl_trie *trie, const char *text);

/* The length in code points of the longest piece that matches the word from code point `from` on,
 * and its id; 0 if none matches. */
int sl_trie_match(const struct sl_trie *trie, enum sl_trie_root root, const struct sl_word *word,
                  int from, int32_t *id);
