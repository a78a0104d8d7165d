/* explained_words.h - prints classified texts and the words that moved their scores, for `sluice
 * classify` and `sluicectl classify`. All functions print to standard output; the caller checks it
 * for errors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sl_explained_word {
    size_t start, stop; /* bytes of the text */
    double contribution;
};

/* The score, but at most 0.999999: with six digits, 0.9999999 would print as 1. */
double sl_printed_score(double score);

/* Whether standard output is a terminal, and NO_COLOR is not set. */
bool sl_output_has_colors(void);
/* The text on one line: ASCII control characters, which could end the line or the cell of a table,
 * or control a terminal, become spaces. */
void sl_print_text(const char *text, size_t bytes);
/* The same with the words in green, which raise the score, or in red. The words may be in any
 * order; they do not overlap. */
void sl_print_colored(const char *text, size_t bytes, const struct sl_explained_word *words,
                      int count);
/* word:+1.25, separated by spaces. */
void sl_print_words(const char *text, const struct sl_explained_word *words, int count);
