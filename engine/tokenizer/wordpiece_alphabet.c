/* wordpiece_alphabet.c - counts characters, sorts them by count, and the most frequent by code
 * point. */
#include "tokenizer/wordpiece_alphabet.h"

#include "base/utf8.h"
#include "tokenizer/normalizer.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALPHABET_MAX = 1000 }; /* bounds ideographs and emoji: each character takes two ids */

struct character {
    int64_t times;
    uint32_t codepoint;
};

static int by_count(const void *a, const void *b)
{
    const struct character *x = a, *y = b;
    if (x->times != y->times)
        return x->times > y->times ? -1 : 1;
    return (x->codepoint > y->codepoint) - (x->codepoint < y->codepoint);
}

static int by_codepoint(const void *a, const void *b)
{
    const struct character *x = a, *y = b;
    return (x->codepoint > y->codepoint) - (x->codepoint < y->codepoint);
}

/* Counts each character in the words. */
static bool characters_count(struct sl_string_counter *characters,
                             const struct sl_string_counter *words, struct sl_err *err)
{
    for (int i = 0; i < words->count; i++) {
        struct sl_piece word = sl_string_counter_text(words, i);
        for (size_t at = 0, from = 0; at < word.bytes; from = at) {
            uint32_t codepoint;
            (void)sl_utf8_next(word.text, word.bytes, &at, &codepoint);
            struct sl_piece one = {.text = word.text + from, .bytes = at - from};
            if (!sl_string_counter_add(characters, one, words->list[i].times, NULL, err))
                return false;
        }
    }
    return true;
}

/* Fills `out` with the characters, those of the alphabet first and in order; returns the size of
 * the alphabet. */
static int alphabet_choose(struct character *out, const struct sl_string_counter *characters)
{
    size_t count = (size_t)characters->count;
    for (int i = 0; i < characters->count; i++) {
        struct sl_piece one = sl_string_counter_text(characters, i);
        size_t at = 0;
        out[i].times = characters->list[i].times;
        (void)sl_utf8_next(one.text, one.bytes, &at, &out[i].codepoint);
    }
    qsort(out, count, sizeof *out, by_count);
    if (count > ALPHABET_MAX)
        count = ALPHABET_MAX;
    qsort(out, count, sizeof *out, by_codepoint);
    return (int)count;
}

static bool character_add(struct sl_string_counter *pieces, uint32_t codepoint, const char *prefix,
                          struct sl_err *err)
{
    char text[16];
    size_t length = (size_t)snprintf(text, sizeof text - SL_UTF8_MAX, "%s", prefix);
    size_t bytes = sl_utf8_put(codepoint, text + length);
    if (!sl_string_counter_add(pieces, (struct sl_piece){text + length, bytes}, 1, NULL, err))
        return false;
    return sl_codepoint_kind(codepoint) != SL_CODEPOINT_PART ||
           sl_string_counter_add(pieces, (struct sl_piece){text, length + bytes}, 1, NULL, err);
}

static bool alphabet_add(struct sl_string_counter *pieces,
                         const struct sl_string_counter *characters, const char *prefix, int size,
                         struct sl_err *err)
{
    struct character *alphabet = calloc((size_t)characters->count + 1, sizeof *alphabet);
    if (!alphabet)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d characters", characters->count);
    int count = alphabet_choose(alphabet, characters);
    bool ok = true;
    for (int i = 0; i < count && ok; i++)
        ok = character_add(pieces, alphabet[i].codepoint, prefix, err);
    free(alphabet);
    if (ok && pieces->count > size)
        return sl_fail(err, SL_BAD_INPUT,
                       "a vocabulary of %d pieces is too small: %d characters alone take %d", size,
                       count, pieces->count);
    return ok;
}

bool sl_wordpiece_alphabet_add(struct sl_string_counter *pieces,
                               const struct sl_string_counter *words, const char *prefix, int size,
                               struct sl_err *err)
{
    struct sl_string_counter characters = {0};
    bool ok = characters_count(&characters, words, err) &&
              alphabet_add(pieces, &characters, prefix, size, err);
    sl_string_counter_release(&characters);
    return ok;
}
