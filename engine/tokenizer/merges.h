/* merges.h - the pieces that a vocabulary is made of beyond its characters: the pairs that words
 * have most often, joined one after another. */
#pragma once

#include "tokenizer/string_counter.h"
#include "tokenizer/tokenizer.h"

/* Adds pieces until there are as many as `how` asks for, or no pair is left that occurs twice. The
 * characters must be there. */
bool sl_merges_add(struct sl_string_counter *pieces, const struct sl_string_counter *words,
                   const char *joint, const struct sl_tokenizer_options *how, struct sl_err *err)
    SL_MUST_CHECK;
