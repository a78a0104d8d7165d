/* unicode.h - what a character of a text becomes before it is looked up, by the rules of BERT's
 * tokenizer (Devlin et al. 2018).
 *
 * Control and format characters, private ones, U+0000 and U+FFFD vanish, but for tab, line feed
 * and carriage return, which are white space. With `lower` what is left is taken apart (NFD),
 * its accents (category Mn) are taken off, and it is lower-cased, one code point at a time. Then
 * ASCII punctuation and symbols, other punctuation (P*) and CJK ideographs are words of their own.
 * Code points that Unicode has not assigned stay, so that they can be seen to be unknown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sl_letter_kind {
    SL_LETTER_NONE,   /* vanished */
    SL_LETTER_ACCENT, /* taken off */
    SL_LETTER_SPACE,
    SL_LETTER_PART,        /* of a word */
    SL_LETTER_PUNCTUATION, /* a word of its own */
    SL_LETTER_IDEOGRAPH    /* likewise */
};

struct sl_letter {
    uint32_t point;
    uint8_t kind;  /* an enum sl_letter_kind */
    uint8_t order; /* its combining class, by which marks in a row are sorted; 0: stays */
};

enum { SL_LETTERS_MAX = 8, SL_ASCII = 128 };

struct sl_rules {
    bool lower;
    struct sl_letter ascii[SL_ASCII]; /* what each becomes: most texts are these */
};

void sl_rules_init(struct sl_rules *rules, bool lower);

/* The letters that a code point becomes, 1 to SL_LETTERS_MAX. */
int sl_rules_apply(const struct sl_rules *rules, uint32_t point,
                   struct sl_letter letters[SL_LETTERS_MAX]);

/* What a letter is once all that has been done to it. */
enum sl_letter_kind sl_letter_kind(uint32_t point);
