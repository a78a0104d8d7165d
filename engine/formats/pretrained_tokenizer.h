/* pretrained_tokenizer.h - the tokenizer of a directory of Hugging Face's. */
#pragma once

#include "tokenizer/tokenizer.h"

/* From tokenizer.json; without one from vocab.txt, as BERT's WordPiece, which lower-cases unless
 * tokenizer_config.json says "do_lower_case": false. lowers: texts are lower-cased before anything
 * else, as sentence-transformers can do it. */
struct sl_tokenizer *sl_pretrained_tokenizer_open(const char *directory, bool lowers,
                                                  struct sl_err *err) SL_MUST_CHECK;
