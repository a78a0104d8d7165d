/* pipeline.c - runs the steps. A text that nothing rewrites is not copied. */
#include "tokenizer/pipeline.h"

#include "base/byte_string.h"
#include "base/utf8.h"
#include "tokenizer/bert_words.h"
#include "tokenizer/tokenizer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct pipeline {
    struct sl_tokenizer tokenizer;
    struct sl_token_model model;
    struct sl_added_token *added;
    char **normals; /* of added tokens, by index: normalized; NULL: as it is */
    int added_count;
    struct sl_added_matcher original, normalized; /* by the text they are found in */
    struct sl_normalizer_step normalizers[SL_PIPELINE_STEPS_MAX];
    int normalizer_count;
    struct sl_pre_tokenizer_step pre_tokenizers[SL_PIPELINE_STEPS_MAX];
    int pre_tokenizer_count;
    struct sl_decoder decoder;
    bool *is_special;         /* by id */
    struct sl_piece *decoded; /* by id: what a piece is decoded from */
    bool is_bert;
    struct sl_bert_words bert;
    char *source;
};

/* What one call needs. */
struct scratch {
    struct sl_splits original;
    struct sl_split_text work;
    struct sl_model_scratch model;
};

static bool fail_memory(struct sl_err *err)
{
    return sl_fail(
        err, SL_NO_MEMORY,
        "no memory for the tokens of a text, or more than %d bytes when it is normalized",
        SL_ALIGNED_TEXT_MAX);
}

/* -- normalizing ------------------------------------------------------------------------------ */

static void normalize(const struct pipeline *p, struct sl_split_text *work)
{
    for (int i = 0; i < p->normalizer_count && work->view.bytes > 0; i++) {
        const struct sl_normalizer_step *step = &p->normalizers[i];
        if (sl_normalizer_step_keeps_ascii(step) &&
            sl_text_is_ascii(work->view.text, work->view.bytes))
            continue;
        struct sl_text_editor editor = sl_split_text_edit(work);
        sl_normalizer_step_apply(step, &editor);
        sl_split_text_edited(work);
    }
}

/* -- tokens ----------------------------------------------------------------------------------- */

static bool is_blank(uint32_t point)
{
    enum { SPELLED_BLANK = 0x120 }; /* as byte-level pieces have it */

    return point == SPELLED_BLANK || (sl_char_classes(point) & SL_CHAR_SPACE);
}

static struct sl_token_spaces count_spaces(const char *text, size_t bytes)
{
    struct sl_token_spaces spaces = {0};
    bool leads = true;
    for (size_t at = 0; at < bytes;) {
        bool blank = is_blank(sl_char_next(text, &at));
        leads = leads && blank;
        spaces.leading += leads;
        spaces.trailing = blank ? spaces.trailing + 1 : 0;
    }
    return spaces;
}

static void emit(const struct pipeline *p, struct sl_encoder_output *output, int32_t id,
                 struct sl_origin origin, struct sl_piece text)
{
    struct sl_token_offset offset = {.start = origin.start, .stop = origin.stop};
    struct sl_token_spaces spaces = {0};
    if (p->tokenizer.post.trim_count > 0)
        spaces = count_spaces(text.text, text.bytes);
    sl_encoder_emit_spaced(output, id, offset, spaces);
}

static bool emit_word(const struct pipeline *p, struct scratch *s, const struct sl_split *split,
                      struct sl_encoder_output *output)
{
    const struct sl_text_view *view = &s->work.view;
    if (!sl_token_model_encode(&p->model, view->text + split->start, split->stop - split->start,
                               &s->model))
        return false;
    for (size_t i = 0; i < s->model.count; i++) {
        const struct sl_model_token *token = &s->model.tokens[i];
        emit(p, output, token->id,
             sl_text_range(view, split->start + token->start, split->start + token->stop),
             p->tokenizer.pieces[token->id]);
    }
    return true;
}

static void emit_added(const struct pipeline *p, const struct sl_text_view *view,
                       const struct sl_split *split, struct sl_encoder_output *output)
{
    emit(p, output, split->id, sl_text_range(view, split->start, split->stop),
         (struct sl_piece){view->text + split->start, split->stop - split->start});
}

/* -- texts ------------------------------------------------------------------------------------ */

static bool encode_words(const struct pipeline *p, struct scratch *s,
                         struct sl_encoder_output *output, struct sl_err *err)
{
    struct sl_split_text *work = &s->work;
    const struct sl_encoding *job = output->job;
    const struct sl_added_search search = {&work->view, job->plain, job->plain_count};
    work->splits.count = 0;
    sl_added_matcher_split(&p->normalized, &search,
                           (struct sl_origin){0, (uint32_t)work->view.bytes}, &work->splits);
    for (int i = 0; i < p->pre_tokenizer_count && !sl_split_text_failed(work); i++)
        sl_pre_tokenizer_step_apply(&p->pre_tokenizers[i], work);
    if (sl_split_text_failed(work))
        return fail_memory(err);
    for (size_t i = 0; i < work->splits.count; i++) {
        const struct sl_split *split = &work->splits.items[i];
        if (split->id >= 0)
            emit_added(p, &work->view, split, output);
        else if (!emit_word(p, s, split, output))
            return sl_fail(err, SL_BAD_INPUT,
                           "byte %u begins text that is not in the vocabulary, which has no token "
                           "for unknown text",
                           sl_text_origin(&work->view, split->start).start + 1);
    }
    return !s->model.failed || fail_memory(err);
}

static bool encode_text(const struct pipeline *p, struct scratch *s, const struct sl_split *split,
                        struct sl_encoder_output *output, struct sl_err *err)
{
    if (p->is_bert) {
        sl_bert_words_encode(&p->bert, output, split->start, split->stop);
        return true;
    }
    s->work.view = (struct sl_text_view){.text = output->job->text + split->start,
                                         .bytes = split->stop - split->start,
                                         .base = split->start};
    normalize(p, &s->work);
    return encode_words(p, s, output, err);
}

static bool encode_splits(const struct pipeline *p, struct scratch *s,
                          struct sl_encoder_output *output, struct sl_err *err)
{
    const struct sl_encoding *job = output->job;
    const struct sl_text_view view = {.text = job->text, .bytes = job->bytes};
    const struct sl_added_search search = {&view, job->plain, job->plain_count};
    sl_added_matcher_split(&p->original, &search, (struct sl_origin){0, (uint32_t)job->bytes},
                           &s->original);
    if (s->original.failed)
        return fail_memory(err);
    for (size_t i = 0; i < s->original.count; i++) {
        const struct sl_split *split = &s->original.items[i];
        if (split->id >= 0)
            emit_added(p, &view, split, output);
        else if (!encode_text(p, s, split, output, err))
            return false;
    }
    return true;
}

static void scratch_release(struct scratch *s)
{
    sl_splits_release(&s->original);
    sl_split_text_release(&s->work);
    sl_model_scratch_release(&s->model);
}

static bool pipeline_encode(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *output,
                            struct sl_err *err)
{
    const struct pipeline *p = (const struct pipeline *)tokenizer;
    const struct sl_encoding *job = output->job;
    if (job->bytes > SL_PIPELINE_TEXT_MAX)
        return sl_fail(err, SL_BAD_INPUT, "a text of %zu bytes: expected at most %d", job->bytes,
                       SL_PIPELINE_TEXT_MAX);
    if (!sl_utf8_check(job->text, job->bytes, err))
        return false;
    struct scratch s = {0};
    bool ok = encode_splits(p, &s, output, err);
    scratch_release(&s);
    return ok;
}

/* -- decoding --------------------------------------------------------------------------------- */

static size_t copy_text(const struct sl_token_texts *texts, char *text, size_t capacity)
{
    if (capacity > 0 && texts->bytes > 0)
        memcpy(text, texts->text, texts->bytes < capacity ? texts->bytes : capacity);
    return texts->bytes;
}

static long pipeline_decode(const struct sl_tokenizer *tokenizer,
                            const struct sl_decoding *decoding, struct sl_err *err)
{
    const struct pipeline *p = (const struct pipeline *)tokenizer;
    struct sl_token_texts texts = {0}, other = {0};
    long bytes = -1;
    for (long i = 0; i < decoding->count; i++)
        if (decoding->pieces)
            sl_token_texts_add(&texts, decoding->pieces[i]);
        else if (!decoding->skip_special || !p->is_special[decoding->ids[i]])
            sl_token_texts_add(&texts, p->decoded[decoding->ids[i]]);
    sl_decoder_apply(&p->decoder, (struct sl_decode_context){.first = true}, &texts, &other);
    if (texts.failed)
        fail_memory(err);
    else
        bytes = (long)copy_text(&texts, decoding->text, decoding->capacity);
    sl_token_texts_release(&texts);
    sl_token_texts_release(&other);
    return bytes;
}

static size_t pipeline_decode_next(const struct sl_tokenizer *tokenizer, int32_t id, bool first,
                                   char *text, size_t capacity)
{
    const struct pipeline *p = (const struct pipeline *)tokenizer;
    struct sl_token_texts texts = {0}, other = {0};
    if (p->is_special[id])
        return 0;
    sl_token_texts_add(&texts, p->decoded[id]);
    sl_decoder_apply(&p->decoder, (struct sl_decode_context){.partial = true, .first = first},
                     &texts, &other);
    size_t bytes = copy_text(&texts, text, capacity);
    sl_token_texts_release(&texts);
    sl_token_texts_release(&other);
    return bytes;
}

static bool pipeline_marks_continuations(const struct sl_tokenizer *tokenizer)
{
    return ((const struct pipeline *)tokenizer)->model.prefix_bytes > 0;
}

/* -- lifetime --------------------------------------------------------------------------------- */

static bool pipeline_open(struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    (void)tokenizer;
    return sl_fail(err, SL_BAD_INPUT, "a pipeline is more than a vocabulary");
}

static void pipeline_close(struct sl_tokenizer *tokenizer)
{
    struct pipeline *p = (struct pipeline *)tokenizer;
    sl_token_model_release(&p->model);
    sl_added_matcher_release(&p->original);
    sl_added_matcher_release(&p->normalized);
    sl_bert_words_release(&p->bert);
    for (int i = 0; i < p->normalizer_count; i++)
        sl_character_map_destroy(p->normalizers[i].map);
    for (int i = 0; i < p->added_count; i++)
        free(p->normals[i]);
    free(p->normals);
    free(p->added);
    free(p->is_special);
    free(p->decoded);
    free(p->source);
}

const struct sl_tokenizer_kind sl_tokenizer_pipeline = {
    .name = "pipeline",
    .size = sizeof(struct pipeline),
    .imported = true,
    .open = pipeline_open,
    .close = pipeline_close,
    .encode = pipeline_encode,
    .decode = pipeline_decode,
    .decode_next = pipeline_decode_next,
    .marks_continuations = pipeline_marks_continuations,
};

void sl_pipeline_parts_release(struct sl_pipeline_parts *parts)
{
    for (int i = 0; i < parts->normalizer_count; i++)
        sl_character_map_destroy(parts->normalizers[i].map);
    parts->normalizer_count = 0;
}

const char *sl_pipeline_source(const struct sl_tokenizer *tokenizer)
{
    assert(tokenizer->kind == &sl_tokenizer_pipeline);
    return ((const struct pipeline *)tokenizer)->source;
}

/* All pieces by id: the model's, and the added ones. The caller frees the list. */
static struct sl_piece *pieces_list(const struct sl_pipeline_parts *parts, int *count,
                                    struct sl_err *err)
{
    *count = parts->model.count;
    for (int i = 0; i < parts->added_count; i++)
        if (parts->added[i].id >= *count)
            *count = parts->added[i].id + 1;
    struct sl_piece *pieces = calloc((size_t)*count + 1, sizeof *pieces);
    if (!pieces) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %d pieces", *count);
        return NULL;
    }
    for (int id = 0; id < parts->model.count; id++)
        pieces[id] = parts->model.pieces[id];
    for (int i = 0; i < parts->added_count; i++)
        pieces[parts->added[i].id] = parts->added[i].text;
    for (int id = 0; id < *count; id++)
        if (!pieces[id].text) {
            sl_fail(err, SL_BAD_INPUT, "no piece has the id %d", id);
            free(pieces);
            return NULL;
        }
    return pieces;
}

static void steps_take(struct pipeline *p, struct sl_pipeline_parts *parts)
{
    memcpy(p->normalizers, parts->normalizers, sizeof p->normalizers);
    memcpy(p->pre_tokenizers, parts->pre_tokenizers, sizeof p->pre_tokenizers);
    p->normalizer_count = parts->normalizer_count;
    p->pre_tokenizer_count = parts->pre_tokenizer_count;
    p->decoder = parts->decoder;
    p->tokenizer.post = parts->post;
    p->tokenizer.truncation_side = parts->side;
    parts->normalizer_count = 0;
}

/* A token is looked for in normalized text as it is itself when normalized, and is decoded to that.
 * One that changes so is no special token when it is decoded, as with Hugging Face. */
static bool normal_take(struct pipeline *p, int index, struct sl_piece text, struct sl_err *err)
{
    const struct sl_added_token *token = &p->added[index];
    char *normal = malloc(text.bytes + 1);
    if (!normal)
        return fail_memory(err);
    p->normals[index] = normal;
    memcpy(normal, text.text, text.bytes);
    normal[text.bytes] = '\0';
    if (strcmp(normal, token->text.text) != 0) {
        p->decoded[token->id] = (struct sl_piece){normal, text.bytes};
        p->is_special[token->id] = false;
    }
    return text.bytes > 0
               ? sl_added_matcher_add(&p->normalized, p->added, index,
                                      (struct sl_piece){normal, text.bytes}, err)
               : sl_fail(err, SL_BAD_INPUT, "nothing is left of it when it is normalized");
}

static bool matcher_add(struct pipeline *p, int index, struct sl_err *err)
{
    const struct sl_added_token *token = &p->added[index];
    struct sl_split_text work = {.view = {.text = token->text.text, .bytes = token->text.bytes}};
    if (!token->normalized)
        return sl_added_matcher_add(&p->original, p->added, index, token->text, err);
    normalize(p, &work);
    bool ok = !sl_split_text_failed(&work) || fail_memory(err);
    ok = ok && normal_take(p, index, (struct sl_piece){work.view.text, work.view.bytes}, err);
    sl_split_text_release(&work);
    return ok;
}

static bool added_take(struct pipeline *p, const struct sl_pipeline_parts *parts,
                       struct sl_err *err)
{
    size_t count = (size_t)parts->added_count, pieces = (size_t)p->tokenizer.count;
    p->added = calloc(count + 1, sizeof *p->added);
    p->normals = calloc(count + 1, sizeof *p->normals);
    p->is_special = calloc(pieces, sizeof *p->is_special);
    p->decoded = calloc(pieces, sizeof *p->decoded);
    if (!p->added || !p->normals || !p->is_special || !p->decoded)
        return fail_memory(err);
    p->added_count = parts->added_count;
    memcpy(p->decoded, p->tokenizer.pieces, pieces * sizeof *p->decoded);
    for (int i = 0; i < p->added_count; i++) {
        p->added[i] = parts->added[i];
        p->added[i].text = p->tokenizer.pieces[parts->added[i].id];
        p->is_special[p->added[i].id] = p->added[i].special;
        if (!matcher_add(p, i, err))
            return sl_wrap(err, "added_tokens[%d]", i);
    }
    return true;
}

/* The added token of one of two names; -1: none. */
static int32_t added_find(const struct pipeline *p, const char *name, const char *other)
{
    for (int i = 0; i < p->added_count; i++)
        if (strcmp(p->added[i].text.text, name) == 0 || strcmp(p->added[i].text.text, other) == 0)
            return p->added[i].id;
    return -1;
}

static void specials_find(struct pipeline *p, const struct sl_pipeline_parts *parts)
{
    int32_t *special = p->tokenizer.special;
    const struct sl_template *single = &parts->post.single;
    bool after = false;
    special[SL_SPECIAL_PAD] =
        parts->padding >= 0 ? parts->padding : added_find(p, "[PAD]", "<pad>");
    special[SL_SPECIAL_UNKNOWN] = p->model.unknown;
    special[SL_SPECIAL_MASK] = added_find(p, "[MASK]", "<mask>");
    for (int i = 0; i < single->count; i++) {
        enum sl_special role = after ? SL_SPECIAL_END : SL_SPECIAL_BEGIN;
        if (single->parts[i].kind != SL_TEMPLATE_SPECIAL)
            after = true;
        else if (special[role] < 0)
            special[role] = single->parts[i].id;
    }
}

/* BERT's own way, if it can take this vocabulary: otherwise the steps do the same. */
static void bert_take(struct pipeline *p, const struct sl_pipeline_parts *parts)
{
    struct sl_err ignored;
    p->is_bert = parts->is_bert && p->tokenizer.count == parts->model.count &&
                 sl_bert_words_init(&p->bert, &p->tokenizer, parts->bert_lower, &ignored);
    p->bert.unknown = p->model.unknown;
}

/* How many tokens a byte can become: those that no step makes more of are one. */
static size_t growth_of(const struct pipeline *p)
{
    enum { GROWTH_MAX = 1 << 16 };

    size_t growth = 1;
    for (int i = 0; i < p->normalizer_count && !p->is_bert && growth < GROWTH_MAX; i++)
        growth *= sl_normalizer_step_growth(&p->normalizers[i]);
    for (int i = 0; i < p->pre_tokenizer_count && growth < GROWTH_MAX; i++)
        growth *= sl_pre_tokenizer_step_growth(&p->pre_tokenizers[i]);
    return p->model.byte_fallback ? growth * (1 + p->model.prefix_bytes + p->model.suffix_bytes)
                                  : growth;
}

static bool template_check(const struct pipeline *p, const struct sl_template *template,
                           struct sl_err *err)
{
    for (int i = 0; i < template->count; i++)
        if (template->parts[i].kind == SL_TEMPLATE_SPECIAL &&
            (template->parts[i].id < 0 || template->parts[i].id >= p->tokenizer.count))
            return sl_fail(err, SL_BAD_INPUT,
                           "post_processor: id %d is not in the vocabulary of %d",
                           template->parts[i].id, p->tokenizer.count);
    return true;
}

static bool pipeline_fill(struct pipeline *p, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    steps_take(p, parts);
    p->source = sl_bytes_copy(parts->source, parts->source_bytes);
    if (!p->source)
        return fail_memory(err);
    if (!sl_token_model_init(&p->model, &parts->model, err))
        return sl_wrap(err, "model");
    if (!added_take(p, parts, err) || !template_check(p, &parts->post.single, err) ||
        !template_check(p, &parts->post.pair, err))
        return false;
    specials_find(p, parts);
    bert_take(p, parts);
    p->tokenizer.growth = growth_of(p);
    return true;
}

struct sl_tokenizer *sl_pipeline_create(struct sl_pipeline_parts *parts, struct sl_err *err)
{
    int count;
    struct sl_piece *pieces = pieces_list(parts, &count, err);
    if (!pieces)
        return NULL;
    struct sl_tokenizer *tokenizer =
        sl_tokenizer_allocate(&sl_tokenizer_pipeline, false, pieces, count, err);
    free(pieces);
    if (tokenizer && !pipeline_fill((struct pipeline *)tokenizer, parts, err)) {
        sl_tokenizer_destroy(tokenizer);
        return NULL;
    }
    return tokenizer;
}
