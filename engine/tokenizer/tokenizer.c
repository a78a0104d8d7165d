/* tokenizer.c - the vocabulary, and decoding by its pieces. */
#include "tokenizer/tokenizer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    tokenizer->growth = 1;
    for (int i = 0; i < SL_SPECIALS; i++)
        tokenizer->special[i] = -1;
    return tokenizer;
}

struct sl_tokenizer *sl_tokenizer_allocate(const struct sl_tokenizer_kind *kind, bool lower,
                                           const struct sl_piece *pieces, int count,
                                           struct sl_err *err)
{
    if (count < 1 || count > SL_VOCAB_MAX) {
        sl_fail(err, SL_BAD_INPUT, "invalid vocabulary size %d: expected 1 to %d", count,
                SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_tokenizer *tokenizer = tokens_allocate(kind, lower);
    if (!tokenizer || !pieces_copy(tokenizer, pieces, count)) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %d pieces", count);
        sl_tokenizer_destroy(tokenizer);
        return NULL;
    }
    return tokenizer;
}

struct sl_tokenizer *sl_tokenizer_open(const struct sl_tokenizer_kind *kind, bool lower,
                                       const struct sl_piece *pieces, int count, struct sl_err *err)
{
    struct sl_tokenizer *tokenizer = sl_tokenizer_allocate(kind, lower, pieces, count, err);
    if (!tokenizer)
        return NULL;
    if (!kind->open(tokenizer, err)) {
        sl_tokenizer_destroy(tokenizer);
        return NULL;
    }
    sl_post_processor_init(&tokenizer->post, tokenizer->special[SL_SPECIAL_BEGIN],
                           tokenizer->special[SL_SPECIAL_END]);
    return tokenizer;
}

void sl_tokenizer_destroy(struct sl_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    if (tokenizer->kind->close)
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

static bool ids_check(const struct sl_tokenizer *tokenizer, const struct sl_decoding *decoding,
                      struct sl_err *err)
{
    for (long i = 0; i < decoding->count && !decoding->pieces; i++)
        if (decoding->ids[i] < 0 || decoding->ids[i] >= tokenizer->count)
            return sl_fail(err, SL_BAD_INPUT, "token %ld: invalid id %d: expected 0 to %d", i,
                           decoding->ids[i], tokenizer->count - 1);
    return true;
}

long sl_tokenizer_decode(const struct sl_tokenizer *tokenizer, const struct sl_decoding *decoding,
                         struct sl_err *err)
{
    assert(decoding->count >= 0);
    assert(decoding->text || decoding->capacity == 0);
    if (!ids_check(tokenizer, decoding, err))
        return -1;
    if (tokenizer->kind->decode)
        return tokenizer->kind->decode(tokenizer, decoding, err);
    size_t used = 0;
    for (long i = 0; i < decoding->count; i++) {
        if (decoding->pieces) {
            used = piece_put(tokenizer, decoding, used, &decoding->pieces[i]);
            continue;
        }
        int32_t id = decoding->ids[i];
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

bool sl_tokenizer_marks_continuations(const struct sl_tokenizer *tokenizer)
{
    const struct sl_tokenizer_kind *kind = tokenizer->kind;
    return kind->marks_continuations ? kind->marks_continuations(tokenizer)
                                     : kind->continuation_prefix != NULL;
}

size_t sl_tokenizer_decode_next(const struct sl_tokenizer *tokenizer, int32_t id, bool first,
                                char *text, size_t capacity)
{
    assert(id >= 0 && id < tokenizer->count);
    if (tokenizer->kind->decode_next)
        return tokenizer->kind->decode_next(tokenizer, id, first, text, capacity);
    const struct sl_piece *piece = &tokenizer->pieces[id];
    if (capacity > 0)
        memcpy(text, piece->text, piece->bytes < capacity ? piece->bytes : capacity);
    return piece->bytes;
}
