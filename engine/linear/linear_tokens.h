/* linear_tokens.h - what the tokens of a vocabulary are to a bag of words. */
#pragma once

#include "layers/bag_of_words.h"
#include "tokenizer/tokenizer.h"

/* Sets the roles: which tokens begin a word, continue one, or are part of no n-gram. */
void sl_linear_tokens_set_roles(struct sl_bag_of_words *m, const struct sl_tokenizer *tokens);
/* Sets the weights of special tokens in the means of vectors to 0; others stay. */
void sl_linear_tokens_drop_special(struct sl_bag_of_words *m, const struct sl_tokenizer *tokens);

/* Whether tokens are pieces of words. Only then are unknown words spelt, by their pieces. */
bool sl_linear_tokens_can_spell(const struct sl_tokenizer *tokens);
/* The characters of all tokens, as in sl_bag_of_words.spellings; data is the caller's to free. */
bool sl_linear_tokens_spell(struct sl_parameter *spellings, const struct sl_tokenizer *tokens,
                            struct sl_err *err) SL_MUST_CHECK;
