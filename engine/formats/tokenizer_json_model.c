/* tokenizer_json_model.c - the model of tokenizer.json: WordPiece, BPE or Unigram. */
#include "formats/tokenizer_json_parts.h"

#include "formats/json_io.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_CHARACTERS_MAX = 100 };

static bool fail_memory(size_t count, struct sl_err *err)
{
    return sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %zu pieces", count);
}

void sl_model_lists_release(struct sl_model_lists *lists)
{
    free(lists->pieces);
    free(lists->merges);
    free(lists->scores);
    *lists = (struct sl_model_lists){0};
}

/* -- vocabularies ----------------------------------------------------------------------------- */

static bool pieces_allocate(size_t count, struct sl_pipeline_parts *parts,
                            struct sl_model_lists *lists, struct sl_err *err)
{
    if (count < 1 || count > SL_VOCAB_MAX)
        return sl_fail(err, SL_CORRUPT, "'vocab' has %zu pieces: expected 1 to %d", count,
                       SL_VOCAB_MAX);
    lists->pieces = calloc(count, sizeof *lists->pieces);
    parts->model.pieces = lists->pieces;
    parts->model.count = (int)count;
    return lists->pieces || fail_memory(count, err);
}

static bool id_check(const char *piece, const json_t *id, struct sl_err *err)
{
    json_int_t value = json_integer_value(id);
    if (json_is_integer(id) && value >= 0 && value < SL_VOCAB_MAX)
        return true;
    return sl_fail(err, SL_CORRUPT, "vocab: '%.64s' has an invalid id: expected 0 to %d", piece,
                   SL_VOCAB_MAX - 1);
}

/* One more than the greatest id of an object of pieces and ids. */
static bool count_ids(json_t *vocab, size_t *count, struct sl_err *err)
{
    const char *piece;
    json_t *id;
    *count = 0;
    json_object_foreach (vocab, piece, id) {
        if (!id_check(piece, id, err))
            return false;
        if ((size_t)json_integer_value(id) >= *count)
            *count = (size_t)json_integer_value(id) + 1;
    }
    return true;
}

static bool object_read(json_t *vocab, struct sl_pipeline_parts *parts,
                        struct sl_model_lists *lists, struct sl_err *err)
{
    size_t count;
    const char *piece;
    json_t *id;
    if (!json_is_object(vocab))
        return sl_fail(err, SL_CORRUPT, "'vocab' is %s: expected an object", sl_json_type(vocab));
    if (!count_ids(vocab, &count, err) || !pieces_allocate(count, parts, lists, err))
        return false;
    json_object_foreach (vocab, piece, id) {
        struct sl_piece *slot = &lists->pieces[json_integer_value(id)];
        if (slot->text)
            return sl_fail(err, SL_CORRUPT, "vocab: '%.64s' and '%.64s' have the same id %lld",
                           slot->text, piece, (long long)json_integer_value(id));
        *slot = (struct sl_piece){piece, strlen(piece)};
    }
    return true;
}

static bool scored_read(const json_t *vocab, struct sl_pipeline_parts *parts,
                        struct sl_model_lists *lists, struct sl_err *err)
{
    size_t i, count = json_array_size(vocab);
    json_t *pair;
    if (!json_is_array(vocab))
        return sl_fail(err, SL_CORRUPT, "'vocab' is %s: expected an array", sl_json_type(vocab));
    if (!pieces_allocate(count, parts, lists, err))
        return false;
    lists->scores = calloc(count, sizeof *lists->scores);
    parts->model.scores = lists->scores;
    if (!lists->scores)
        return fail_memory(count, err);
    json_array_foreach (vocab, i, pair) {
        const json_t *piece = json_array_get(pair, 0), *score = json_array_get(pair, 1);
        if (!json_is_string(piece) || !json_is_number(score) || json_array_size(pair) != 2)
            return sl_fail(err, SL_CORRUPT, "vocab[%zu]: expected [piece, score]", i);
        lists->pieces[i] = (struct sl_piece){json_string_value(piece), json_string_length(piece)};
        lists->scores[i] = json_number_value(score);
        if (!isfinite(lists->scores[i]))
            return sl_fail(err, SL_CORRUPT, "vocab[%zu]: the score is not finite", i);
    }
    return true;
}

/* -- merges ----------------------------------------------------------------------------------- */

/* "a b", or in newer files ["a", "b"]. */
static bool merge_read(const json_t *value, struct sl_merge *merge)
{
    const json_t *left = json_array_get(value, 0), *right = json_array_get(value, 1);
    if (json_is_string(left) && json_is_string(right) && json_array_size(value) == 2) {
        merge->left = (struct sl_piece){json_string_value(left), json_string_length(left)};
        merge->right = (struct sl_piece){json_string_value(right), json_string_length(right)};
        return true;
    }
    const char *text = json_string_value(value), *blank = text ? strchr(text, ' ') : NULL;
    if (!blank || strchr(blank + 1, ' '))
        return false;
    merge->left = (struct sl_piece){text, (size_t)(blank - text)};
    merge->right = (struct sl_piece){blank + 1, strlen(blank + 1)};
    return true;
}

/* What a vocabulary of llama.cpp is saved with: merges of the same score are equals. Missing: each
 * comes before the next. */
static bool ranks_read(const json_t *model, struct sl_model_lists *lists, size_t count,
                       struct sl_err *err)
{
    static const char key[] = "sluice_ranks";
    const json_t *ranks = json_object_get(model, key);
    if (ranks && json_array_size(ranks) != count)
        return sl_fail(err, SL_CORRUPT, "'%s' has %zu numbers: expected %zu", key,
                       json_array_size(ranks), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *rank = json_array_get(ranks, i);
        const json_int_t value = ranks ? json_integer_value(rank) : (json_int_t)i;
        if ((ranks && !json_is_integer(rank)) || value < 0 || value > SL_VOCAB_MAX)
            return sl_fail(err, SL_CORRUPT, "%s[%zu]: expected a number from 0 to %d", key, i,
                           SL_VOCAB_MAX);
        lists->merges[i].rank = (uint32_t)value;
    }
    return true;
}

static bool merges_read(const json_t *model, struct sl_pipeline_parts *parts,
                        struct sl_model_lists *lists, struct sl_err *err)
{
    const json_t *merges = json_object_get(model, "merges");
    size_t i, count = json_array_size(merges);
    json_t *value;
    if (!json_is_array(merges) || count > SL_VOCAB_MAX)
        return sl_fail(err, SL_CORRUPT, "'merges' is %s of %zu: expected an array of at most %d",
                       sl_json_type(merges), count, SL_VOCAB_MAX);
    lists->merges = calloc(count + 1, sizeof *lists->merges);
    if (!lists->merges)
        return fail_memory(count, err);
    parts->model.merges = lists->merges;
    json_array_foreach (merges, i, value) {
        if (!merge_read(value, &lists->merges[i]))
            return sl_fail(err, SL_CORRUPT, "merges[%zu]: expected two pieces", i);
    }
    parts->model.merge_count = count;
    return ranks_read(model, lists, count, err);
}

/* -- kinds ------------------------------------------------------------------------------------ */

static bool wordpiece_read(json_t *model, struct sl_pipeline_parts *parts,
                           struct sl_model_lists *lists, struct sl_err *err)
{
    struct sl_token_model_parts *m = &parts->model;
    m->kind = SL_MODEL_WORDPIECE;
    m->prefix = "##";
    m->unknown = "[UNK]";
    m->word_characters_max = WORD_CHARACTERS_MAX;
    if (!sl_member_text(model, "unk_token", &m->unknown, err) ||
        !sl_member_text(model, "continuing_subword_prefix", &m->prefix, err) ||
        !sl_member_whole(model, "max_input_chars_per_word", 1 << 20, &m->word_characters_max, err))
        return false;
    parts->is_bert = parts->is_bert && strcmp(m->prefix, "##") == 0 &&
                     m->word_characters_max == WORD_CHARACTERS_MAX;
    return object_read(json_object_get(model, "vocab"), parts, lists, err);
}

static bool bpe_read(json_t *model, struct sl_pipeline_parts *parts, struct sl_model_lists *lists,
                     struct sl_err *err)
{
    struct sl_token_model_parts *m = &parts->model;
    const json_t *dropout = json_object_get(model, "dropout");
    m->kind = SL_MODEL_BPE;
    if (dropout && !json_is_null(dropout) && json_number_value(dropout) != 0.0)
        return sl_fail(err, SL_CORRUPT, "'dropout' is set: expected null");
    return sl_member_text(model, "unk_token", &m->unknown, err) &&
           sl_member_text(model, "continuing_subword_prefix", &m->prefix, err) &&
           sl_member_text(model, "end_of_word_suffix", &m->suffix, err) &&
           sl_member_flag(model, "fuse_unk", &m->fuse_unknown, err) &&
           sl_member_flag(model, "byte_fallback", &m->byte_fallback, err) &&
           sl_member_flag(model, "ignore_merges", &m->ignore_merges, err) &&
           object_read(json_object_get(model, "vocab"), parts, lists, err) &&
           merges_read(model, parts, lists, err);
}

static bool unigram_read(json_t *model, struct sl_pipeline_parts *parts,
                         struct sl_model_lists *lists, struct sl_err *err)
{
    struct sl_token_model_parts *m = &parts->model;
    int unknown = -1;
    m->kind = SL_MODEL_UNIGRAM;
    if (!scored_read(json_object_get(model, "vocab"), parts, lists, err) ||
        !sl_member_flag(model, "byte_fallback", &m->byte_fallback, err) ||
        !sl_member_whole(model, "unk_id", m->count - 1, &unknown, err))
        return false;
    m->unknown = unknown >= 0 ? m->pieces[unknown].text : NULL;
    return true;
}

static const struct {
    const char *name;
    bool (*read)(json_t *model, struct sl_pipeline_parts *parts, struct sl_model_lists *lists,
                 struct sl_err *err);
} kinds[] = {{"WordPiece", wordpiece_read}, {"BPE", bpe_read}, {"Unigram", unigram_read}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Old files do not name the type. */
static const char *type_of(const json_t *model, struct sl_err *err)
{
    if (json_object_get(model, "type"))
        return sl_json_text(model, "type", err);
    if (json_object_get(model, "merges"))
        return "BPE";
    return json_is_array(json_object_get(model, "vocab")) ? "Unigram" : "WordPiece";
}

static bool kind_read(json_t *model, struct sl_pipeline_parts *parts, struct sl_model_lists *lists,
                      struct sl_err *err)
{
    const char *type = type_of(model, err);
    if (!type)
        return false;
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, type) == 0)
            return kinds[i].read(model, parts, lists, err);
    return sl_fail(err, SL_CORRUPT, "unknown type '%.64s': expected WordPiece, BPE or Unigram",
                   type);
}

bool sl_model_read(const json_t *root, struct sl_pipeline_parts *parts,
                   struct sl_model_lists *lists, struct sl_err *err)
{
    json_t *model = sl_json_object(root, "model", err);
    if (!model)
        return false;
    if (!kind_read(model, parts, lists, err))
        return sl_wrap(err, "model");
    if (parts->model.byte_level && parts->model.kind != SL_MODEL_BPE)
        return sl_fail(err, SL_CORRUPT, "pre_tokenizer: ByteLevel needs the model BPE");
    return true;
}
