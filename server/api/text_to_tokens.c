/* text_to_tokens.c - texts into tokens. */
#include "api/text_to_tokens.h"

#include "sluice/model.h"
#include "sluice/tokenizer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where to set a field, for messages. */
static const char *where(bool in_parameters)
{
    return in_parameters ? " in 'parameters'" : "";
}

void sv_tokens_release(const struct sv_tokens *tokens)
{
    free(tokens->ids);
    free(tokens->places);
}

bool sv_tokenize(const struct sv_model_ref *ref, const struct sv_tokenize_input *input,
                 struct sv_tokens *tokens, struct sv_error *error)
{
    struct sl_err err;
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(ref->model);
    size_t bytes = input->text->bytes, room = sl_tokenizer_max_tokens(tokenizer, bytes);
    if (input->max > 0 && input->max < room)
        room = input->max;
    *tokens = (struct sv_tokens){.ids = calloc(room + 1, sizeof *tokens->ids)};
    if (input->wants_places)
        tokens->places = calloc(room, sizeof *tokens->places);
    if (!tokens->ids || (input->wants_places && !tokens->places))
        return sv_fail_no_memory(error);
    const struct sl_encoding encoding = {
        .text = bytes > 0 ? input->text->data : "",
        .bytes = bytes,
        .unknown = input->unknown,
        .special = input->adds_special,
        .ids = tokens->ids,
        .offsets = tokens->places,
        .capacity = (long)room,
    };
    long count = sl_tokenizer_tokenize(tokenizer, &encoding, &err);
    if (count < 0)
        return sv_fail(
            error, SV_UNKNOWN_CHARACTERS, input->param,
            "'%s' cannot be tokenized by '%s': %s. Set \"unknown_characters\": \"replace\"%s to "
            "replace them.",
            input->param, ref->id, err.text, where(input->in_parameters));
    tokens->given = (int)count;
    tokens->count = (int)(count < encoding.capacity ? count : encoding.capacity);
    return true;
}

bool sv_is_tokenizable(const struct sv_model_ref *ref, const char *text)
{
    struct sl_err err;
    return sl_tokenizer_encode(sl_model_tokenizer(ref->model), text, strlen(text), SL_UNKNOWN_FAIL,
                               NULL, 0, &err) >= 0;
}

bool sv_check_token_ids(const struct sv_model_ref *ref, const struct sv_prompt *prompt,
                        const char *param, struct sv_error *error)
{
    int vocab = sl_model_info(ref->model)->vocab;
    char place[SV_PARAM_MAX];
    for (int i = 0; i < prompt->id_count; i++) {
        if (prompt->ids[i] < vocab)
            continue;
        sv_param_name(param, true, i, place);
        return sv_fail(
            error, SV_INVALID_TOKEN, place,
            "'%s' is the token id %d; the vocabulary of '%s' has 0 to %d. Send texts, or "
            "ids of this model's own tokenizer.",
            place, (int)prompt->ids[i], ref->id, vocab - 1);
    }
    return true;
}

/* What truncation removes, for messages. */
static const char *cut_end(const struct sl_tokenizer *tokenizer, enum sl_truncation side)
{
    if (side == SL_TRUNCATE_DEFAULT)
        side = sl_tokenizer_truncation_side(tokenizer);
    return side == SL_TRUNCATE_LEFT ? "beginning" : "end";
}

/* A text longer than the context is rejected, or truncated if the request allows it. */
static bool fit(const struct sv_model_ref *ref, const struct sv_tokenize_options *tokenize,
                const char *param, struct sv_tokens *tokens, struct sv_error *error)
{
    const struct sl_model *model = ref->model;
    int context = sl_model_info(model)->context;
    if (tokens->given <= context)
        return true;
    if (!tokenize->truncate)
        return sv_fail(
            error, SV_CONTEXT_LENGTH, param,
            "'%s' has %d tokens; the context of '%s' has %d. Set \"truncate\": true%s to cut its "
            "%s.",
            param, tokens->given, ref->id, context, where(tokenize->in_parameters),
            cut_end(sl_model_tokenizer(model), tokenize->side));
    tokens->count = (int)sl_tokenizer_truncate(sl_model_tokenizer(model), tokenize->side, context,
                                               tokens->ids, tokens->places, tokens->given);
    return true;
}

/* There are far fewer tokens than bytes, and they may wait long in the queue. */
static void shrink(struct sv_tokens *tokens)
{
    void *smaller = realloc(tokens->ids, ((size_t)tokens->count + 1) * sizeof *tokens->ids);
    if (smaller)
        tokens->ids = smaller;
}

/* The token is computed like any other, which keeps texts and results in step. */
static bool take_blank(const struct sv_tokenize_options *tokenize, const char *param,
                       struct sv_tokens *tokens, struct sv_error *error)
{
    if (tokenize->blanks == SV_BLANKS_FAIL)
        return sv_fail(error, SV_EMPTY_INPUT, param, "'%s' is empty: it has no tokens.", param);
    tokens->ids[0] = 0;
    tokens->given = 0;
    tokens->count = 1;
    return true;
}

bool sv_tokenize_for_classifier(const struct sv_model_ref *ref,
                                const struct sv_tokenize_options *tokenize,
                                const struct sv_string *text, const char *param,
                                struct sv_tokens *tokens, struct sv_error *error)
{
    const struct sv_tokenize_input input = {.text = text,
                                            .param = param,
                                            .in_parameters = tokenize->in_parameters,
                                            .unknown = tokenize->unknown,
                                            .adds_special = true,
                                            .wants_places = tokens->wants_places};
    if (!sv_tokenize(ref, &input, tokens, error))
        return false;
    if (!sl_tokenizer_has_text(sl_model_tokenizer(ref->model), tokens->ids, tokens->given))
        return take_blank(tokenize, param, tokens, error);
    if (!fit(ref, tokenize, param, tokens, error))
        return false;
    shrink(tokens);
    return true;
}

bool sv_take_token_ids(const struct sv_model_ref *ref, const struct sv_tokenize_options *tokenize,
                       const struct sv_prompt *text, const char *param, struct sv_tokens *tokens,
                       struct sv_error *error)
{
    size_t count = (size_t)text->id_count;
    *tokens = (struct sv_tokens){.ids = calloc(count + 1, sizeof *tokens->ids),
                                 .given = text->id_count,
                                 .count = text->id_count};
    if (!tokens->ids)
        return sv_fail_no_memory(error);
    if (count == 0)
        return sv_fail(error, SV_EMPTY_INPUT, param, "'%s' is empty: it has no tokens.", param);
    memcpy(tokens->ids, text->ids, count * sizeof *tokens->ids);
    return sv_check_token_ids(ref, text, param, error) && fit(ref, tokenize, param, tokens, error);
}
