/* post_processor.c - templates, and arithmetic on counts and offsets. */
#include "tokenizer/post_processor.h"

#include "base/utf8.h"
#include "tokenizer/unicode.h"

#include <assert.h>

bool sl_template_add(struct sl_template *to, struct sl_template_part part)
{
    if (to->count == SL_TEMPLATE_PARTS_MAX)
        return false;
    to->parts[to->count++] = part;
    return true;
}

int sl_template_added(const struct sl_template *of)
{
    int added = 0;
    for (int i = 0; i < of->count; i++)
        added += of->parts[i].kind == SL_TEMPLATE_SPECIAL;
    return added;
}

static void add(struct sl_template *to, enum sl_template_kind kind, int32_t id, int32_t type)
{
    if (kind == SL_TEMPLATE_SPECIAL && id < 0)
        return;
    bool added = sl_template_add(to, (struct sl_template_part){kind, id, type});
    assert(added);
}

void sl_post_processor_init(struct sl_post_processor *post, int32_t begin, int32_t end)
{
    post->single = (struct sl_template){0};
    add(&post->single, SL_TEMPLATE_SPECIAL, begin, 0);
    add(&post->single, SL_TEMPLATE_FIRST, -1, 0);
    add(&post->single, SL_TEMPLATE_SPECIAL, end, 0);
    post->pair = post->single;
    add(&post->pair, SL_TEMPLATE_SECOND, -1, 1);
    add(&post->pair, SL_TEMPLATE_SPECIAL, end, 1);
}

static size_t forward(const char *text, size_t at, size_t stop, uint32_t characters)
{
    for (; characters > 0 && at < stop; characters--)
        at += sl_char_bytes(text[at]);
    return at < stop ? at : stop;
}

/* Where so many characters before `at` begin; `at` itself if the text has fewer. */
static size_t backward(const char *text, size_t at, uint32_t characters)
{
    size_t to = at;
    for (; characters > 0 && to > 0; characters--)
        do
            to--;
        while (to > 0 && sl_utf8_is_continuation(text[to]));
    return characters == 0 ? to : at;
}

void sl_post_processor_trim(const struct sl_post_processor *post, const char *text, long index,
                            struct sl_token_spaces spaces, struct sl_token_offset *offset)
{
    for (int i = 0; i < post->trim_count; i++) {
        bool is_first = index == 0 || offset->start == 0;
        bool keeps = is_first && post->trims[i].prefix_space && spaces.leading == 1;
        if (!keeps)
            offset->start = forward(text, offset->start, offset->stop, spaces.leading);
        size_t stop = backward(text, offset->stop, spaces.trailing);
        offset->stop = stop > offset->start ? stop : offset->start;
    }
}

void sl_truncate_longest_first(long max, long *first, long *second)
{
    assert(max >= 0);
    if (*first + *second <= max)
        return;
    bool first_is_longer = *first > *second;
    long shorter = first_is_longer ? *second : *first;
    long longer = max - shorter > shorter ? max - shorter : shorter;
    if (shorter + longer > max) {
        shorter = max / 2;
        longer = shorter + max % 2;
    }
    *first = first_is_longer ? longer : shorter;
    *second = first_is_longer ? shorter : longer;
}
