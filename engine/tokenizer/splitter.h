/* splitter.h - a text as words: normalised letters that know where they come from.
 *
 *     struct sl_splitter splitter = {.rules = rules, .text = text, .bytes = bytes};
 *     struct sl_word word;
 *     while (sl_splitter_next(&splitter, &word))
 *         ...
 *
 * The text must have been found to be UTF-8 (sl_utf8_check). It stays the caller's. */
#pragma once

#include "tokenizer/unicode.h"

#include <stddef.h>

enum { SL_WORD_LETTERS_MAX = 100 }; /* BERT's: longer words are unknown words */

/* A letter, and the bytes [start, stop) of the text that it comes from. */
struct sl_placed {
    uint32_t point, order;
    size_t start, stop;
};

struct sl_word {
    struct sl_placed letters[SL_WORD_LETTERS_MAX];
    int count; /* SL_WORD_LETTERS_MAX + 1: it is longer, and the rest of it was passed over */
    enum sl_letter_kind kind; /* of its letters, which are all of one */
    size_t start, stop;       /* from its first letter to its last */
    int settled;              /* letters that marks to come are not sorted before */
};

struct sl_splitter {
    const struct sl_rules *rules;
    const char *text;
    size_t bytes, at;
    size_t start; /* of the character whose letters are queued; it ends at `at` */
    struct sl_letter queue[SL_LETTERS_MAX];
    int queued, taken;
};

/* The next word; false at the end of the text. */
bool sl_splitter_next(struct sl_splitter *splitter, struct sl_word *word);
