/* completions.c - finds the lines of a corpus that are a prompt and a completion. */
#include "data/completions.h"

#include "base/dynarray.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 1 << 30 };

/* What is looked for: in a corpus whose lines are counted from 1. */
struct scan {
    struct sl_completions *out;
    int32_t separator, line_feed;
    int context, line;
    size_t capacity; /* of the list */
};

/* The token that a text is; -1: it is not one token. */
static int32_t only_token(const struct sl_tokenizer *tokens, const char *text)
{
    int32_t ids[2];
    struct sl_err err;
    long count = sl_tokenizer_encode(tokens, text, strlen(text), SL_UNKNOWN_FAIL, ids, 2, &err);
    return count == 1 ? ids[0] : -1;
}

static bool find_tokens(struct scan *s, const struct sl_completion_form *form, struct sl_err *err)
{
    s->separator = only_token(form->tokens, form->separator);
    s->line_feed = only_token(form->tokens, "\n");
    if (s->line_feed < 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "line feeds are no tokens of this tokenizer; to train on completions, use "
                       "the tokenizer 'characters' or 'bytes'");
    return (s->separator >= 0 && s->separator != s->line_feed) ||
           sl_fail(err, SL_BAD_INPUT, "the separator '%s' is not one character of the text",
                   form->separator);
}

static bool add(struct scan *s, struct sl_completion line, struct sl_err *err)
{
    struct sl_completions *out = s->out;
    if (out->count == LINES_MAX)
        return sl_fail(err, SL_BAD_INPUT, "the text has too many lines: expected at most %d",
                       LINES_MAX);
    if (!sl_dynarray_reserve(&out->list, &s->capacity, (size_t)out->count + 1, sizeof *out->list,
                             err))
        return false;
    if (out->count == 0 || line.rows > out->list[out->longest].rows)
        out->longest = out->count;
    out->list[out->count++] = line;
    return true;
}

/* The line [first, end), whose line feed is at `end`. */
static bool read_line(struct scan *s, int64_t first, int64_t end, struct sl_err *err)
{
    int64_t rows = end - first, prompt = 0;
    while (prompt < rows && s->out->ids[first + prompt] != s->separator)
        prompt++;
    if (rows == 0)
        return true;
    if (prompt == rows)
        return sl_fail(err, SL_BAD_INPUT, "line %d lacks the separator", s->line);
    if (rows > s->context)
        return sl_fail(err, SL_BAD_INPUT,
                       "line %d has %lld tokens: expected at most %d, the context length", s->line,
                       (long long)rows, s->context);
    return add(s, (struct sl_completion){.first = first, .rows = (int)rows, .prompt = (int)prompt},
               err);
}

bool sl_completions_open(struct sl_completions *completions, const struct sl_corpus *corpus,
                         struct sl_span part, const struct sl_completion_form *form,
                         struct sl_err *err)
{
    struct scan s = {.out = completions, .context = form->context, .line = 1};
    int64_t from = part.ids - corpus->ids, line = 0;
    *completions = (struct sl_completions){.ids = corpus->ids};
    bool ok = find_tokens(&s, form, err);
    for (int64_t i = 0; ok && i < from + part.count; i++) {
        if (corpus->ids[i] != s.line_feed)
            continue;
        ok = line < from || read_line(&s, line, i, err);
        line = i + 1;
        s.line++;
    }
    if (ok && completions->count == 0)
        ok = sl_fail(err, SL_BAD_INPUT, "a part of the text has no whole line");
    if (!ok)
        sl_completions_close(completions);
    return ok;
}

void sl_completions_close(struct sl_completions *completions)
{
    free(completions->list);
    *completions = (struct sl_completions){0};
}

int sl_completions_copy(const struct sl_completions *completions, int index, int32_t *tokens,
                        int32_t *targets)
{
    assert(index >= 0 && index < completions->count);
    const struct sl_completion *line = &completions->list[index];
    const int32_t *ids = completions->ids + line->first;
    memcpy(tokens, ids, (size_t)line->rows * sizeof *ids);
    memcpy(targets, ids + 1, (size_t)line->rows * sizeof *ids);
    for (int i = 0; i < line->prompt; i++)
        targets[i] = -1;
    return line->rows;
}
