/* smaller_vocabulary.c - counts pieces, and keeps the most frequent. */
#include "tuning/smaller_vocabulary.h"

#include "base/utf8.h"
#include "tokenizer/bert_words.h"
#include "tokenizer/tokenizer_kinds.h"

#include <stdlib.h>
#include <string.h>

/* ---- which are kept -------------------------------------------------------------------------- */

struct counted {
    int64_t uses;
    int32_t id;
    bool always; /* special, or one character */
};

static bool is_special(const struct sl_tokenizer *tokens, int32_t id)
{
    for (int i = 0; i < SL_SPECIALS; i++)
        if (sl_tokenizer_special(tokens, (enum sl_special)i) == id)
            return true;
    return false;
}

static bool is_character(struct sl_piece piece)
{
    const size_t prefix = strlen(sl_continuation_prefix);
    if (piece.bytes > prefix && memcmp(piece.text, sl_continuation_prefix, prefix) == 0)
        piece = (struct sl_piece){piece.text + prefix, piece.bytes - prefix};
    return sl_utf8_count(piece.text, piece.bytes) == 1;
}

static int by_use(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->always != y->always)
        return x->always ? -1 : 1;
    if (x->uses != y->uses)
        return x->uses > y->uses ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_id(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct counted *count(const struct sl_tokenizer *of, const struct sl_dataset *set,
                             struct sl_err *err)
{
    const int size = sl_tokenizer_size(of);
    struct counted *list = calloc((size_t)size, sizeof *list);
    if (!list) {
        sl_fail(err, SL_NO_MEMORY, "no memory to count the uses of %d pieces", size);
        return NULL;
    }
    for (int32_t id = 0; id < size; id++)
        list[id] = (struct counted){.id = id,
                                    .always = is_special(of, id) || is_character(of->pieces[id])};
    for (size_t i = 0; i < set->ids_count; i++)
        list[set->ids[i]].uses++;
    return list;
}

static int count_always(const struct counted *list, int size)
{
    int always = 0;
    for (int i = 0; i < size; i++)
        always += list[i].always;
    return always;
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

static bool lowers(const struct sl_tokenizer *of)
{
    int32_t upper[2], lower[2];
    struct sl_err err;
    return sl_tokenizer_encode(of, "A", 1, SL_UNKNOWN_REPLACE, upper, 2, &err) == 1 &&
           sl_tokenizer_encode(of, "a", 1, SL_UNKNOWN_REPLACE, lower, 2, &err) == 1 &&
           upper[0] == lower[0];
}

static bool keep(struct sl_smaller_vocabulary *v, const struct sl_tokenizer *of,
                 const struct counted *list, int size, struct sl_err *err)
{
    struct sl_piece *pieces = calloc((size_t)size, sizeof *pieces);
    v->from = calloc((size_t)size, sizeof *v->from);
    bool ok = (pieces && v->from) || sl_fail(err, SL_NO_MEMORY, "no memory for %d pieces", size);
    for (int i = 0; ok && i < size; i++) {
        v->from[i] = list[i].id;
        pieces[i] = of->pieces[list[i].id];
    }
    v->tokens = ok ? sl_tokenizer_create("wordpiece", lowers(of), pieces, size, err) : NULL;
    if (v->tokens)
        sl_tokenizer_set_truncation(v->tokens, sl_tokenizer_truncation_side(of));
    free(pieces);
    return v->tokens != NULL;
}

bool sl_smaller_vocabulary_open(struct sl_smaller_vocabulary *v, const struct sl_tokenizer *of,
                                const struct sl_dataset *set, int size, struct sl_err *err)
{
    const int all = sl_tokenizer_size(of);
    *v = (struct sl_smaller_vocabulary){0};
    struct counted *list = count(of, set, err);
    if (!list)
        return false;
    const int always = count_always(list, all);
    bool ok = size >= always && size <= all;
    if (!ok)
        sl_fail(err, SL_BAD_INPUT,
                "a vocabulary of %d: expected %d, which are special tokens and single characters, "
                "to %d",
                size, always, all);
    if (ok) {
        qsort(list, (size_t)all, sizeof *list, by_use);
        qsort(list, (size_t)size, sizeof *list, by_id);
        ok = keep(v, of, list, size, err);
    }
    free(list);
    if (!ok)
        sl_smaller_vocabulary_close(v);
    return ok;
}

void sl_smaller_vocabulary_close(struct sl_smaller_vocabulary *v)
{
    sl_tokenizer_destroy(v->tokens);
    free(v->from);
    *v = (struct sl_smaller_vocabulary){0};
}

/* ---- what it must agree with ----------------------------------------------------------------- */

static bool same_tokens(const struct sl_smaller_vocabulary *v, const int32_t *own, int own_count,
                        const int32_t *ids, int id_count)
{
    if (own_count != id_count)
        return false;
    for (int i = 0; i < own_count; i++)
        if (v->from[own[i]] != ids[i])
            return false;
    return true;
}

static bool all_kept(const bool *kept, const int32_t *ids, int id_count)
{
    for (int i = 0; i < id_count; i++)
        if (!kept[ids[i]])
            return false;
    return true;
}

static bool check(const struct sl_smaller_vocabulary *v, const struct sl_dataset *set,
                  const struct sl_dataset *own, const bool *kept, struct sl_err *err)
{
    for (int i = 0; i < set->count; i++) {
        int id_count, own_count;
        const int32_t *ids = sl_dataset_ids(set, i, &id_count);
        const int32_t *small = sl_dataset_ids(own, i, &own_count);
        if (all_kept(kept, ids, id_count) && !same_tokens(v, small, own_count, ids, id_count))
            return sl_fail(err, SL_BAD_INPUT,
                           "its tokenizer is not BERT's, so its vocabulary cannot be made smaller: "
                           "the text of line %lld of '%s' has other tokens",
                           (long long)set->examples[i].line, set->path);
    }
    return true;
}

bool sl_smaller_vocabulary_check(const struct sl_smaller_vocabulary *v,
                                 const struct sl_dataset *set, const struct sl_dataset *own,
                                 struct sl_err *err)
{
    const int size = sl_tokenizer_size(v->tokens);
    if (own->count != set->count)
        return sl_fail(err, SL_BAD_INPUT, "'%s' changed while it was read", set->path);
    bool *kept = calloc(SL_VOCAB_MAX, sizeof *kept);
    if (!kept)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a list of pieces");
    for (int i = 0; i < size; i++)
        kept[v->from[i]] = true;
    const bool ok = check(v, set, own, kept, err);
    free(kept);
    return ok;
}
