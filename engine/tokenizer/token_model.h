/* token_model.h - a model of tokens from its parts, checked; and the tokens of a word. */
#pragma once

#include "tokenizer/model_encoders.h"

enum { SL_PIECE_TEXT_MAX = 1024 };

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

/* Fails for pieces and merges that name none, for texts that are there twice, and for a vocabulary
 * that is too large. `model` is zeroed, and to be released also after a failure. */
bool sl_token_model_init(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                         struct sl_err *err) SL_MUST_CHECK;
void sl_token_model_release(struct sl_token_model *model);

/* Replaces the scratch's tokens by those of a word. False: unknown text in a model without a token
 * for it. */
bool sl_token_model_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                           struct sl_model_scratch *scratch) SL_MUST_CHECK;
