/* added_tokens.h - tokens that are found in a text as they are spelled, before the model reads
 * it. */
#pragma once

#include "sluice/tokenizer.h"
#include "tokenizer/byte_trie.h"
#include "tokenizer/text_splits.h"

struct sl_added_token {
    struct sl_piece text;
    int32_t id;
    bool single_word;             /* not within a word */
    bool strip_left, strip_right; /* it takes the spaces beside it */
    bool normalized;              /* it is looked for in the normalized text, itself normalized */
    bool special;                 /* left out of decoded text */
};

/* Finds some of the added tokens. Starts as zeros; built once, then immutable. */
struct sl_added_matcher {
    const struct sl_added_token *tokens;
    struct sl_byte_trie trie; /* ids: indices of tokens */
    bool begins[256];         /* by the first byte of a text */
    bool any;
};

/* Looks for tokens[index] under a text. */
bool sl_added_matcher_add(struct sl_added_matcher *matcher, const struct sl_added_token *tokens,
                          int index, struct sl_piece text, struct sl_err *err) SL_MUST_CHECK;
void sl_added_matcher_release(struct sl_added_matcher *matcher);

/* A text to look in, and parts of the original text where no special token is found. */
struct sl_added_search {
    const struct sl_text_view *view;
    const struct sl_byte_range *plain; /* rising, without overlaps */
    int plain_count;
};

/* Adds the tokens found in bytes [start, stop) of a text, and the text between them: of several
 * that begin at a place the longest, from left to right. */
void sl_added_matcher_split(const struct sl_added_matcher *matcher,
                            const struct sl_added_search *search, struct sl_origin range,
                            struct sl_splits *out);
