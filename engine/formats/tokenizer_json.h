/* tokenizer_json.h - a tokenizer from Hugging Face's file tokenizer.json.
 *
 * Whatever the file says is done exactly, or refused by its name and place. Truncation and padding
 * are the model's affair: of those only the side and the padding token are read. */
#pragma once

#include "tokenizer/tokenizer.h"

enum { SL_TOKENIZER_JSON_MAX = 40 << 20 }; /* bytes; Gemma 3's, the largest in use, has 33 MB */

struct sl_tokenizer *sl_tokenizer_json_read(const char *text, size_t bytes, struct sl_err *err)
    SL_MUST_CHECK;
