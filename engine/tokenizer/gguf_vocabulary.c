/* gguf_vocabulary.c - the same pipelines as their tokenizer.json describes, from GGUF's parts. */
#include "tokenizer/gguf_vocabulary.h"

#include "base/dynarray.h"
#include "tokenizer/gguf_source.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BLANK_SIGN "\xE2\x96\x81" /* U+2581, SentencePiece's blank */

/* What the parts of the pipeline point to. */
struct lists {
    struct sl_piece *pieces;
    char *text; /* of pieces that are spelled otherwise */
    struct sl_added_token *added;
    struct sl_merge *merges;
    size_t merges_capacity;
    struct sl_buffer source; /* what it would be as tokenizer.json */
};

static void lists_release(struct lists *l)
{
    free(l->pieces);
    free(l->text);
    free(l->added);
    free(l->merges);
    sl_buffer_release(&l->source);
}

static bool fail_memory(const struct sl_gguf_vocabulary *v, struct sl_err *err)
{
    return sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %d pieces", v->count);
}

static struct sl_short_text short_text(const char *text)
{
    struct sl_short_text s = {.bytes = strlen(text)};
    memcpy(s.text, text, s.bytes);
    return s;
}

/* -- added tokens, and those around a text ---------------------------------------------------- */

static bool added_fill(const struct sl_gguf_vocabulary *v, struct lists *l,
                       struct sl_pipeline_parts *parts, struct sl_err *err)
{
    l->added = calloc((size_t)v->count, sizeof *l->added);
    if (!l->added)
        return fail_memory(v, err);
    parts->added = l->added;
    for (int32_t id = 0; id < v->count; id++) {
        if (sl_gguf_is_added(v, id))
            l->added[parts->added_count++] = (struct sl_added_token){
                .text = v->pieces[id], .id = id, .special = v->types[id] == SL_GGUF_CONTROL};
    }
    return true;
}

static bool id_check(const struct sl_gguf_vocabulary *v, int32_t id, struct sl_err *err)
{
    return id < v->count ||
           sl_fail(err, SL_CORRUPT, "token %d is not in the vocabulary of %d", id, v->count);
}

/* -- byte-level ------------------------------------------------------------------------------- */

static const struct sl_gguf_splitter splitters[] = {
    {"gpt-2", "gpt-2", false, false, false},
    {"smollm", "gpt-2", true, false, false},
    {"llama-bpe", "llama-bpe", false, true, false},
    {"qwen2", "qwen2", false, false, true},
};

enum { SPLITTERS = sizeof splitters / sizeof *splitters };

static void splitter_add(struct sl_pipeline_parts *parts, struct sl_pre_tokenizer_step step)
{
    step.behavior = SL_MATCH_ISOLATED;
    parts->pre_tokenizers[parts->pre_tokenizer_count++] = step;
}

static const struct sl_gguf_splitter *splitter_find(const char *pre, struct sl_err *err)
{
    for (int i = 0; i < SPLITTERS; i++)
        if (pre && strcmp(splitters[i].pre, pre) == 0)
            return &splitters[i];
    sl_fail(err, SL_CORRUPT,
            "unknown pre-tokenizer '%.64s': expected gpt-2, smollm, llama-bpe or qwen2",
            pre ? pre : "");
    return NULL;
}

static void splitter_fill(const struct sl_gguf_splitter *splitter, struct sl_pipeline_parts *parts)
{
    if (splitter->digits)
        splitter_add(parts, (struct sl_pre_tokenizer_step){.kind = SL_SPLIT_DIGITS});
    splitter_add(parts,
                 (struct sl_pre_tokenizer_step){.kind = SL_SPLIT_RULES,
                                                .rules = sl_split_rules_named(splitter->rules)});
    if (splitter->composes)
        parts->normalizers[parts->normalizer_count++].kind = SL_NORMALIZE_NFC;
    parts->model.ignore_merges = splitter->ignore_merges;
}

static bool source_fill(struct sl_gguf_source source, struct lists *l,
                        struct sl_pipeline_parts *parts, struct sl_err *err)
{
    source.pieces = l->pieces;
    sl_gguf_source_print(&l->source, &source);
    parts->source = l->source.data;
    parts->source_bytes = l->source.bytes;
    return sl_buffer_check(&l->source, err);
}

static bool merges_split(const struct sl_gguf_vocabulary *v, struct lists *l, struct sl_err *err)
{
    l->merges = calloc(v->merge_count + 1, sizeof *l->merges);
    if (!l->merges)
        return fail_memory(v, err);
    for (size_t i = 0; i < v->merge_count; i++) {
        const struct sl_piece *merge = &v->merges[i];
        const char *blank = memchr(merge->text, ' ', merge->bytes);
        if (!blank)
            return sl_fail(err, SL_CORRUPT, "merges[%zu]: expected two pieces", i);
        size_t left = (size_t)(blank - merge->text);
        l->merges[i] = (struct sl_merge){
            {merge->text, left}, {blank + 1, merge->bytes - left - 1}, (uint32_t)i};
    }
    return true;
}

static bool gpt2_fill(const struct sl_gguf_vocabulary *v, struct lists *l,
                      struct sl_pipeline_parts *parts, struct sl_err *err)
{
    parts->model.kind = SL_MODEL_BPE;
    parts->model.byte_level = true;
    parts->model.merge_count = v->merge_count;
    parts->decoder.steps[parts->decoder.count++].kind = SL_DECODE_BYTE_LEVEL;
    const struct sl_gguf_splitter *splitter = splitter_find(v->pre, err);
    if (!splitter || !merges_split(v, l, err))
        return false;
    splitter_fill(splitter, parts);
    parts->model.merges = l->merges;
    return source_fill((struct sl_gguf_source){.vocabulary = v, .splitter = splitter}, l, parts,
                       err);
}

/* -- SentencePiece's scores ------------------------------------------------------------------- */

/* All ways to make a piece of two, in the order of ids; rank: the piece that they make. */
static bool merges_find(const struct sl_gguf_vocabulary *v, struct lists *l,
                        struct sl_pipeline_parts *parts, const struct sl_piece_table *table,
                        struct sl_err *err)
{
    size_t count = 0;
    for (int32_t id = 0; id < v->count; id++) {
        struct sl_piece piece = v->pieces[id];
        if (v->types[id] != SL_GGUF_NORMAL || piece.bytes > SL_PIECE_TEXT_MAX)
            continue;
        for (size_t at = 0; at + sl_char_bytes(piece.text[at]) < piece.bytes;) {
            at += sl_char_bytes(piece.text[at]);
            struct sl_piece left = {piece.text, at}, right = {piece.text + at, piece.bytes - at};
            if (sl_piece_table_find(table, left.text, left.bytes) < 0 ||
                sl_piece_table_find(table, right.text, right.bytes) < 0)
                continue;
            if (!sl_dynarray_reserve(&l->merges, &l->merges_capacity, count + 1, sizeof *l->merges,
                                     err))
                return false;
            l->merges[count++] = (struct sl_merge){left, right, (uint32_t)id};
        }
    }
    parts->model.merges = l->merges;
    parts->model.merge_count = count;
    return true;
}

struct scored {
    float score;
    int32_t id;
};

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* As files list them. */
static int by_rank(const void *a, const void *b)
{
    const struct sl_merge *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->left.bytes > y->left.bytes) - (x->left.bytes < y->left.bytes);
}

/* Ranks become places in the order of scores; pieces of the same score have the same. */
static bool merges_rank(const struct sl_gguf_vocabulary *v, struct lists *l, size_t count,
                        struct sl_err *err)
{
    assert(v->count > 0); /* sl_gguf_vocabulary_open refuses others */
    const size_t pieces = (size_t)v->count;
    struct scored *scored = calloc(pieces, sizeof *scored);
    uint32_t *ranks = calloc(pieces, sizeof *ranks), rank = 0;
    bool ok = (scored && ranks) || fail_memory(v, err);
    for (int32_t id = 0; id < v->count && ok; id++)
        scored[id] = (struct scored){v->scores[id], id};
    if (ok)
        qsort(scored, pieces, sizeof *scored, by_score);
    for (int32_t i = 0; i < v->count && ok; i++) {
        rank += i > 0 && scored[i].score < scored[i - 1].score;
        ranks[scored[i].id] = rank;
    }
    for (size_t i = 0; i < count && ok; i++)
        l->merges[i].rank = ranks[l->merges[i].rank];
    if (ok && count > 0)
        qsort(l->merges, count, sizeof *l->merges, by_rank);
    free(scored);
    free(ranks);
    return ok;
}

static void llama_steps_fill(const struct sl_gguf_vocabulary *v, struct sl_pipeline_parts *parts)
{
    const struct sl_short_text sign = short_text(BLANK_SIGN), blank = short_text(" ");
    struct sl_decoder *decoder = &parts->decoder;
    if (v->adds_blank)
        parts->normalizers[parts->normalizer_count++] =
            (struct sl_normalizer_step){.kind = SL_NORMALIZE_PREPEND, .content = sign};
    parts->normalizers[parts->normalizer_count++] = (struct sl_normalizer_step){
        .kind = SL_NORMALIZE_REPLACE, .pattern = blank, .content = sign};
    decoder->steps[decoder->count++] =
        (struct sl_decoder_step){.kind = SL_DECODE_REPLACE, .text = sign, .content = blank};
    decoder->steps[decoder->count++].kind = SL_DECODE_BYTE_FALLBACK;
    decoder->steps[decoder->count++].kind = SL_DECODE_FUSE;
    if (v->adds_blank)
        decoder->steps[decoder->count++] =
            (struct sl_decoder_step){.kind = SL_DECODE_STRIP, .text = blank, .start = 1};
}

static bool llama_fill(const struct sl_gguf_vocabulary *v, struct lists *l,
                       struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_piece_table table = {0};
    if (!v->scores)
        return sl_fail(err, SL_CORRUPT, "a 'llama' vocabulary without scores");
    parts->model.kind = SL_MODEL_BPE;
    parts->model.byte_fallback = true;
    parts->model.fuse_unknown = true;
    llama_steps_fill(v, parts);
    bool ok = sl_piece_table_fill(&table, v->pieces, v->count, NULL, err) &&
              merges_find(v, l, parts, &table, err) &&
              merges_rank(v, l, parts->model.merge_count, err);
    sl_piece_table_release(&table);
    const struct sl_gguf_source source = {
        .vocabulary = v,
        .sections = v->adds_blank ? &sl_gguf_llama_sections : &sl_gguf_unprefixed_sections,
        .merges = l->merges ? l->merges : (const struct sl_merge[]){{{NULL, 0}, {NULL, 0}, 0}},
        .merge_count = parts->model.merge_count};
    return ok && source_fill(source, l, parts, err);
}

/* -- BERT ------------------------------------------------------------------------------------- */

/* Pieces that begin a word begin with a blank sign; others get the prefix back. */
static bool bert_pieces_fill(const struct sl_gguf_vocabulary *v, struct lists *l,
                             struct sl_err *err)
{
    enum { SIGN = sizeof BLANK_SIGN - 1, PREFIX = 2 };

    size_t total = 1;
    for (int32_t id = 0; id < v->count; id++)
        total += v->pieces[id].bytes + PREFIX + 1;
    l->text = malloc(total);
    char *out = l->text;
    if (!out)
        return fail_memory(v, err);
    for (int32_t id = 0; id < v->count; id++) {
        struct sl_piece piece = v->pieces[id];
        bool begins = piece.bytes > SIGN && memcmp(piece.text, BLANK_SIGN, SIGN) == 0;
        size_t skip = begins ? SIGN : 0,
               add = begins || v->types[id] != SL_GGUF_NORMAL ? 0 : PREFIX;
        memcpy(out, "##", add);
        memcpy(out + add, piece.text + skip, piece.bytes - skip);
        out[add + piece.bytes - skip] = '\0';
        l->pieces[id] = (struct sl_piece){out, add + piece.bytes - skip};
        out += l->pieces[id].bytes + 1;
    }
    return true;
}

static bool bert_fill(const struct sl_gguf_vocabulary *v, struct lists *l,
                      struct sl_pipeline_parts *parts, struct sl_err *err)
{
    enum { WORD_CHARACTERS_MAX = 100 };

    parts->model.kind = SL_MODEL_WORDPIECE;
    parts->model.prefix = "##";
    parts->model.word_characters_max = WORD_CHARACTERS_MAX;
    parts->is_bert = parts->bert_lower = true;

    static const enum sl_normalizer_kind steps[] = {SL_NORMALIZE_CLEAN, SL_NORMALIZE_IDEOGRAPHS,
                                                    SL_NORMALIZE_NFD, SL_NORMALIZE_NONSPACING,
                                                    SL_NORMALIZE_LOWERCASE};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        parts->normalizers[parts->normalizer_count++].kind = steps[i];
    splitter_add(parts, (struct sl_pre_tokenizer_step){.kind = SL_SPLIT_BERT});
    parts->decoder.steps[parts->decoder.count++] = (struct sl_decoder_step){
        .kind = SL_DECODE_WORDPIECE, .text = short_text("##"), .cleanup = true};
    return bert_pieces_fill(v, l, err) &&
           source_fill((struct sl_gguf_source){.vocabulary = v, .sections = &sl_gguf_bert_sections},
                       l, parts, err);
}

/* -- any -------------------------------------------------------------------------------------- */

struct model {
    const char *name;
    bool (*fill)(const struct sl_gguf_vocabulary *v, struct lists *l,
                 struct sl_pipeline_parts *parts, struct sl_err *err);
};

static const struct model models[] = {{"gpt2", gpt2_fill},
                                      {"llama", llama_fill},
                                      {"bert", bert_fill}};

enum { MODELS = sizeof models / sizeof *models };

static bool model_fill(const struct sl_gguf_vocabulary *v, struct lists *l,
                       struct sl_pipeline_parts *parts, struct sl_err *err)
{
    for (int i = 0; i < MODELS; i++)
        if (strcmp(models[i].name, v->model) == 0)
            return models[i].fill(v, l, parts, err);
    return sl_fail(err, SL_CORRUPT, "unknown tokenizer model '%.64s': expected gpt2, llama or bert",
                   v->model);
}

static bool parts_fill(const struct sl_gguf_vocabulary *v, struct lists *l,
                       struct sl_pipeline_parts *parts, struct sl_err *err)
{
    int32_t begin = v->adds_begin ? v->begin : -1, end = v->adds_end ? v->end : -1;
    l->pieces = calloc((size_t)v->count, sizeof *l->pieces);
    if (!l->pieces)
        return fail_memory(v, err);
    memcpy(l->pieces, v->pieces, (size_t)v->count * sizeof *l->pieces);
    parts->model.pieces = l->pieces;
    parts->model.count = v->count;
    parts->padding = v->padding;
    if (!id_check(v, v->begin, err) || !id_check(v, v->end, err) || !id_check(v, v->padding, err) ||
        !id_check(v, v->unknown, err) || !model_fill(v, l, parts, err) ||
        !added_fill(v, l, parts, err))
        return false;
    if (v->unknown >= 0 && !parts->model.byte_level)
        parts->model.unknown = l->pieces[v->unknown].text;
    sl_post_processor_init(&parts->post, begin, end);
    return true;
}

struct sl_tokenizer *sl_gguf_vocabulary_open(const struct sl_gguf_vocabulary *vocabulary,
                                             struct sl_err *err)
{
    if (vocabulary->count < 1 || !vocabulary->types) {
        sl_fail(err, SL_CORRUPT, "a vocabulary of %d pieces without types", vocabulary->count);
        return NULL;
    }
    struct sl_pipeline_parts *parts = calloc(1, sizeof *parts);
    struct sl_tokenizer *tokenizer = NULL;
    struct lists lists = {0};
    if (!parts)
        fail_memory(vocabulary, err);
    else if (parts_fill(vocabulary, &lists, parts, err))
        tokenizer = sl_pipeline_create(parts, err);
    lists_release(&lists);
    free(parts);
    return tokenizer;
}
