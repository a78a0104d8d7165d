/* added_tokens.c - leftmost, longest matches; what a match may not be is looked at afterwards, as
 * Hugging Face does. */
#include "tokenizer/added_tokens.h"

#include "base/utf8.h"

bool sl_added_matcher_add(struct sl_added_matcher *matcher, const struct sl_added_token *tokens,
                          int index, struct sl_piece text, struct sl_err *err)
{
    if (!matcher->any && !sl_byte_trie_init(&matcher->trie, 1, err))
        return false;
    matcher->tokens = tokens;
    matcher->any = true;
    matcher->begins[(unsigned char)text.text[0]] = true;
    return sl_byte_trie_add(&matcher->trie, 0, text, index, err);
}

void sl_added_matcher_release(struct sl_added_matcher *matcher)
{
    sl_byte_trie_release(&matcher->trie);
    *matcher = (struct sl_added_matcher){0};
}

struct match {
    size_t start, stop;
    const struct sl_added_token *token;
};

/* The first match from `at` on; false: none. */
static bool match_next(const struct sl_added_matcher *m, const char *text, size_t at, size_t stop,
                       struct match *match)
{
    for (; at < stop; at++) {
        if (!m->begins[(unsigned char)text[at]])
            continue;
        uint32_t node = 0;
        match->token = NULL;
        for (size_t i = at; i < stop; i++) {
            if ((node = sl_byte_trie_next(&m->trie, node, text[i])) == 0)
                break;
            if (m->trie.ids[node] < 0)
                continue;
            match->token = &m->tokens[m->trie.ids[node]];
            match->stop = i + 1;
        }
        match->start = at;
        if (match->token)
            return true;
    }
    return false;
}

/* The classes of the characters before and after a place; none at the ends. */
static unsigned classes_before(const char *text, size_t start, size_t at)
{
    if (at == start)
        return 0;
    do
        at--;
    while (at > start && sl_utf8_is_continuation(text[at]));
    return sl_char_classes(sl_char_next(text, &at));
}

static unsigned classes_after(const char *text, size_t at, size_t stop)
{
    return at == stop ? 0 : sl_char_classes(sl_char_next(text, &at));
}

static size_t spaces_start(const char *text, size_t start, size_t at)
{
    while (classes_before(text, start, at) & SL_CHAR_SPACE)
        do
            at--;
        while (sl_utf8_is_continuation(text[at]));
    return at;
}

static size_t spaces_stop(const char *text, size_t at, size_t stop)
{
    while (classes_after(text, at, stop) & SL_CHAR_SPACE)
        at += sl_char_bytes(text[at]);
    return at;
}

static bool is_within_word(const char *text, struct sl_origin range, const struct match *match)
{
    return (classes_before(text, range.start, match->start) & SL_CHAR_WORD) ||
           (classes_after(text, match->stop, range.stop) & SL_CHAR_WORD);
}

/* Whether the match is special and touches a plain part. */
static bool is_plain(const struct sl_added_search *search, const struct match *match)
{
    if (search->plain_count == 0 || !match->token->special)
        return false;
    const struct sl_origin place = sl_text_range(search->view, match->start, match->stop);
    int low = 0, high = search->plain_count; /* the first part that ends behind its beginning */
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (search->plain[middle].stop > place.start)
            high = middle;
        else
            low = middle + 1;
    }
    return low < search->plain_count && search->plain[low].start < place.stop;
}

void sl_added_matcher_split(const struct sl_added_matcher *matcher,
                            const struct sl_added_search *search, struct sl_origin range,
                            struct sl_splits *out)
{
    const char *text = search->view->text;
    struct match match;
    size_t done = range.start;
    for (size_t at = range.start;
         matcher->any && match_next(matcher, text, at, range.stop, &match);) {
        const struct sl_added_token *token = match.token;
        at = match.start + 1; /* another may begin within a plain one */
        if (is_plain(search, &match))
            continue;
        at = match.stop;
        if (token->single_word && is_within_word(text, range, &match))
            continue;
        if (token->strip_left)
            match.start = spaces_start(text, range.start, match.start);
        if (token->strip_left && match.start < done)
            match.start = done;
        if (token->strip_right)
            match.stop = spaces_stop(text, match.stop, range.stop);
        sl_splits_add(out, (struct sl_split){(uint32_t)done, (uint32_t)match.start, -1});
        sl_splits_add(out,
                      (struct sl_split){(uint32_t)match.start, (uint32_t)match.stop, token->id});
        done = match.stop;
    }
    sl_splits_add(out, (struct sl_split){(uint32_t)done, range.stop, -1});
}
