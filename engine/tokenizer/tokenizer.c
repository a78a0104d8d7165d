/* tokenizer.c - the table of kinds, and what all kinds share: the vocabulary and decoding. */
#include "tokenizer/tokenizer.h"
#include "base/comma_list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sl_tokenizer_kind *const kinds[] = {
    &sl_tokenizer_characters,
    &sl_tokenizer_bytes,
    &sl_tokenizer_words,
    &sl_tokenizer_wordpiece,
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *sl_tokenizer_kind_name(int index)
{
    assert(index >= 0);
    return index < KINDS ? kinds[index]->name : NULL;
}

const struct sl_tokenizer_kind *sl_tokenizer_kind_find(const char *name, struct sl_err *err)
{
    char known[256] = "";
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
        sl_list_add(known, sizeof known, kinds[i]->name);
    }
    sl_fail(err, SL_BAD_INPUT, "unknown tokenizer '%.64s': expected one of: %s", name, known);
    return NULL;
}

static bool pieces_copy(struct sl_tokenizer *tokenizer, const struct sl_piece *pieces, int count)
{
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += pieces[i].bytes + 1;
    tokenizer->pieces = calloc((size_t)count, sizeof *tokenizer->pieces);
    tokenizer->text = malloc(total);
    if (!tokenizer->pieces || !tokenizer->text)
        return false;

    char *out = tokenizer->text;
    for (int i = 0; i < count; i++) {
        memcpy(out, pieces[i].text, pieces[i].bytes);
        out[pieces[i].bytes] = '\0';
        tokenizer->pieces[i] = (struct sl_piece){.text = out, .bytes = pieces[i].bytes};
        out += pieces[i].bytes + 1;
    }
    tokenizer->count = count;
    return true;
}

static struct sl_tokenizer *tokens_allocate(const struct sl_tokenizer_kind *kind, bool lower)
{
    struct sl_tokenizer *tokenizer = calloc(1, kind->size);
    if (!tokenizer)
        return NULL;
    tokenizer->kind = kind;
    tokenizer->lower = lower && kind->split_words;
    for (int i = 0; i < SL_SPECIALS; i++)
        tokenizer->special[i] = -1;
    return tokenizer;
}

struct sl_tokenizer *sl_tokenizer_create(const char *kind, bool lower,
                                         const struct sl_piece *pieces, int count,
                                         struct sl_err *err)
{
    const struct sl_tokenizer_kind *k = sl_tokenizer_kind_find(kind, err);
    if (!k)
        return NULL;
    if (count < 1 || count > SL_VOCAB_MAX) {
        sl_fail(err, SL_BAD_INPUT, "invalid vocabulary size %d: expected 1 to %d", count,
                SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_tokenizer *tokenizer = tokens_allocate(k, lower);
    if (!tokenizer || !pieces_copy(tokenizer, pieces, count)) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %d pieces", count);
        sl_tokenizer_destroy(tokenizer);
        return NULL;
    }
    if (!k->open(tokenizer, err)) {
        sl_tokenizer_destroy(tokenizer);
        return NULL;
    }
    return tokenizer;
}

void sl_tokenizer_destroy(struct sl_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    tokenizer->kind->close(tokenizer);
    free(tokenizer->pieces);
    free(tokenizer->text);
    free(tokenizer);
}

int sl_tokenizer_size(const struct sl_tokenizer *tokenizer)
{
    return tokenizer->count;
}

const char *sl_tokenizer_kind(const struct sl_tokenizer *tokenizer)
{
    return tokenizer->kind->name;
}

int32_t sl_tokenizer_special(const struct sl_tokenizer *tokenizer, enum sl_special which)
{
    assert(which < SL_SPECIALS);
    return tokenizer->special[which];
}

bool sl_tokenizer_has_text(const struct sl_tokenizer *tokenizer, const int32_t *ids, long count)
{
    int32_t begin = tokenizer->special[SL_SPECIAL_BEGIN], end = tokenizer->special[SL_SPECIAL_END];
    for (long i = 0; i < count; i++)
        if (ids[i] != begin && ids[i] != end)
            return true;
    return false;
}

/* -- encoding --------------------------------------------------------------------------------- */

void sl_encoder_emit(struct sl_encoder_output *sink, int32_t id, struct sl_token_offset place)
{
    const struct sl_encoding *job = sink->job;
    if (sink->count < job->capacity) {
        job->ids[sink->count] = id;
        if (job->offsets)
            job->offsets[sink->count] = place;
    }
    sink->count++;
}

static void special_put(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *sink,
                        enum sl_special which)
{
    int32_t id = tokenizer->special[which];
    if (sink->job->special && id >= 0)
        sl_encoder_emit(sink, id, (struct sl_token_offset){.special = true});
}

long sl_tokenizer_tokenize(const struct sl_tokenizer *tokenizer, const struct sl_encoding *encoding,
                           struct sl_err *err)
{
    assert(encoding->capacity >= 0);
    assert(encoding->ids || encoding->capacity == 0);
    struct sl_encoder_output sink = {.job = encoding};
    special_put(tokenizer, &sink, SL_SPECIAL_BEGIN);
    if (!tokenizer->kind->encode(tokenizer, &sink, err))
        return -1;
    special_put(tokenizer, &sink, SL_SPECIAL_END);
    return sink.count;
}

/* Parameters as the public header has them. */
/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter) */
size_t sl_tokenizer_max_tokens(size_t bytes)
{
    return bytes + 2;
}

long sl_tokenizer_encode(const struct sl_tokenizer *tokenizer, const char *text, size_t bytes,
                         enum sl_unknown unknown, int32_t *ids, long max, struct sl_err *err)
{
    const struct sl_encoding job = {
        .text = text, .bytes = bytes, .unknown = unknown, .ids = ids, .capacity = max};
    return sl_tokenizer_tokenize(tokenizer, &job, err);
}

/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

/* -- decoding --------------------------------------------------------------------------------- */

static bool is_special(const struct sl_tokenizer *tokenizer, int32_t id)
{
    for (int i = 0; i < SL_SPECIALS; i++)
        if (tokenizer->special[i] == id)
            return true;
    return false;
}

/* Appends as much as fits; returns the length of the whole text, as snprintf does. */
static size_t text_put(const struct sl_decoding *job, size_t used, const char *bytes, size_t count)
{
    if (used < job->capacity)
        memcpy(job->text + used, bytes,
               count < job->capacity - used ? count : job->capacity - used);
    return used + count;
}

static bool begins(const struct sl_piece *piece, const char *with)
{
    size_t length = strlen(with);
    return piece->bytes >= length && memcmp(piece->text, with, length) == 0;
}

/* Whether a piece follows the previous one without a space. */
static bool attaches(const struct sl_tokenizer_kind *kind, const struct sl_piece *piece)
{
    const char *const *with = kind->no_space_before;
    while (with && *with && !begins(piece, *with))
        with++;
    return with && *with;
}

/* Appends a piece to `used` bytes of text, with a space before it where the kind has one. */
static size_t piece_put(const struct sl_tokenizer *tokenizer, const struct sl_decoding *job,
                        size_t used, const struct sl_piece *piece)
{
    const char *continuation_prefix = tokenizer->kind->continuation_prefix;
    size_t length = continuation_prefix ? strlen(continuation_prefix) : 0;
    if (used == 0 || !tokenizer->kind->join_with_space)
        return text_put(job, used, piece->text, piece->bytes);
    if (continuation_prefix && piece->bytes > length && begins(piece, continuation_prefix))
        return text_put(job, used, piece->text + length, piece->bytes - length);
    if (!attaches(tokenizer->kind, piece))
        used = text_put(job, used, " ", 1);
    return text_put(job, used, piece->text, piece->bytes);
}

long sl_tokenizer_decode(const struct sl_tokenizer *tokenizer, const struct sl_decoding *decoding,
                         struct sl_err *err)
{
    assert(decoding->count >= 0);
    assert(decoding->text || decoding->capacity == 0);
    size_t used = 0;
    for (long i = 0; i < decoding->count; i++) {
        int32_t id = decoding->ids[i];
        if (id < 0 || id >= tokenizer->count) {
            sl_fail(err, SL_BAD_INPUT, "token %ld: invalid id %d: expected 0 to %d", i, id,
                    tokenizer->count - 1);
            return -1;
        }
        if (!decoding->skip_special || !is_special(tokenizer, id))
            used = piece_put(tokenizer, decoding, used, &tokenizer->pieces[id]);
    }
    return (long)used;
}

const char *sl_tokenizer_piece(const struct sl_tokenizer *tokenizer, int32_t id, size_t *bytes)
{
    if (id < 0 || id >= tokenizer->count)
        return NULL;
    *bytes = tokenizer->pieces[id].bytes;
    return tokenizer->pieces[id].text;
}

/* Moves `count` ids, and their offsets, within the arrays. */
static void shift(int32_t *ids, struct sl_token_offset *places, long from, long to, long count)
{
    memmove(ids + to, ids + from, (size_t)count * sizeof *ids);
    if (places)
        memmove(places + to, places + from, (size_t)count * sizeof *places);
}

enum sl_truncation sl_tokenizer_truncation_side(const struct sl_tokenizer *tokenizer)
{
    return tokenizer->truncation_side == SL_TRUNCATE_LEFT ? SL_TRUNCATE_LEFT : SL_TRUNCATE_RIGHT;
}

void sl_tokenizer_set_truncation(struct sl_tokenizer *tokenizer, enum sl_truncation side)
{
    if (side != SL_TRUNCATE_DEFAULT)
        tokenizer->truncation_side = side;
}

long sl_tokenizer_truncate(const struct sl_tokenizer *tokenizer, enum sl_truncation side, long max,
                           int32_t *ids, struct sl_token_offset *offsets, long count)
{
    assert(max >= 2);
    if (count <= max)
        return count;
    int32_t begin = tokenizer->special[SL_SPECIAL_BEGIN], end = tokenizer->special[SL_SPECIAL_END];
    long head = begin >= 0 && ids[0] == begin, tail = end >= 0 && ids[count - 1] == end;
    if (side == SL_TRUNCATE_DEFAULT)
        side = sl_tokenizer_truncation_side(tokenizer);
    if (side == SL_TRUNCATE_LEFT)
        shift(ids, offsets, count - (max - head), head, max - head);
    else
        shift(ids, offsets, count - tail, max - tail, tail);
    return max;
}
