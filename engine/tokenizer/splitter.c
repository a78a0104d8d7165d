/* splitter.c - characters in, words out; a queue between them, since one character may be several
 * letters, and not all of one word. */
#include "tokenizer/splitter.h"

#include "base/utf8.h"

#include <assert.h>

/* The letters of the next character; false at the end. */
static bool queue_fill(struct sl_splitter *s)
{
    if (s->at >= s->bytes)
        return false;
    s->start = s->at;
    s->taken = 0;
    s->queued = 1;
    unsigned char first = (unsigned char)s->text[s->at];
    if (first < SL_ASCII) {
        s->at++;
        s->queue[0] = s->rules->ascii[first];
        return true;
    }
    uint32_t point = 0;
    bool valid = sl_utf8_next(s->text, s->bytes, &s->at, &point);
    assert(valid);
    s->queued = sl_rules_apply(s->rules, point, s->queue);
    return true;
}

/* Marks in a row go by their order, those of one order as they came (Unicode's canonical order). */
static void word_put(struct sl_word *word, const struct sl_letter *letter,
                     const struct sl_splitter *s)
{
    int at = word->count;
    if (at == 0)
        word->start = s->start;
    word->stop = s->at;
    word->kind = letter->kind;
    if (at > SL_WORD_LETTERS_MAX)
        return;
    word->count++;
    if (at == SL_WORD_LETTERS_MAX)
        return;
    if (letter->order == 0)
        word->settled = at + 1;
    for (; at > word->settled && word->letters[at - 1].order > letter->order; at--)
        word->letters[at] = word->letters[at - 1];
    word->letters[at] = (struct sl_placed){
        .point = letter->point, .order = letter->order, .start = s->start, .stop = s->at};
}

bool sl_splitter_next(struct sl_splitter *s, struct sl_word *word)
{
    word->count = word->settled = 0;
    while (s->taken < s->queued || queue_fill(s)) {
        const struct sl_letter *letter = &s->queue[s->taken];
        bool alone = letter->kind > SL_LETTER_PART;
        if (word->count > 0 && (alone || letter->kind == SL_LETTER_SPACE))
            break; /* it waits in the queue */
        s->taken++;
        if (letter->kind >= SL_LETTER_PART)
            word_put(word, letter, s);
        else if (letter->kind == SL_LETTER_ACCENT && letter->order == 0)
            word->settled = word->count; /* nothing was sorted past it before it was taken off */
        if (alone)
            break;
    }
    return word->count > 0;
}
