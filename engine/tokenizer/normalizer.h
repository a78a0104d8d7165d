/* normalizer.h - normalizes characters before they are looked up, as BERT's tokenizer does (Devlin
 * et al. 2018).
 *
 * Control and format characters, private ones, U+0000 and U+FFFD vanish, but for tab, line feed
 * and carriage return, which are white space. With `lower` what is left is taken apart (NFD),
 * its accents (category Mn) are taken off, and it is lower-cased, one code point at a time. Then
 * ASCII punctuation and symbols, other punctuation (P*) and CJK ideographs are words of their own.
 * Code points that Unicode has not assigned stay, so that they can be seen to be unknown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sl_codepoint_kind {
    SL_CODEPOINT_NONE,   /* vanished */
    SL_CODEPOINT_ACCENT, /* taken off */
    SL_CODEPOINT_SPACE,
    SL_CODEPOINT_PART,        /* of a word */
    SL_CODEPOINT_PUNCTUATION, /* a word of its own */
    SL_CODEPOINT_IDEOGRAPH    /* likewise */
};

struct sl_codepoint {
    uint32_t point;
    uint8_t kind;  /* an enum sl_codepoint_kind */
    uint8_t order; /* its combining class, by which marks in a row are sorted; 0: stays */
};

enum { SL_NORMALIZED_MAX = 8, SL_ASCII = 128 };

struct sl_normalizer {
    bool lower;
    struct sl_codepoint ascii[SL_ASCII]; /* what each becomes: most texts are these */
};

void sl_normalizer_init(struct sl_normalizer *normalizer, bool lower);

/* The codepoints that a code point becomes, 1 to SL_NORMALIZED_MAX. */
int sl_normalizer_apply(const struct sl_normalizer *normalizer, uint32_t point,
                        struct sl_codepoint codepoints[SL_NORMALIZED_MAX]);

/* What a codepoint is once all that has been done to it. */
enum sl_codepoint_kind sl_codepoint_kind(uint32_t point);
