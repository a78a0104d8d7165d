/* trie.h - pieces by their characters: finds the longest one that a word begins with.
 *
 * Two trees in one table: pieces that begin words, and pieces that go on with them. Built once,
 * then read by any thread. */
#pragma once

#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

enum sl_trie_root { SL_TRIE_WORD, SL_TRIE_REST, SL_TRIE_ROOTS };

struct sl_edge {
    uint32_t node, point;
    uint32_t next; /* the node that it leads to; 0, a root: no edge */
};

struct sl_trie {
    struct sl_edge *edges; /* by hash, open addressing, at most half full */
    uint32_t mask;         /* one less than their number, a power of two */
    int32_t *ids;          /* by node: of the piece that ends there; -1: none */
    size_t nodes, room;
};

/* Puts all pieces of a tokenizer in a trie of zeros, those that begin with `joint` (may be NULL)
 * under SL_TRIE_REST without it. Fails for pieces that no file of lines could hold, and for two of
 * the same text, by line: id + 1. */
bool sl_trie_fill(struct sl_trie *trie, const struct sl_tokenizer *tokens, const char *joint,
                  struct sl_err *err) SL_MUST_CHECK;
void sl_trie_release(struct sl_trie *trie); /* a zeroed one is fine */

/* The id of a whole piece, written as in the file; -1: none. */
int32_t sl_trie_find(const struct sl_trie *trie, const char *text);

/* The length in code points of the longest piece that matches the word from code point `from` on,
 * and its id; 0 if none matches. */
int sl_trie_match(const struct sl_trie *trie, enum sl_trie_root root, const struct sl_word *word,
                  int from, int32_t *id);
