/* pre_tokenizer_step.h - the steps that split a normalized text into words, with Hugging Face's
 * rules.
 *
 * Splits that are added tokens stay as they are. */
#pragma once

#include "tokenizer/normalizer_step.h"
#include "tokenizer/split_rules.h"
#include "tokenizer/text_splits.h"

enum sl_pre_tokenizer_kind {
    SL_SPLIT_BERT,        /* at spaces; punctuation characters alone */
    SL_SPLIT_WORDS,       /* \w+|[^\w\s]+ */
    SL_SPLIT_SPACES,      /* at spaces */
    SL_SPLIT_PUNCTUATION, /* by `behavior` */
    SL_SPLIT_DIGITS,      /* by `behavior`: alone, or runs of them */
    SL_SPLIT_RULES,       /* words of `rules`, by `behavior` and `invert` */
    SL_SPLIT_TEXT,        /* at every `text`, by `behavior` and `invert` */
    SL_SPLIT_METASPACE,   /* blanks become `text`, at which it splits */
    SL_SPLIT_PREFIX,      /* a blank goes before pieces that begin with none */
    SL_PRE_TOKENIZER_KINDS
};

enum sl_prepend_scheme { SL_PREPEND_ALWAYS, SL_PREPEND_FIRST, SL_PREPEND_NEVER };

struct sl_pre_tokenizer_step {
    enum sl_pre_tokenizer_kind kind;
    enum sl_match_behavior behavior;
    bool invert;
    const struct sl_split_rules *rules;
    struct sl_short_text text;
    enum sl_prepend_scheme scheme; /* metaspace: where `text` goes before a piece */
    bool splits;                   /* metaspace */
};

/* A text, its splits, and room for the next ones. Starts as zeros. */
struct sl_split_text {
    struct sl_text_view view; /* of one of `texts`, or of the original */
    struct sl_aligned_text texts[2];
    int next; /* the text that is free */
    struct sl_splits splits, other;
};

void sl_split_text_release(struct sl_split_text *work);
/* Whether memory was short since the texts and splits were emptied. */
bool sl_split_text_failed(const struct sl_split_text *work);
/* Begins to write the free text, and makes it the one to read. */
struct sl_text_editor sl_split_text_edit(struct sl_split_text *work);
void sl_split_text_edited(struct sl_split_text *work);

/* Replaces the splits by finer ones. */
void sl_pre_tokenizer_step_apply(const struct sl_pre_tokenizer_step *step,
                                 struct sl_split_text *work);

/* By how much the step multiplies the bytes of a text, at most. */
size_t sl_pre_tokenizer_step_growth(const struct sl_pre_tokenizer_step *step);
