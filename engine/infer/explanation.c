/* explanation.c - which words of a text moved the score of a label. */
#include "sluice/explanation.h"

#include "base/int_math.h"

#include <math.h>
#include <stdlib.h>

/* ---- words ----------------------------------------------------------------------------------- */

enum kind { SPACE, SIGN, LETTER };

/* Letters, digits and everything beyond ASCII are parts of words; other signs are words. */
static enum kind kind_of(char byte)
{
    unsigned char c = (unsigned char)byte;
    if (c <= ' ' || c == 0x7f)
        return SPACE;
    bool is_letter =
        (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c >= 0x80;
    return is_letter ? LETTER : SIGN;
}

static enum kind kind_at(const struct sl_tokenized_text *t, size_t at)
{
    return at < t->bytes ? kind_of(t->text[at]) : SPACE;
}

/* The end of the word that has the byte `at`. */
static size_t word_stop(const struct sl_tokenized_text *t, size_t at)
{
    enum kind kind = kind_at(t, at);
    if (kind == SPACE)
        return at + 1;
    do
        at++;
    while (kind_at(t, at) == kind || (kind == LETTER && kind_at(t, at) == SIGN &&
                                      t->text[at] == '\'' && kind_at(t, at + 1) == LETTER));
    return at;
}

/* Whether a token is text, rather than a special token or a space. */
static bool is_text(const struct sl_tokenized_text *t, int token)
{
    const struct sl_token_offset *offset = &t->offsets[token];
    return !offset->special && offset->stop > offset->start &&
           (offset->stop > offset->start + 1 || kind_at(t, offset->start) != SPACE);
}

static size_t stop_of(const struct sl_tokenized_text *t, int token)
{
    const struct sl_token_offset *offset = &t->offsets[token];
    size_t stop = word_stop(t, offset->start);
    return stop > offset->stop ? stop : offset->stop;
}

/* A token whose first byte is in a word belongs to it, one of spaces to the word before. `run`:
 * words that count as one. */
static int split(const struct sl_tokenized_text *t, int run, struct sl_text_word *words,
                 int *word_of)
{
    int found = 0;
    size_t stop = 0;
    for (int i = 0; i < t->count; i++) {
        word_of[i] = -1;
        if (t->offsets[i].special)
            continue;
        if (is_text(t, i) && (found == 0 || t->offsets[i].start >= stop)) {
            stop = stop_of(t, i);
            if (found % run == 0)
                words[found / run] = (struct sl_text_word){.start = t->offsets[i].start};
            words[found / run].stop = stop;
            found++;
        }
        word_of[i] = found > 0 ? (found - 1) / run : -1;
    }
    return found;
}

int sl_text_words(const struct sl_tokenized_text *text, int max, struct sl_text_word *words,
                  int *word_of)
{
    int found = split(text, 1, words, word_of);
    if (found <= max)
        return found;
    const int run = sl_ceil_div(found, max);
    (void)split(text, run, words, word_of);
    return sl_ceil_div(found, run);
}

int sl_tokens_without(const int32_t *tokens, const int *word_of, int count, int word, int32_t *out)
{
    int left = 0;
    for (int i = 0; i < count; i++)
        if (word_of[i] != word)
            out[left++] = tokens[i];
    return left;
}

static int compare(const void *left, const void *right)
{
    const struct sl_text_word *a = left, *b = right;
    float x = fabsf(a->contribution), y = fabsf(b->contribution);
    if (x < y || x > y)
        return x > y ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

void sl_text_words_rank(struct sl_text_word *words, int count)
{
    if (count > 0)
        qsort(words, (size_t)count, sizeof *words, compare);
}

double sl_margin(const struct sl_model *model, const float *logits, int label)
{
    const struct sl_model_info *info = sl_model_info(model);
    double others = 0.0;
    for (int c = 0; c < info->classes && !info->multi_label; c++)
        others += c == label ? 0.0 : (double)logits[c];
    return (double)logits[label] - others / (info->classes - 1);
}
