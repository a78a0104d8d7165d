/* translation_scores.h - how much translations have in common with those of people: BLEU (Papineni
 * et al. 2002) and chrF2 (Popovic 2015), of all texts together, as sacreBLEU (Post 2018) defines
 * both by default: BLEU of up to 4 words, split as mteval-v13a does, case kept, zeros smoothed;
 * chrF of up to 6 characters without blanks. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { BLEU_ORDER = 4, CHRF_ORDER = 6 };

/* Of one order. */
struct ngram_counts {
    double matches, translated, expected;
};

/* Zeros to begin with. */
struct translation_scores {
    struct ngram_counts words[BLEU_ORDER], characters[CHRF_ORDER];
    double words_translated, words_expected;
    int texts;
};

/* A text in UTF-8. */
struct scored_text {
    const char *text;
    size_t bytes;
};

bool translation_scores_add(struct translation_scores *scores, struct scored_text translation,
                            struct scored_text reference, struct sl_err *err) SL_MUST_CHECK;

/* 0 to 100. */
double translation_scores_bleu(const struct translation_scores *scores);
double translation_scores_chrf(const struct translation_scores *scores);
