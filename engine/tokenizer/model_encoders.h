/* model_encoders.h - what makes tokens of the words of a text: WordPiece, BPE or Unigram.
 *
 * A model is immutable; any thread may use it, each with its own scratch. */
#pragma once

#include "tokenizer/byte_trie.h"
#include "tokenizer/model_scratch.h"
#include "tokenizer/piece_table.h"

enum { SL_AFFIX_MAX = 64 };

enum sl_token_model_kind { SL_MODEL_WORDPIECE, SL_MODEL_BPE, SL_MODEL_UNIGRAM };

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

/* The tokens of one word, which is not empty. They are added to the scratch; false: unknown text
 * without a token for it. */
bool sl_wordpiece_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                         struct sl_model_scratch *scratch);
bool sl_bpe_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                   struct sl_model_scratch *scratch);
bool sl_unigram_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                       struct sl_model_scratch *scratch);

/* WordPiece: where the pieces that continue a word are. */
enum { SL_WORDPIECE_BEGIN, SL_WORDPIECE_CONTINUE, SL_WORDPIECE_ROOTS };

/* BPE: two neighbours as a key. */
static inline uint64_t sl_bpe_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}
