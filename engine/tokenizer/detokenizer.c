/* detokenizer.c - where a blank between words is written. */
#include "tokenizer/detokenizer.h"

#include <string.h>

/* A word between blanks. */
struct word {
    const char *text;
    size_t bytes;
};

static struct word next_word(const char **at, const char *end)
{
    while (*at < end && **at == ' ')
        (*at)++;
    struct word w = {.text = *at};
    while (*at < end && **at != ' ')
        (*at)++;
    w.bytes = (size_t)(*at - w.text);
    return w;
}

static bool is_one_of(struct word w, const char *characters)
{
    return w.bytes == 1 && strchr(characters, *w.text);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Not punctuation; letters beyond ASCII are. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || (c & 0x80);
}

/* What was written before a blank, or may be. */
struct context {
    struct word before, last; /* the last two words */
    bool quoted;              /* an opening quotation mark was the last one of its kind */
};

/* "it ' s" and "T - shirt": a mark between two words that belong together. */
static bool joins(struct word before, struct word mark, struct word after)
{
    const bool numbers = before.bytes > 0 && is_digit(before.text[before.bytes - 1]) &&
                         after.bytes > 0 && is_digit(*after.text);
    const bool words = before.bytes > 0 && is_word(before.text[before.bytes - 1]) &&
                       after.bytes > 0 && is_word(*after.text);
    return is_one_of(mark, ".,:") ? numbers : is_one_of(mark, "'-/") && words;
}

static bool has_blank(const struct context *c, struct word w, struct word after)
{
    if (c->last.bytes == 0 || is_one_of(c->last, "([{") || is_one_of(w, ".,;:!?%)]}"))
        return false;
    if (is_one_of(w, "\"") && c->quoted)
        return false;
    if (is_one_of(c->last, "\"") && c->quoted)
        return false;
    return !joins(c->last, w, after) && !joins(c->before, c->last, w);
}

static void append_words(struct sl_buffer *out, const char *text, size_t bytes)
{
    const char *at = text, *end = text + bytes;
    struct context c = {0};
    for (struct word w = next_word(&at, end), after; w.bytes > 0; w = after) {
        after = next_word(&at, end);
        if (has_blank(&c, w, after))
            sl_buffer_append(out, " ", 1);
        sl_buffer_append(out, w.text, w.bytes);
        if (is_one_of(w, "\""))
            c.quoted = !c.quoted;
        c.before = c.last;
        c.last = w;
    }
}

/* Words and a blank between each two; WordPiece marks what continues a word. */
static void append_pieces(struct sl_buffer *out, const struct sl_tokenizer *tokenizer,
                          const int32_t *ids, int count)
{
    static const char mark[] = {'#', '#'};
    for (int i = 0; i < count; i++) {
        size_t bytes;
        const char *piece = sl_tokenizer_piece(tokenizer, ids[i], &bytes);
        const bool goes_on = bytes > sizeof mark && memcmp(piece, mark, sizeof mark) == 0;
        if (!goes_on)
            sl_buffer_append(out, " ", 1);
        sl_buffer_append(out, piece + (goes_on ? sizeof mark : 0),
                         bytes - (goes_on ? sizeof mark : 0));
    }
}

void sl_detokenize(struct sl_buffer *out, const struct sl_tokenizer *tokenizer, const int32_t *ids,
                   int count)
{
    struct sl_buffer words = {0};
    append_pieces(&words, tokenizer, ids, count);
    if (words.data)
        append_words(out, words.data, words.bytes);
    out->failed = out->failed || words.failed;
    sl_buffer_release(&words);
}
