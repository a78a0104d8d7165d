/* explained_words.c - prints texts and the words that moved their scores. */
#include "base/explained_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char green[] = "\033[32m", red[] = "\033[31m", plain[] = "\033[0m";

double sl_printed_score(double score)
{
    const double max = 0.999999;
    return score < max ? score : max;
}

bool sl_output_has_colors(void)
{
    const char *none = getenv("NO_COLOR"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    return isatty(STDOUT_FILENO) && !(none && none[0]);
}

void sl_print_text(const char *text, size_t bytes)
{
    enum { DELETE = 0x7f };

    for (size_t i = 0; i < bytes; i++) {
        const unsigned char byte = (unsigned char)text[i];
        (void)putchar(byte < ' ' || byte == DELETE ? ' ' : byte);
    }
}

static const struct sl_explained_word *word_from(const struct sl_explained_word *words, int count,
                                                 size_t at)
{
    const struct sl_explained_word *next = NULL;
    for (int i = 0; i < count; i++)
        if (words[i].start >= at && (!next || words[i].start < next->start))
            next = &words[i];
    return next;
}

void sl_print_colored(const char *text, size_t bytes, const struct sl_explained_word *words,
                      int count)
{
    const struct sl_explained_word *word;
    size_t at = 0;
    for (; (word = word_from(words, count, at)) && word->stop <= bytes; at = word->stop) {
        sl_print_text(text + at, word->start - at);
        (void)fputs(word->contribution < 0.0 ? red : green, stdout);
        sl_print_text(text + word->start, word->stop - word->start);
        (void)fputs(plain, stdout);
    }
    sl_print_text(text + at, bytes - at);
}

void sl_print_words(const char *text, const struct sl_explained_word *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            (void)putchar(' ');
        sl_print_text(text + words[i].start, words[i].stop - words[i].start);
        (void)printf(":%+.2f", words[i].contribution);
    }
}
