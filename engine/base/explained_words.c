/* explained_words.c - prints the words that moved a score. */
#include "base/explained_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char green[] = "\033[32m", red[] = "\033[31m", plain[] = "\033[0m";

bool sl_output_has_colors(void)
{
    const char *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(none && none[0]);
}

static void print_bytes(const char *text, size_t start, size_t stop)
{
    for (size_t i = start; i < stop; i++)
        (void)putchar(strchr("\t\r\n", text[i]) ? ' ' : text[i]);
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
        print_bytes(text, at, word->start);
        (void)fputs(word->contribution < 0.0 ? red : green, stdout);
        print_bytes(text, word->start, word->stop);
        (void)fputs(plain, stdout);
    }
    print_bytes(text, at, bytes);
}

void sl_print_words(const char *text, const struct sl_explained_word *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            (void)putchar(' ');
        print_bytes(text, words[i].start, words[i].stop);
        (void)printf(":%+.2f", words[i].contribution);
    }
}
