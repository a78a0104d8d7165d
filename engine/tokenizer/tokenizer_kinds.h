/* tokenizer_kinds.h - the table of the kinds of tokenizers. */
#pragma once

#include "tokenizer/tokenizer.h"

/* The names of the kinds, by index; NULL past the last. */
const char *sl_tokenizer_kind_name(int index);
/* NULL for an unknown name. */
const struct sl_tokenizer_kind *sl_tokenizer_kind_named(const char *name);
/* The same among the kinds that are made here, not imported. NULL with err, which lists them. */
const struct sl_tokenizer_kind *sl_tokenizer_kind_find(const char *name, struct sl_err *err)
    SL_MUST_CHECK;

/* A tokenizer of the kind of this name from its pieces, which are copied. */
struct sl_tokenizer *sl_tokenizer_create(const char *kind, bool lower,
                                         const struct sl_piece *pieces, int count,
                                         struct sl_err *err) SL_MUST_CHECK;
