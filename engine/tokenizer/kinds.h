/* kinds.h - the kinds of tokenizers: each is one file, and one row in the table of tokenizer.c. */
#pragma once

#include "tokenizer/tokenizer.h"

extern const struct sl_tokenizer_kind sl_tokenizer_characters; /* characters.c */
extern const struct sl_tokenizer_kind sl_tokenizer_bytes;      /* raw_bytes.c */
extern const struct sl_tokenizer_kind sl_tokenizer_words;      /* words.c */
extern const struct sl_tokenizer_kind sl_tokenizer_wordpiece;  /* wordpiece.c */
