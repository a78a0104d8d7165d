/* normalizer_step.h - the steps that rewrite a text before it is split, with Hugging Face's rules.
 *
 * BertNormalizer is several steps here. */
#pragma once

#include "tokenizer/character_map.h"

enum { SL_SHORT_TEXT_MAX = 64 };

/* A text that a step inserts or looks for. */
struct sl_short_text {
    char text[SL_SHORT_TEXT_MAX];
    size_t bytes;
};

/* A regular expression for a run of one kind of character. */
enum sl_run {
    SL_RUN_NONE,
    SL_RUN_OF_BLANKS, /* " {2,}" */
    SL_RUN_OF_SPACES  /* "\s+" */
};

/* By the text of the expression; SL_RUN_NONE: unknown. */
enum sl_run sl_run_find(const char *expression);

enum sl_normalizer_kind {
    SL_NORMALIZE_CLEAN,      /* controls, U+0000 and U+FFFD go; spaces become ' ' */
    SL_NORMALIZE_IDEOGRAPHS, /* a ' ' before and after each */
    SL_NORMALIZE_NONSPACING, /* marks of category Mn go */
    SL_NORMALIZE_MARKS,      /* all marks go */
    SL_NORMALIZE_LOWERCASE,
    SL_NORMALIZE_NFC,
    SL_NORMALIZE_NFD,
    SL_NORMALIZE_NFKC,
    SL_NORMALIZE_NFKD,
    SL_NORMALIZE_STRIP, /* spaces at the ends go */
    SL_NORMALIZE_PREPEND,
    SL_NORMALIZE_REPLACE,
    SL_NORMALIZE_MAP, /* by a character map */
    SL_NORMALIZE_NMT, /* controls go, more kinds of spaces become ' ' */
    SL_NORMALIZER_KINDS
};

struct sl_normalizer_step {
    enum sl_normalizer_kind kind;
    bool left, right;             /* strip */
    struct sl_short_text pattern; /* replace: this text, unless there is a run */
    enum sl_run run;              /* replace */
    struct sl_short_text content; /* replace, prepend */
    struct sl_character_map *map; /* map */
};

/* Rewrites all of `in`, which is not empty. */
void sl_normalizer_step_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor);

/* Whether the step leaves every text of ASCII as it is. */
bool sl_normalizer_step_keeps_ascii(const struct sl_normalizer_step *step);

/* By how much the step multiplies the bytes of a text, at most. */
size_t sl_normalizer_step_growth(const struct sl_normalizer_step *step);
