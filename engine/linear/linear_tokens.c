/* linear_tokens.c - roles and spellings of tokens, from their text. */
#include "linear/linear_tokens.h"

#include "base/utf8.h"
#include "tokenizer/normalizer.h"

#include <stdlib.h>
#include <string.h>

static bool is_special(const struct sl_tokenizer *tokens, int32_t id)
{
    for (int i = 0; i < SL_SPECIALS; i++)
        if (tokens->special[i] == id)
            return true;
    return false;
}

static enum sl_token_role role_of(const struct sl_tokenizer *tokens, int32_t id)
{
    const char *prefix = tokens->kind->continuation_prefix;
    const struct sl_piece *piece = &tokens->pieces[id];
    size_t at = 0;
    uint32_t point = 0;
    if (is_special(tokens, id))
        return id == tokens->special[SL_SPECIAL_UNKNOWN] ? SL_TOKEN_WORD : SL_TOKEN_SKIPPED;
    if (prefix && piece->bytes > strlen(prefix) && memcmp(piece->text, prefix, strlen(prefix)) == 0)
        return SL_TOKEN_CONTINUES;
    if (!sl_utf8_next(piece->text, piece->bytes, &at, &point))
        return SL_TOKEN_WORD;
    return sl_codepoint_kind(point) == SL_CODEPOINT_PUNCTUATION ? SL_TOKEN_SKIPPED : SL_TOKEN_WORD;
}

void sl_linear_tokens_set_roles(struct sl_bag_of_words *m, const struct sl_tokenizer *tokens)
{
    for (int32_t id = 0; id < m->roles->cols; id++)
        m->roles->data[id] = (float)role_of(tokens, id);
}

void sl_linear_tokens_drop_special(struct sl_bag_of_words *m, const struct sl_tokenizer *tokens)
{
    for (int32_t id = 0; m->token_weights && id < m->token_weights->cols; id++)
        for (int view = 0; view < SL_BAG_VIEWS; view++)
            if (is_special(tokens, id))
                m->token_weights->data[view * m->token_weights->cols + id] = 0.0f;
}

bool sl_linear_tokens_can_spell(const struct sl_tokenizer *tokens)
{
    return tokens->kind->continuation_prefix;
}

static void spell(const struct sl_tokenizer *tokens, int32_t id, float *spelling)
{
    const char *prefix = tokens->kind->continuation_prefix;
    const struct sl_piece *piece = &tokens->pieces[id];
    size_t at = 0;
    uint32_t point;
    if (is_special(tokens, id))
        return;
    if (role_of(tokens, id) == SL_TOKEN_CONTINUES)
        at = strlen(prefix);
    for (int i = 0; i < SL_SPELLING_CHARACTERS && at < piece->bytes; i++) {
        if (!sl_utf8_next(piece->text, piece->bytes, &at, &point))
            return;
        sl_spelling_set(spelling, i, point);
    }
}

bool sl_linear_tokens_spell(struct sl_parameter *spellings, const struct sl_tokenizer *tokens,
                            struct sl_err *err)
{
    const int vocab = sl_tokenizer_size(tokens);
    *spellings = (struct sl_parameter){.rows = 1, .cols = vocab * SL_SPELLING_FLOATS};
    spellings->data = calloc((size_t)spellings->cols, sizeof *spellings->data);
    if (!spellings->data)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the spelling of %d tokens", vocab);
    for (int32_t id = 0; id < vocab; id++)
        spell(tokens, id, spellings->data + (size_t)id * SL_SPELLING_FLOATS);
    return true;
}
