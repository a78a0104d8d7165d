/* wordpiece_alphabet.h - the single characters at the start of a WordPiece vocabulary. */
#pragma once

#include "tokenizer/string_counter.h"

/* Adds to `pieces` the 1,000 most frequent characters of the words (ties: by code point), in code
 * point order: the character itself and, if it continues a word, the character after `prefix`.
 * Words with other characters stay unknown, as in BERT's vocabularies. Fails when that is more than
 * `size` pieces. */
bool sl_wordpiece_alphabet_add(struct sl_string_counter *pieces,
                               const struct sl_string_counter *words, const char *prefix, int size,
                               struct sl_err *err) SL_MUST_CHECK;
