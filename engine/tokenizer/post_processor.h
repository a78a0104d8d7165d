/* post_processor.h - what becomes of the tokens of one text or two: truncation, the special tokens
 * around them, their types, and offsets without the spaces of byte-level tokens. */
#pragma once

#include "sluice/tokenizer.h"

enum sl_template_kind { SL_TEMPLATE_FIRST, SL_TEMPLATE_SECOND, SL_TEMPLATE_SPECIAL };

struct sl_template_part {
    enum sl_template_kind kind;
    int32_t id; /* of a special token */
    int32_t type;
};

enum { SL_TEMPLATE_PARTS_MAX = 32, SL_TRIMS_MAX = 4 };

struct sl_template {
    struct sl_template_part parts[SL_TEMPLATE_PARTS_MAX];
    int count;
};

/* Adds a part; false: the template is full. */
bool sl_template_add(struct sl_template *to, struct sl_template_part part) SL_MUST_CHECK;
/* How many special tokens it has. */
int sl_template_added(const struct sl_template *of);

/* Offsets lose the spaces that tokens begin or end with. */
struct sl_trim {
    bool prefix_space; /* the first token's one space is none of the text */
};

struct sl_post_processor {
    struct sl_template single, pair;
    struct sl_trim trims[SL_TRIMS_MAX]; /* one after the other */
    int trim_count;
};

/* The templates of most kinds: BEGIN text END text END, without those that are -1. Trims stay. */
void sl_post_processor_init(struct sl_post_processor *post, int32_t begin, int32_t end);

/* The spaces at the ends of a token's text, in characters. */
struct sl_token_spaces {
    uint32_t leading, trailing;
};

/* Applies the trims to the token with that index among those of its text. */
void sl_post_processor_trim(const struct sl_post_processor *post, const char *text, long index,
                            struct sl_token_spaces spaces, struct sl_token_offset *offset);

/* Shortens two counts to `max` together, as if one token at a time was taken from the longer. */
void sl_truncate_longest_first(long max, long *first, long *second);
