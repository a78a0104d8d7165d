/* bpe_encoder.c - byte pair encoding: of all neighbours that merge, those whose merge was learnt
 * first are merged first, and of several such the leftmost.
 *
 * Candidates wait in a heap; one whose symbols have changed since is dropped when it comes up. */
#include "tokenizer/model_encoders.h"

#include "base/dynarray.h"
#include "tokenizer/unicode.h"

#include <string.h>

/* What two neighbours become; NULL: they do not merge. */
static const struct sl_bpe_merge *merge_of(const struct sl_token_model *model, int32_t left,
                                           int32_t right)
{
    int32_t number = sl_hash_find(&model->pairs, sl_bpe_pair(left, right));
    return number < 0 ? NULL : &model->merges[number];
}

/* -- symbols ---------------------------------------------------------------------------------- */

static void symbol_add(struct sl_model_scratch *s, int32_t id, size_t bytes)
{
    if (!sl_dynarray_reserve(&s->symbols, &s->symbols_capacity, s->symbol_count + 1,
                             sizeof *s->symbols, NULL)) {
        s->failed = true;
        return;
    }
    int32_t at = (int32_t)s->symbol_count++;
    s->symbols[at] =
        (struct sl_bpe_symbol){.id = id, .before = at - 1, .after = -1, .bytes = (uint32_t)bytes};
    if (at > 0)
        s->symbols[at - 1].after = at;
}

/* A character of a word, spelled as in the vocabulary: with the prefix unless it is the first, with
 * the suffix if it is the last. `room` is for one that has either. */
static struct sl_piece spell(const struct sl_token_model *model, struct sl_piece character,
                             bool first, bool last, char room[2 * SL_AFFIX_MAX + 4])
{
    size_t prefix = first ? 0 : model->prefix_bytes, suffix = last ? model->suffix_bytes : 0;
    if (prefix + suffix == 0)
        return character;
    memcpy(room, model->prefix, prefix);
    memcpy(room + prefix, character.text, character.bytes);
    memcpy(room + prefix + character.bytes, model->suffix, suffix);
    return (struct sl_piece){room, prefix + character.bytes + suffix};
}

/* Unknown characters that are not added yet: known ones come first. */
struct unknown {
    bool waits;
    size_t bytes;
};

static void unknown_flush(const struct sl_token_model *model, struct sl_model_scratch *s,
                          struct unknown *unknown)
{
    if (unknown->waits)
        symbol_add(s, model->unknown, unknown->bytes);
    *unknown = (struct unknown){0};
}

static bool bytes_add(const struct sl_token_model *model, struct sl_model_scratch *s,
                      struct sl_piece spelled)
{
    if (!model->byte_fallback)
        return false;
    for (size_t i = 0; i < spelled.bytes; i++)
        if (model->bytes[(unsigned char)spelled.text[i]] < 0)
            return false;
    for (size_t i = 0; i < spelled.bytes; i++)
        symbol_add(s, model->bytes[(unsigned char)spelled.text[i]], 1);
    return true;
}

static void symbols_fill(const struct sl_token_model *model, const char *word, size_t bytes,
                         struct sl_model_scratch *s)
{
    struct unknown unknown = {0};
    char room[2 * SL_AFFIX_MAX + 4];
    s->symbol_count = 0;
    for (size_t at = 0, length; at < bytes; at += length) {
        length = model->byte_level ? 1 : sl_char_bytes(word[at]);
        struct sl_piece spelled =
            spell(model, (struct sl_piece){word + at, length}, at == 0, at + length == bytes, room);
        int32_t id = sl_piece_table_find(&model->table, spelled.text, spelled.bytes);
        if (id >= 0) {
            unknown_flush(model, s, &unknown);
            symbol_add(s, id, length);
        } else if (!bytes_add(model, s, spelled) && model->unknown >= 0) {
            if (!model->fuse_unknown)
                unknown_flush(model, s, &unknown);
            unknown.waits = true;
            unknown.bytes += length;
        }
    }
    unknown_flush(model, s, &unknown);
}

/* -- candidates ------------------------------------------------------------------------------- */

static bool is_before(struct sl_bpe_candidate a, struct sl_bpe_candidate b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void heap_push(struct sl_model_scratch *s, struct sl_bpe_candidate added)
{
    if (!sl_dynarray_reserve(&s->heap, &s->heap_capacity, s->heap_count + 1, sizeof *s->heap,
                             NULL)) {
        s->failed = true;
        return;
    }
    size_t at = s->heap_count++;
    for (; at > 0 && is_before(added, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = added;
}

static struct sl_bpe_candidate heap_pop(struct sl_model_scratch *s)
{
    struct sl_bpe_candidate top = s->heap[0], last = s->heap[--s->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < s->heap_count; at = child) {
        if (child + 1 < s->heap_count && is_before(s->heap[child + 1], s->heap[child]))
            child++;
        if (!is_before(s->heap[child], last))
            break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = last;
    return top;
}

/* A symbol and the one after it become a candidate, if they merge. */
static void consider(const struct sl_token_model *model, struct sl_model_scratch *s, int32_t at)
{
    if (at < 0 || s->symbols[at].after < 0)
        return;
    const struct sl_bpe_merge *merge =
        merge_of(model, s->symbols[at].id, s->symbols[s->symbols[at].after].id);
    if (merge)
        heap_push(s, (struct sl_bpe_candidate){merge->rank, (uint32_t)at, merge->merged});
}

/* -- merging ---------------------------------------------------------------------------------- */

static void merge(const struct sl_token_model *model, struct sl_model_scratch *s,
                  struct sl_bpe_candidate top)
{
    struct sl_bpe_symbol *left = &s->symbols[top.at];
    if (left->bytes == 0 || left->after < 0)
        return;
    struct sl_bpe_symbol *right = &s->symbols[left->after];
    const struct sl_bpe_merge *now = merge_of(model, left->id, right->id);
    if (!now || now->merged != top.merged)
        return;
    left->id = top.merged;
    left->bytes += right->bytes;
    left->after = right->after;
    right->bytes = 0;
    if (left->after >= 0)
        s->symbols[left->after].before = (int32_t)top.at;
    consider(model, s, left->before);
    consider(model, s, (int32_t)top.at);
}

bool sl_bpe_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                   struct sl_model_scratch *scratch)
{
    symbols_fill(model, word, bytes, scratch);
    scratch->heap_count = 0;
    for (size_t i = 0; i + 1 < scratch->symbol_count; i++)
        consider(model, scratch, (int32_t)i);
    while (scratch->heap_count > 0)
        merge(model, scratch, heap_pop(scratch));
    uint32_t start = 0;
    for (size_t i = 0; i < scratch->symbol_count; i++) {
        const struct sl_bpe_symbol *symbol = &scratch->symbols[i];
        if (symbol->bytes == 0)
            continue;
        sl_model_scratch_add(scratch,
                             (struct sl_model_token){symbol->id, start, start + symbol->bytes});
        start += symbol->bytes;
    }
    return true;
}
