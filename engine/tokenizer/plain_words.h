/* plain_words.h - a shortcut for most words of most texts: up to 16 ASCII letters and digits, or
 * one ASCII punctuation character, that are a whole piece of the vocabulary.
 *
 * They are looked up by their bytes, once, instead of a code point at a time. The longest match
 * that begins such a word is the word itself, so the tokens are the same. Built once, then
 * immutable; any thread may read it. */
#pragma once

#include "base/hash_index.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

enum { SL_PLAIN_WORD_BYTES = 16 };

/* Normalized, with zeros behind. */
struct sl_plain_word {
    uint64_t bytes[SL_PLAIN_WORD_BYTES / sizeof(uint64_t)];
    int32_t id;
};

struct sl_plain_words {
    struct sl_hash_index index; /* by a hash of the bytes */
    struct sl_plain_word *list; /* by number */
};

/* Takes the pieces of a tokenizer that do not begin with `prefix`; `words` is zeroed. */
bool sl_plain_words_fill(struct sl_plain_words *words, const struct sl_tokenizer *tokenizer,
                         const struct sl_normalizer *normalizer, const char *prefix,
                         struct sl_err *err) SL_MUST_CHECK;
void sl_plain_words_release(struct sl_plain_words *words); /* a zeroed one is fine */

/* Takes the next word, if it is one of these. False: sl_pre_tokenizer_next is to take it. */
bool sl_plain_words_next(const struct sl_plain_words *words, struct sl_pre_tokenizer *pre_tokenizer,
                         int32_t *id, struct sl_token_offset *place);
