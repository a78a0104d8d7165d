/* merges.h - the pieces of a WordPiece vocabulary beyond its alphabet, by byte pair encoding. */
#pragma once

#include "tokenizer/string_counter.h"
#include "tokenizer/tokenizer.h"

/* Adds pieces until the size in `how` is reached or no pair occurs twice. `pieces` must hold the
 * alphabet. */
bool sl_merges_add(struct sl_string_counter *pieces, const struct sl_string_counter *words,
                   const char *prefix, const struct sl_tokenizer_options *how, struct sl_err *err)
    SL_MUST_CHECK;
