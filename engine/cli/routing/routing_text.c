/* routing_text.c - reads and tokenizes a file. */
#include "cli/routing/routing_text.h"

#include "base/dynarray.h"
#include "base/int_math.h"
#include "data/compressed_file.h"
#include "data/corpus.h"

#include <stdlib.h>
#include <string.h>

/* A piece of `count` tokens, which are to be written behind the others. */
static int32_t *add_piece(struct routing_text *t, int count, struct sl_err *err)
{
    if (!sl_dynarray_reserve(&t->ids, &t->capacity, t->count + (size_t)count, sizeof *t->ids,
                             err) ||
        !sl_dynarray_reserve(&t->lengths, &t->pieces_capacity, t->pieces + 1, sizeof *t->lengths,
                             err))
        return NULL;
    int32_t *piece = t->ids + t->count;
    t->lengths[t->pieces++] = count;
    t->count += (size_t)count;
    return piece;
}

static bool add_windows(struct routing_text *t, const struct sl_model *m, const char *path,
                        struct sl_err *err)
{
    struct sl_corpus corpus = {0};
    if (!sl_corpus_open(&corpus, path, m->tokenizer, err))
        return false;
    t->is_cut = corpus.count > ROUTING_TOKENS_MAX;
    const int64_t most = t->is_cut ? ROUTING_TOKENS_MAX : corpus.count;
    bool ok = true;
    for (int64_t at = 0; ok && at < most;) {
        int64_t left = most - at;
        int count = left < m->config.context_length ? (int)left : m->config.context_length;
        int32_t *piece = add_piece(t, count, err);
        ok = piece != NULL;
        if (ok)
            memcpy(piece, corpus.ids + at, (size_t)count * sizeof *piece);
        at += count;
    }
    sl_corpus_close(&corpus);
    return ok;
}

static bool add_line(struct routing_text *t, const struct sl_model *m, const char *line,
                     size_t bytes, struct sl_err *err)
{
    const int context = m->config.context_length;
    if (!sl_dynarray_reserve(&t->ids, &t->capacity, t->count + (size_t)context, sizeof *t->ids,
                             err))
        return false;
    const struct sl_encoding job = {.text = line,
                                    .bytes = bytes,
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
    struct sl_decompressed_file file = {0};
    if (!sl_decompressed_file_open(&file, path, err))
        return false;
    const char *line = file.data, *end = line + file.size;
    bool ok = true;
    int number = 1;
    for (; ok && line < end && t->count < ROUTING_TOKENS_MAX; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        ok = add_line(t, m, line, (size_t)(stop - line), err) || sl_wrap_file(err, path, number);
        line = stop + (stop < end);
    }
    t->is_cut = line < end;
    sl_decompressed_file_close(&file);
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
