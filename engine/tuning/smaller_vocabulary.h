/* smaller_vocabulary.h - the pieces of a WordPiece vocabulary that texts use most, as one of its
 * own: rarer words are then several pieces. */
#pragma once

#include "data/dataset.h"
#include "tokenizer/tokenizer.h"

struct sl_smaller_vocabulary {
    struct sl_tokenizer *tokens; /* of kind `wordpiece`; owned; set to NULL to keep it */
    int32_t *from;               /* of each id, that of the same piece in `of` */
};

/* set: texts in the tokens of `of`, which must be BERT's tokenizer, lower-casing or not. size: at
 * least special tokens and single characters, all of which stay. */
bool sl_smaller_vocabulary_open(struct sl_smaller_vocabulary *v, const struct sl_tokenizer *of,
                                const struct sl_dataset *set, int size, struct sl_err *err)
    SL_MUST_CHECK;
void sl_smaller_vocabulary_close(struct sl_smaller_vocabulary *v); /* a zeroed one is fine */

/* Fails unless both tokenizers make the same tokens of every text whose pieces are all left. `set`
 * are the texts in those of `of`, `own` in the smaller one's. */
bool sl_smaller_vocabulary_check(const struct sl_smaller_vocabulary *v,
                                 const struct sl_dataset *set, const struct sl_dataset *own,
                                 struct sl_err *err) SL_MUST_CHECK;
