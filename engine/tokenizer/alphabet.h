/* alphabet.h - the characters that a vocabulary of pieces begins with. */
#pragma once

#include "tokenizer/string_counter.h"

/* Adds to `pieces` the 1,000 most frequent characters of the words (those of one count by code
 * point), in the order of their code points: by itself, and where a word can go on with it also
 * after the joint. Words with other characters stay unknown, as in BERT's own vocabularies. Fails
 * when that is more than `size` pieces. */
bool sl_alphabet_add(struct sl_string_counter *pieces, const struct sl_string_counter *words,
                     const char *joint, int size, struct sl_err *err) SL_MUST_CHECK;
