/* tokens.h - text to token ids and back. A tokenizer never changes once made; any thread may use
 * it. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

struct sl_tokenizer;

/* What to do with a character that the vocabulary does not have. */
enum sl_unknown {
    SL_UNKNOWN_FAIL,   /* an error that names the characters and where they are */
    SL_UNKNOWN_REPLACE /* the tokenizer's replacement: U+FFFD or '?' or ' ', the first it has */
};

SL_PUBLIC int sl_tokenizer_size(const struct sl_tokenizer *tokens); /* of the vocabulary */
SL_PUBLIC const char *sl_tokenizer_kind(const struct sl_tokenizer *tokens);

/* Encodes bytes of UTF-8 into at most `most` ids. Returns how many ids the text has, which may be
 * more than `most` (then only the first `most` were written), or -1 with err: invalid UTF-8 or
 * unknown characters. ids may be NULL when most is 0. */
SL_PUBLIC long sl_tokenizer_encode(const struct sl_tokenizer *tokens, const char *text,
                                   size_t bytes, enum sl_unknown unknown, int32_t *ids, long most,
                                   struct sl_err *err) SL_MUST_CHECK;

/* The text of one id: bytes that the tokenizer owns, never a part of a UTF-8 character for
 * character tokenizers. NULL when id is out of range. */
SL_PUBLIC const char *sl_tokenizer_piece(const struct sl_tokenizer *tokens, int32_t id,
                                         size_t *bytes);
