/* tokenizer.h - what tokenizers of all kinds share: the vocabulary and decoding.
 *
 * A tokenizer owns copies of its pieces and is immutable, but for the side of truncation before
 * training. It is saved as the list of its pieces, in order, and `lower`. */
#pragma once

#include "tokenizer/tokenizer_kind.h"

enum {
    SL_VOCAB_MAX = 1 << 21, /* more than Unicode has characters */
    SL_PIECE_BYTES_MAX = 512
};

enum { SL_VOCAB_SIZE_DEFAULT = 30000 }; /* close to BERT's */

/* A tokenizer from its pieces, which are copied. */
struct sl_tokenizer *sl_tokenizer_open(const struct sl_tokenizer_kind *kind, bool lower,
                                       const struct sl_piece *pieces, int count, struct sl_err *err)
    SL_MUST_CHECK;
/* The same without what the kind's `open` does: for a kind that is opened otherwise. */
struct sl_tokenizer *sl_tokenizer_allocate(const struct sl_tokenizer_kind *kind, bool lower,
                                           const struct sl_piece *pieces, int count,
                                           struct sl_err *err) SL_MUST_CHECK;
void sl_tokenizer_destroy(struct sl_tokenizer *tokenizer); /* NULL is fine */
/* How many types the tokens of two texts have, from 0 on. */
int sl_tokenizer_types(const struct sl_tokenizer *tokenizer);

/* Training: on which side texts of this model are cut; SL_TRUNCATE_DEFAULT keeps what it is. */
void sl_tokenizer_set_truncation(struct sl_tokenizer *tokenizer, enum sl_truncation side);
