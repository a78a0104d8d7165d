/* normalizer.h - normalizes characters before they are looked up, as BERT's tokenizer does (Devlin
 * et al. 2018).
 *
 * Control, format and private-use characters, U+0000 and U+FFFD are removed; tab, line feed and
 * carriage return are white space. With `lower` the text is decomposed (NFD), stripped of accents
 * (category Mn) and lower-cased, one code point at a time. Each ASCII punctuation character or
 * symbol, other punctuation (P*) and CJK ideograph is a word. Unassigned code points stay: they
 * become unknown words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sl_codepoint_kind {
    SL_CODEPOINT_NONE,   /* removed */
    SL_CODEPOINT_ACCENT, /* stripped */
    SL_CODEPOINT_SPACE,
    SL_CODEPOINT_PART,        /* of a word */
    SL_CODEPOINT_PUNCTUATION, /* a word by itself */
    SL_CODEPOINT_IDEOGRAPH    /* likewise */
};

struct sl_codepoint {
    uint32_t point;
    uint8_t kind;  /* an enum sl_codepoint_kind */
    uint8_t order; /* combining class, the sort key of consecutive marks; 0: not sorted */
};

enum { SL_NORMALIZED_MAX = 8, SL_ASCII = 128 };

struct sl_normalizer {
    bool lower;
    struct sl_codepoint ascii[SL_ASCII]; /* precomputed for ASCII, most of most texts */
};

void sl_normalizer_init(struct sl_normalizer *normalizer, bool lower);

/* Normalizes one code point into 1 to SL_NORMALIZED_MAX others. */
int sl_normalizer_apply(const struct sl_normalizer *normalizer, uint32_t point,
                        struct sl_codepoint codepoints[SL_NORMALIZED_MAX]);

/* The kind of a normalized code point. */
enum sl_codepoint_kind sl_codepoint_kind(uint32_t point);
