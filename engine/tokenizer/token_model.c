/* token_model.c - checks a model from outside and builds its tables. */
#include "tokenizer/token_model.h"

#include "tokenizer/byte_level.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- pieces ----------------------------------------------------------------------------------- */

static bool fail_memory(const struct sl_token_model_parts *parts, struct sl_err *err)
{
    return sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %d pieces", parts->count);
}

static bool affix_set(char to[SL_AFFIX_MAX], size_t *bytes, const char *affix, struct sl_err *err)
{
    *bytes = affix ? strlen(affix) : 0;
    if (*bytes >= SL_AFFIX_MAX)
        return sl_fail(err, SL_BAD_INPUT, "'%.64s...' has %zu bytes: expected less than %d", affix,
                       *bytes, SL_AFFIX_MAX);
    if (affix)
        memcpy(to, affix, *bytes);
    return true;
}

/* The pieces as they stand in words: those that are spelled a character per byte, as bytes. */
static bool pieces_fill(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                        struct sl_err *err)
{
    size_t total = 0, count = (size_t)parts->count;
    for (size_t id = 0; id < count; id++)
        total += parts->pieces[id].text ? parts->pieces[id].bytes : 0;
    model->pieces = calloc(count, sizeof *model->pieces);
    model->text = malloc(total + 1);
    if (!model->pieces || !model->text)
        return fail_memory(parts, err);
    char *out = model->text;
    for (size_t id = 0; id < count; id++) {
        struct sl_piece piece = parts->pieces[id];
        size_t bytes = piece.bytes;
        if (!piece.text || bytes == 0)
            continue;
        if (!parts->byte_level)
            memcpy(out, piece.text, bytes);
        else if (!sl_byte_level_decode(piece.text, piece.bytes, out, &bytes))
            continue;
        model->pieces[id] = (struct sl_piece){out, bytes};
        out += bytes;
    }
    return true;
}

static bool unknown_find(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                         const struct sl_piece_table *spelled, struct sl_err *err)
{
    model->unknown = -1;
    if (!parts->unknown || !parts->unknown[0])
        return true;
    model->unknown = sl_piece_table_find(spelled, parts->unknown, strlen(parts->unknown));
    return model->unknown >= 0 ||
           sl_fail(err, SL_BAD_INPUT, "the unknown token '%.64s' is not in the vocabulary",
                   parts->unknown);
}

static void bytes_find(struct sl_token_model *model, const struct sl_piece_table *spelled)
{
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        int length = snprintf(name, sizeof name, "<0x%02X>", byte);
        model->bytes[byte] = sl_piece_table_find(spelled, name, (size_t)length);
    }
}

/* -- merges ----------------------------------------------------------------------------------- */

static bool piece_find(const struct sl_piece_table *spelled, struct sl_piece piece, int32_t *id,
                       struct sl_err *err)
{
    *id = sl_piece_table_find(spelled, piece.text, piece.bytes);
    return *id >= 0 || sl_fail(err, SL_BAD_INPUT, "'%.*s' is not in the vocabulary",
                               (int)(piece.bytes < 64 ? piece.bytes : 64), piece.text);
}

/* The pair of two pieces, and the id of what they become: the second loses its prefix. */
static bool merge_resolve(const struct sl_token_model *model, const struct sl_piece_table *spelled,
                          const struct sl_merge *merge, uint64_t *pair, int32_t *merged,
                          struct sl_err *err)
{
    struct sl_piece left = merge->left, right = merge->right;
    char both[2 * SL_PIECE_TEXT_MAX];
    int32_t left_id, right_id;
    if (!piece_find(spelled, left, &left_id, err) || !piece_find(spelled, right, &right_id, err))
        return false;
    if (left.bytes == 0 || right.bytes <= model->prefix_bytes)
        return sl_fail(err, SL_BAD_INPUT, "one of the two pieces is empty");
    right.text += model->prefix_bytes;
    right.bytes -= model->prefix_bytes;
    if (left.bytes + right.bytes > sizeof both)
        return sl_fail(err, SL_BAD_INPUT, "two pieces of %zu and %zu bytes: expected at most %zu",
                       left.bytes, right.bytes, sizeof both);
    memcpy(both, left.text, left.bytes);
    memcpy(both + left.bytes, right.text, right.bytes);
    *pair = sl_bpe_pair(left_id, right_id);
    return piece_find(spelled, (struct sl_piece){both, left.bytes + right.bytes}, merged, err);
}

/* Of the same pair, the last merge holds. */
static bool merges_fill(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                        const struct sl_piece_table *spelled, struct sl_err *err)
{
    model->merges = calloc(parts->merge_count + 1, sizeof *model->merges);
    if (!model->merges)
        return fail_memory(parts, err);
    for (size_t i = 0; i < parts->merge_count; i++) {
        struct sl_bpe_merge merge = {.rank = parts->merges[i].rank};
        uint64_t pair;
        if (!merge_resolve(model, spelled, &parts->merges[i], &pair, &merge.merged, err))
            return sl_wrap(err, "merges[%zu]", i);
        int32_t number = sl_hash_add(&model->pairs, pair);
        if (number < 0)
            return fail_memory(parts, err);
        model->merges[number] = merge;
    }
    return true;
}

/* -- tries ------------------------------------------------------------------------------------ */

/* A search may go as deep as the longest piece from each byte of a text. */
static bool depth_check(struct sl_piece piece, int32_t id, struct sl_err *err)
{
    return piece.bytes <= SL_PIECE_TEXT_MAX ||
           sl_fail(err, SL_BAD_INPUT, "piece %d has %zu bytes: expected at most %d", id,
                   piece.bytes, SL_PIECE_TEXT_MAX);
}

static bool trie_fill(struct sl_token_model *model, struct sl_err *err)
{
    bool continues = model->kind == SL_MODEL_WORDPIECE;
    if (!sl_byte_trie_init(&model->trie, SL_WORDPIECE_ROOTS, err))
        return false;
    for (int32_t id = 0; id < model->count; id++) {
        struct sl_piece piece = model->pieces[id];
        if (!piece.text)
            continue;
        if (!depth_check(piece, id, err) ||
            !sl_byte_trie_add(&model->trie, SL_WORDPIECE_BEGIN, piece, id, err))
            return false;
        size_t prefix = model->prefix_bytes;
        if (!continues || piece.bytes <= prefix || memcmp(piece.text, model->prefix, prefix) != 0)
            continue;
        piece = (struct sl_piece){piece.text + prefix, piece.bytes - prefix};
        if (!sl_byte_trie_add(&model->trie, SL_WORDPIECE_CONTINUE, piece, id, err))
            return false;
    }
    return true;
}

static bool scores_fill(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                        struct sl_err *err)
{
    size_t count = (size_t)parts->count;
    model->scores = calloc(count, sizeof *model->scores);
    if (!model->scores)
        return fail_memory(parts, err);
    memcpy(model->scores, parts->scores, count * sizeof *model->scores);
    model->score_min = parts->scores[0];
    for (size_t id = 0; id < count; id++)
        if (parts->pieces[id].text && parts->scores[id] < model->score_min)
            model->score_min = parts->scores[id];
    return true;
}

/* -- words that are one token ----------------------------------------------------------------- */

static bool encode(const struct sl_token_model *model, const char *word, size_t bytes,
                   struct sl_model_scratch *scratch)
{
    switch (model->kind) {
    case SL_MODEL_WORDPIECE: return sl_wordpiece_encode(model, word, bytes, scratch);
    case SL_MODEL_BPE: return sl_bpe_encode(model, word, bytes, scratch);
    case SL_MODEL_UNIGRAM: break;
    }
    return sl_unigram_encode(model, word, bytes, scratch);
}

/* Most words of most texts are pieces: what becomes of those is found out once. Of longer pieces
 * it is not, so that a file cannot make this take long. */
static bool whole_fill(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                       struct sl_err *err)
{
    struct sl_model_scratch scratch = {0};
    model->whole = malloc((size_t)parts->count * sizeof *model->whole);
    if (!model->whole)
        return fail_memory(parts, err);
    for (int32_t id = 0; id < model->count && !scratch.failed; id++) {
        const struct sl_piece *piece = &model->pieces[id];
        scratch.count = 0;
        bool one = piece->text && piece->bytes <= SL_PIECE_TEXT_MAX &&
                   encode(model, piece->text, piece->bytes, &scratch) && scratch.count == 1 &&
                   scratch.tokens[0].stop == piece->bytes;
        model->whole[id] = one ? scratch.tokens[0].id : -1;
        if (parts->ignore_merges)
            model->whole[id] = id;
    }
    bool failed = scratch.failed;
    sl_model_scratch_release(&scratch);
    return !failed || fail_memory(parts, err);
}

/* -- lifetime --------------------------------------------------------------------------------- */

static bool fail_twin(const struct sl_piece_table *spelled, struct sl_piece piece, int32_t twin,
                      struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT, "piece %d, '%.*s', is also piece %d", twin,
                   (int)(piece.bytes < 64 ? piece.bytes : 64), piece.text,
                   sl_piece_table_find(spelled, piece.text, piece.bytes));
}

static bool tables_fill(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                        const struct sl_piece_table *spelled, struct sl_err *err)
{
    if (!affix_set(model->prefix, &model->prefix_bytes, parts->prefix, err) ||
        !affix_set(model->suffix, &model->suffix_bytes, parts->suffix, err) ||
        !unknown_find(model, parts, spelled, err) || !pieces_fill(model, parts, err) ||
        !sl_piece_table_fill(&model->table, model->pieces, model->count, NULL, err))
        return false;
    bytes_find(model, spelled);
    bool ok = true;
    switch (model->kind) {
    case SL_MODEL_BPE: ok = merges_fill(model, parts, spelled, err); break;
    case SL_MODEL_UNIGRAM: ok = scores_fill(model, parts, err) && trie_fill(model, err); break;
    case SL_MODEL_WORDPIECE: ok = trie_fill(model, err); break;
    }
    return ok && whole_fill(model, parts, err);
}

bool sl_token_model_init(struct sl_token_model *model, const struct sl_token_model_parts *parts,
                         struct sl_err *err)
{
    struct sl_piece_table spelled = {0};
    int32_t twin;
    *model = (struct sl_token_model){.kind = parts->kind,
                                     .count = parts->count,
                                     .byte_fallback = parts->byte_fallback,
                                     .fuse_unknown = parts->fuse_unknown,
                                     .byte_level = parts->byte_level,
                                     .word_characters_max = parts->word_characters_max};
    bool ok = sl_piece_table_fill(&spelled, parts->pieces, parts->count, &twin, err);
    if (ok && twin >= 0)
        ok = fail_twin(&spelled, parts->pieces[twin], twin, err);
    ok = ok && tables_fill(model, parts, &spelled, err);
    sl_piece_table_release(&spelled);
    return ok;
}

void sl_token_model_release(struct sl_token_model *model)
{
    free(model->pieces);
    free(model->text);
    free(model->whole);
    free(model->merges);
    sl_hash_release(&model->pairs);
    free(model->scores);
    sl_piece_table_release(&model->table);
    sl_byte_trie_release(&model->trie);
    *model = (struct sl_token_model){0};
}

bool sl_token_model_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                           struct sl_model_scratch *scratch)
{
    assert(bytes > 0);
    scratch->count = 0;
    int32_t id = sl_piece_table_find(&model->table, word, bytes);
    if (id < 0 || model->whole[id] < 0)
        return encode(model, word, bytes, scratch);
    sl_model_scratch_add(scratch, (struct sl_model_token){model->whole[id], 0, (uint32_t)bytes});
    return true;
}
