/* model_encoders.h - the tokens of one word, a function per kind of model. The word is not empty.
 * Tokens are added to the scratch; false: unknown text without a token for it. */
#pragma once

#include "tokenizer/token_model.h"

bool sl_wordpiece_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                         struct sl_model_scratch *scratch);
bool sl_bpe_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                   struct sl_model_scratch *scratch);
bool sl_unigram_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                       struct sl_model_scratch *scratch);

/* WordPiece: where the pieces that continue a word are. */
enum { SL_WORDPIECE_BEGIN, SL_WORDPIECE_CONTINUE, SL_WORDPIECE_ROOTS };

/* BPE: two neighbours as a key. */
static inline uint64_t sl_bpe_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}
