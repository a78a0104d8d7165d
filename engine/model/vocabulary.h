/* vocabulary.h - vocab.json: a tokenizer as the list of its pieces, in the order of their ids.
 *
 *     {"kind": "characters", "pieces": ["\n", " ", "!", ...]} */
#pragma once

#include "text/tokenizer.h"

/* free() it. */
char *sl_vocabulary_print(const struct sl_tokenizer *tokens, struct sl_err *err) SL_MUST_CHECK;

struct sl_tokenizer *sl_vocabulary_read(const char *text, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;
