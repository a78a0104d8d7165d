/* bert_words.h - BERT's words and their pieces, straight from the original text: normalized a code
 * point at a time, matched greedily, with a shortcut for most words of most texts. */
#pragma once

#include "tokenizer/plain_words.h"
#include "tokenizer/vocabulary_trie.h"

extern const char sl_continuation_prefix[]; /* "##", of pieces that continue a word */

/* Starts as zeros; built once, then immutable. */
struct sl_bert_words {
    struct sl_normalizer normalizer;
    struct sl_trie trie;
    struct sl_plain_words plain;
    int32_t unknown; /* the id of words that are none of pieces: set it after init */
};

/* Takes all pieces of a tokenizer. */
bool sl_bert_words_init(struct sl_bert_words *words, const struct sl_tokenizer *tokenizer,
                        bool lower, struct sl_err *err) SL_MUST_CHECK;
void sl_bert_words_release(struct sl_bert_words *words); /* a zeroed one is fine */

/* The tokens of bytes [start, stop) of the job's text. */
void sl_bert_words_encode(const struct sl_bert_words *words, struct sl_encoder_output *output,
                          size_t start, size_t stop);
