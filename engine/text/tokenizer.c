/* tokenizer.c - the table of kinds, and what all of them have in common: a list of pieces. */
#include "text/tokenizer.h"

#include "text/characters.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sl_tokenizer_kind *const kinds[] = {&sl_tokenizer_characters};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *sl_tokenizer_kind_name(int index)
{
    assert(index >= 0);
    return index < KINDS ? kinds[index]->name : NULL;
}

static const struct sl_tokenizer_kind *kind_find(const char *name, struct sl_err *err)
{
    char known[256] = "";
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", kinds[i]->name);
    }
    sl_fail(err, SL_BAD_INPUT, "no tokenizer kind '%.64s'; there is: %s", name, known);
    return NULL;
}

struct sl_tokenizer *sl_tokenizer_learn(const char *kind, const char *text, size_t bytes,
                                        struct sl_err *err)
{
    const struct sl_tokenizer_kind *k = kind_find(kind, err);
    return k ? k->learn(text, bytes, err) : NULL;
}

static bool pieces_copy(struct sl_tokenizer *tokens, const struct sl_piece *pieces, int count)
{
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += pieces[i].bytes + 1;
    tokens->pieces = calloc((size_t)count, sizeof *tokens->pieces);
    tokens->text = malloc(total);
    if (!tokens->pieces || !tokens->text)
        return false;

    char *out = tokens->text;
    for (int i = 0; i < count; i++) {
        memcpy(out, pieces[i].text, pieces[i].bytes);
        out[pieces[i].bytes] = '\0';
        tokens->pieces[i] = (struct sl_piece){.text = out, .bytes = pieces[i].bytes};
        out += pieces[i].bytes + 1;
    }
    tokens->count = count;
    return true;
}

struct sl_tokenizer *sl_tokenizer_create(const char *kind, const struct sl_piece *pieces, int count,
                                         struct sl_err *err)
{
    const struct sl_tokenizer_kind *k = kind_find(kind, err);
    if (!k)
        return NULL;
    if (count < 1 || count > SL_VOCAB_MAX) {
        sl_fail(err, SL_BAD_INPUT, "a vocabulary of %d pieces; 1 to %d are possible", count,
                SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_tokenizer *tokens = calloc(1, k->size);
    if (tokens)
        tokens->kind = k;
    if (!tokens || !pieces_copy(tokens, pieces, count)) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %d pieces", count);
        sl_tokenizer_destroy(tokens);
        return NULL;
    }
    if (!k->open(tokens, err)) {
        sl_tokenizer_destroy(tokens);
        return NULL;
    }
    return tokens;
}

void sl_tokenizer_destroy(struct sl_tokenizer *tokens)
{
    if (!tokens)
        return;
    tokens->kind->close(tokens);
    free(tokens->pieces);
    free(tokens->text);
    free(tokens);
}

int sl_tokenizer_size(const struct sl_tokenizer *tokens)
{
    return tokens->count;
}

const char *sl_tokenizer_kind(const struct sl_tokenizer *tokens)
{
    return tokens->kind->name;
}

/* Parameters as the public header has them. */
/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter) */
long sl_tokenizer_encode(const struct sl_tokenizer *tokens, const char *text, size_t bytes,
                         enum sl_unknown unknown, int32_t *ids, long most, struct sl_err *err)
{
    assert(most >= 0);
    assert(ids || most == 0);
    const struct sl_encoding job = {
        .text = text, .bytes = bytes, .unknown = unknown, .ids = ids, .most = most};
    return tokens->kind->encode(tokens, &job, err);
}

/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

const char *sl_tokenizer_piece(const struct sl_tokenizer *tokens, int32_t id, size_t *bytes)
{
    if (id < 0 || id >= tokens->count)
        return NULL;
    *bytes = tokens->pieces[id].bytes;
    return tokens->pieces[id].text;
}
