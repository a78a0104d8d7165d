/* explained_words.h - prints the words that moved a score, for `sluice classify --explain` and
 * `sluicectl classify --explain`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sl_explained_word {
    size_t start, stop; /* bytes of the text */
    double contribution;
};

/* Whether standard output is a terminal, and NO_COLOR is not set. */
bool sl_output_has_colors(void);
/* The text with the words in green, which raise the score, or in red. Tabs and line ends become
 * spaces. The words may be in any order; they do not overlap. */
void sl_print_colored(const char *text, size_t bytes, const struct sl_explained_word *words,
                      int count);
/* word:+1.25, separated by spaces. */
void sl_print_words(const char *text, const struct sl_explained_word *words, int count);
