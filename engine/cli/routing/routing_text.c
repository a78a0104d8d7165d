/* routing_text.c - reads and tokenizes a file. */
#include "cli/routing/routing_text.h"

#include "base/dynarray.h"
#include "base/int_math.h"
#include "data/corpus.h"
#include "data/line_reader.h"

#include <stdlib.h>

/* A piece of the next `count` tokens of `ids`. */
static bool add_piece(struct routing_text *t, int count, struct sl_err *err)
{
    if (!sl_dynarray_reserve(&t->lengths, &t->pieces_capacity, t->pieces + 1, sizeof *t->lengths,
                             err))
        return false;
    t->lengths[t->pieces++] = count;
    t->count += (size_t)count;
    return true;
}

static bool add_windows(struct routing_text *t, const struct sl_model *m, const char *path,
                        struct sl_err *err)
{
    struct sl_corpus corpus = {0};
    if (!sl_corpus_open(&corpus, path, m->tokenizer, err))
        return false;
    t->ids = corpus.ids; /* taken over */
    t->is_cut = corpus.count > ROUTING_TOKENS_MAX;
    int left = t->is_cut ? ROUTING_TOKENS_MAX : (int)corpus.count;
    bool ok = true;
    for (int count; ok && left > 0; left -= count) {
        count = sl_min(left, m->config.context_length);
        ok = add_piece(t, count, err);
    }
    return ok;
}

static bool add_line(struct routing_text *t, const struct sl_model *m, const struct sl_line *line,
                     struct sl_err *err)
{
    const int context = m->config.context_length;
    if (!sl_dynarray_reserve(&t->ids, &t->capacity, t->count + (size_t)context, sizeof *t->ids,
                             err))
        return false;
    const struct sl_encoding job = {.text = line->text,
                                    .bytes = line->bytes,
                                    .unknown = SL_UNKNOWN_REPLACE,
                                    .special = true,
                                    .max_tokens = context,
                                    .side = sl_tokenizer_truncation_side(m->tokenizer),
                                    .ids = t->ids + t->count,
                                    .capacity = context};
    long count = sl_tokenizer_tokenize(m->tokenizer, &job, err);
    return count >= 0 && (count == 0 || add_piece(t, (int)count, err));
}

static bool add_lines(struct routing_text *t, const struct sl_model *m, const char *path,
                      struct sl_err *err)
{
    const struct sl_data_limits limits = {0};
    struct sl_line_reader *lines = sl_line_reader_open(path, NULL, &limits, err);
    bool ok = lines != NULL;
    while (ok) {
        struct sl_line line;
        ok = sl_line_reader_next(lines, &line, err);
        if (!ok || !line.text)
            break;
        t->is_cut = t->count >= ROUTING_TOKENS_MAX;
        if (t->is_cut)
            break;
        ok = add_line(t, m, &line, err) || sl_line_reader_wrap(lines, line.number, err);
    }
    sl_line_reader_close(lines);
    return ok;
}

bool routing_text_open(struct routing_text *t, const struct sl_model *m, const char *path,
                       struct sl_err *err)
{
    *t = (struct routing_text){0};
    bool completes = m->config.task == SL_TASK_COMPLETION;
    return (completes ? add_windows(t, m, path, err) : add_lines(t, m, path, err)) &&
           (t->count > 0 || sl_fail(err, SL_BAD_INPUT, "'%s' has no text", path));
}

void routing_text_close(struct routing_text *t)
{
    free(t->ids);
    free(t->lengths);
    *t = (struct routing_text){0};
}
