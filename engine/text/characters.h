/* characters.h - the kind of tokenizer whose pieces are single characters. */
#pragma once

#include "text/tokenizer.h"

extern const struct sl_tokenizer_kind sl_tokenizer_characters;
