/* token_model.h - what makes tokens of the words of a text: WordPiece, BPE or Unigram.
 *
 * A model is immutable; any thread may use it, each with its own scratch. */
#pragma once

#include "tokenizer/byte_trie.h"
#include "tokenizer/piece_table.h"

enum { SL_AFFIX_MAX = 64, SL_PIECE_TEXT_MAX = 1024 };

enum sl_token_model_kind { SL_MODEL_WORDPIECE, SL_MODEL_BPE, SL_MODEL_UNIGRAM };

/* Two pieces that become one. */
struct sl_merge {
    struct sl_piece left, right;
    uint32_t rank; /* the smallest comes first; of the same, the leftmost */
};

/* A model from outside. All of it stays the caller's. */
struct sl_token_model_parts {
    enum sl_token_model_kind kind;
    const struct sl_piece *pieces; /* by id; a text of NULL: not of the model */
    int count;
    const char *unknown;           /* the piece for unknown text; NULL: none */
    const char *prefix;            /* WordPiece, BPE: of pieces within a word; NULL: none */
    const char *suffix;            /* BPE: of the last piece of a word; NULL: none */
    int word_characters_max;       /* WordPiece: longer words are unknown */
    const struct sl_merge *merges; /* BPE */
    size_t merge_count;
    const double *scores; /* Unigram, by id */
    bool byte_fallback;   /* unknown text becomes pieces <0x00> to <0xFF> */
    bool fuse_unknown;    /* BPE: unknown characters side by side are one token */
    bool ignore_merges;   /* BPE: a word that is a piece is that token */
    bool byte_level;      /* BPE: pieces are spelled with a character per byte, as GPT-2's */
};

/* Bytes [start, stop) of a word. */
struct sl_model_token {
    int32_t id;
    uint32_t start, stop;
};

struct sl_bpe_symbol {
    int32_t id, before, after; /* -1: none */
    uint32_t bytes;            /* 0: merged into the one before it */
};

struct sl_bpe_candidate {
    uint32_t rank, at; /* the smallest comes first */
    int32_t merged;
};

/* The best way to a place in a word. */
struct sl_unigram_node {
    double score;
    int32_t id;           /* of the piece that ends here */
    uint32_t start, next; /* where it begins, UINT32_MAX: none ends here; where the next one ends */
};

/* The tokens of a word, and memory that lasts from word to word. Starts as zeros. */
struct sl_model_scratch {
    struct sl_model_token *tokens;
    size_t count, capacity;
    struct sl_bpe_symbol *symbols;
    size_t symbol_count, symbols_capacity;
    struct sl_bpe_candidate *heap;
    size_t heap_count, heap_capacity;
    struct sl_unigram_node *nodes;
    size_t nodes_capacity;
    bool failed; /* out of memory */
};

void sl_model_scratch_release(struct sl_model_scratch *scratch);
void sl_model_scratch_add(struct sl_model_scratch *scratch, struct sl_model_token token);

/* What two neighbours become. */
struct sl_bpe_merge {
    int32_t merged;
    uint32_t rank;
};

struct sl_token_model {
    enum sl_token_model_kind kind;
    struct sl_piece *pieces; /* by id, as they stand in a word; a text of NULL: none does */
    char *text;              /* of pieces that are not spelled as in the file */
    int count;
    struct sl_piece_table table;
    int32_t *whole;     /* by id: the one token that the piece as a word becomes; -1: several */
    int32_t unknown;    /* -1: none */
    int32_t bytes[256]; /* byte fallback; -1: none */
    bool byte_fallback, fuse_unknown, byte_level;
    char prefix[SL_AFFIX_MAX], suffix[SL_AFFIX_MAX];
    size_t prefix_bytes, suffix_bytes;
    int word_characters_max;
    struct sl_byte_trie trie;    /* WordPiece, Unigram */
    struct sl_hash_index pairs;  /* left << 32 | right */
    struct sl_bpe_merge *merges; /* by number of the pair */
    double *scores, score_min;
};

/* Fails for pieces and merges that name none, for texts that are there twice, and for a vocabulary
 * that is too large. `model` is zeroed, and to be released also after a failure. */
bool sl_token_model_init(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                         struct sl_err *err) SL_MUST_CHECK;
void sl_token_model_release(struct sl_token_model *model);

/* Replaces the scratch's tokens by those of a word. False: unknown text in a model without a token
 * for it. */
bool sl_token_model_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                           struct sl_model_scratch *scratch) SL_MUST_CHECK;
