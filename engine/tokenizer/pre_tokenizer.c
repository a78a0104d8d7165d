/* pre_tokenizer.c - splits text into words. A queue holds code points, because one character may
 * normalize to several, not all of the same word. */
#include "tokenizer/pre_tokenizer.h"

#include "base/utf8.h"

#include <assert.h>

/* The codepoints of the next character; false at the end. */
static bool queue_fill(struct sl_pre_tokenizer *s)
{
    if (s->at >= s->bytes)
        return false;
    s->start = s->at;
    s->taken = 0;
    s->queued = 1;
    unsigned char first = (unsigned char)s->text[s->at];
    if (first < SL_ASCII) {
        s->at++;
        s->queue[0] = s->normalizer->ascii[first];
        return true;
    }
    uint32_t point = 0;
    bool valid = sl_utf8_next(s->text, s->bytes, &s->at, &point);
    assert(valid);
    s->queued = sl_normalizer_apply(s->normalizer, point, s->queue);
    return true;
}

/* Sorts consecutive marks by combining class, stably (Unicode's canonical order). */
static void word_put(struct sl_word *word, const struct sl_codepoint *codepoint,
                     const struct sl_pre_tokenizer *s)
{
    int at = word->count;
    if (at == 0)
        word->start = s->start;
    word->stop = s->at;
    word->kind = codepoint->kind;
    if (at > SL_WORD_CODEPOINTS_MAX)
        return;
    word->count++;
    if (at == SL_WORD_CODEPOINTS_MAX)
        return;
    if (codepoint->order == 0)
        word->settled = at + 1;
    for (; at > word->settled && word->codepoints[at - 1].order > codepoint->order; at--)
        word->codepoints[at] = word->codepoints[at - 1];
    word->codepoints[at] = (struct sl_word_codepoint){
        .point = codepoint->point, .order = codepoint->order, .start = s->start, .stop = s->at};
}

bool sl_pre_tokenizer_next(struct sl_pre_tokenizer *s, struct sl_word *word)
{
    word->count = word->settled = 0;
    while (s->taken < s->queued || queue_fill(s)) {
        const struct sl_codepoint *codepoint = &s->queue[s->taken];
        bool alone = codepoint->kind > SL_CODEPOINT_PART;
        if (word->count > 0 && (alone || codepoint->kind == SL_CODEPOINT_SPACE))
            break; /* it stays in the queue */
        s->taken++;
        if (codepoint->kind >= SL_CODEPOINT_PART)
            word_put(word, codepoint, s);
        else if (codepoint->kind == SL_CODEPOINT_ACCENT && codepoint->order == 0)
            word->settled = word->count; /* marks are not sorted across a stripped accent */
        if (alone)
            break;
    }
    return word->count > 0;
}
