/* bpe_merges.h - the pieces of a WordPiece vocabulary beyond its alphabet, by byte pair
 * encoding. */
#pragma once

#include "tokenizer/string_counter.h"
#include "tokenizer/tokenizer.h"

/* Adds pieces until the size in `options` is reached or no pair occurs twice. `pieces` must hold
 * the alphabet. */
bool sl_bpe_merges_add(struct sl_string_counter *pieces, const struct sl_string_counter *words,
                       const char *prefix, const struct sl_tokenizer_options *options,
                       struct sl_err *err) SL_MUST_CHECK;
