/* pre_tokenizer.h - splits a text into words of normalized code points with their byte offsets.
 *
 *     struct sl_pre_tokenizer p = {.normalizer = &normalizer, .text = text, .bytes = bytes};
 *     struct sl_word word;
 *     while (sl_pre_tokenizer_next(&p, &word))
 *         ...
 *
 * The text must be valid UTF-8 (sl_utf8_check). It belongs to the caller. */
#pragma once

#include "tokenizer/normalizer.h"

#include <stddef.h>

enum { SL_WORD_CODEPOINTS_MAX = 100 }; /* BERT's: longer words are unknown words */

/* A code point, and the bytes [start, stop) of the text that it comes from. */
struct sl_word_codepoint {
    uint32_t point, order;
    size_t start, stop;
};

struct sl_word {
    struct sl_word_codepoint codepoints[SL_WORD_CODEPOINTS_MAX];
    int count;                   /* SL_WORD_CODEPOINTS_MAX + 1: longer; the rest was skipped */
    enum sl_codepoint_kind kind; /* of all its code points */
    size_t start, stop;          /* from its first codepoint to its last */
    int settled;                 /* later marks are not sorted before this many code points */
};

struct sl_pre_tokenizer {
    const struct sl_normalizer *normalizer;
    const char *text;
    size_t bytes, at;
    size_t start; /* of the character whose codepoints are queued; it ends at `at` */
    struct sl_codepoint queue[SL_NORMALIZED_MAX];
    int queued, taken;
};

/* The next word; false at the end of the text. */
bool sl_pre_tokenizer_next(struct sl_pre_tokenizer *pre_tokenizer, struct sl_word *word);
