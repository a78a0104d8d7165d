/* detokenizer.h - tokens of `wordpiece`, which splits words from punctuation, as readable text. */
#pragma once

#include "base/buffer.h"
#include "sluice/tokenizer.h"

/* Appends the text of ids in range. Blanks that only the tokenizer put beside punctuation, within
 * numbers and within words with a hyphen or an apostrophe are left out, by simple rules, as Moses'
 * detokenizer has them. */
void sl_detokenize(struct sl_buffer *out, const struct sl_tokenizer *tokenizer, const int32_t *ids,
                   int count);
