/* tokenizer_kinds.c - the kinds of tokenizers, by name. */
#include "tokenizer/tokenizer_kinds.h"

#include "base/comma_list.h"

#include <assert.h>
#include <string.h>

static const struct sl_tokenizer_kind *const kinds[] = {
    &sl_tokenizer_characters, &sl_tokenizer_bytes,    &sl_tokenizer_words,
    &sl_tokenizer_wordpiece,  &sl_tokenizer_pipeline,
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct sl_tokenizer_kind *sl_tokenizer_kind_named(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const char *sl_tokenizer_kind_name(int index)
{
    assert(index >= 0);
    return index < KINDS ? kinds[index]->name : NULL;
}

const struct sl_tokenizer_kind *sl_tokenizer_kind_find(const char *name, struct sl_err *err)
{
    char known[256] = "";
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i]->imported)
            continue;
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
        sl_list_add(known, sizeof known, kinds[i]->name);
    }
    sl_fail(err, SL_BAD_INPUT, "unknown tokenizer '%.64s': expected one of: %s", name, known);
    return NULL;
}

struct sl_tokenizer *sl_tokenizer_create(const char *kind, bool lower,
                                         const struct sl_piece *pieces, int count,
                                         struct sl_err *err)
{
    const struct sl_tokenizer_kind *found = sl_tokenizer_kind_find(kind, err);
    return found ? sl_tokenizer_open(found, lower, pieces, count, err) : NULL;
}
