/* text_to_tokens.c - texts into tokens. */
#include "api/text_to_tokens.h"

#include "sluice/model.h"
#include "sluice/tokenizer.h"

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
    free(tokens->types);
    free(tokens->places);
}

size_t sv_tokens_max(const struct sv_model_ref *ref, const struct sv_tokenize_input *input)
{
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(ref->model);
    const struct sv_string *pair = input->pair;
    const size_t prompt = input->prompt ? strlen(input->prompt->text) : 0;
    return sl_tokenizer_max_tokens(tokenizer, prompt + input->text->bytes) +
           (pair ? sl_tokenizer_max_tokens(tokenizer, pair->bytes) : 0);
}

/* Returns how many tokens there is room for; 0: no memory. */
static size_t allocate(const struct sv_model_ref *ref, const struct sv_tokenize_input *input,
                       struct sv_tokens *tokens)
{
    size_t room = sv_tokens_max(ref, input);
    if (input->max > 0 && input->max < room)
        room = input->max;
    *tokens = (struct sv_tokens){.ids = calloc(room + 1, sizeof *tokens->ids)};
    if (input->pair)
        tokens->types = calloc(room + 1, sizeof *tokens->types);
    if (input->wants_places)
        tokens->places = calloc(room, sizeof *tokens->places);
    bool ok =
        tokens->ids && (!input->pair || tokens->types) && (!input->wants_places || tokens->places);
    return ok ? room : 0;
}

bool sv_tokenize(const struct sv_model_ref *ref, const struct sv_tokenize_input *input,
                 struct sv_tokens *tokens, struct sv_error *error)
{
    struct sl_err err;
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(ref->model);
    const struct sv_string *text = input->text, *pair = input->pair;
    const size_t room = allocate(ref, input, tokens);
    if (room == 0)
        return sv_fail_no_memory(error);
    const struct sl_encoding encoding = {
        .text = text->bytes > 0 ? text->data : "",
        .bytes = text->bytes,
        .prompt = input->prompt ? input->prompt->text : NULL,
        .plain = input->plain,
        .plain_count = input->plain_count,
        .pair = pair ? pair->data : NULL,
        .pair_bytes = pair ? pair->bytes : 0,
        .unknown = input->unknown,
        .special = input->adds_special,
        .max_tokens = input->truncate_to,
        .side = input->side,
        .ids = tokens->ids,
        .types = tokens->types,
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

/* A text longer than the context is rejected, unless the request allows to truncate it. */
static bool may_truncate(const struct sv_model_ref *ref, const struct sv_tokenize_options *tokenize,
                         const char *param, int given, struct sv_error *error)
{
    return tokenize->truncate ||
           sv_fail(
               error, SV_CONTEXT_LENGTH, param,
               "'%s' has %d tokens; the context of '%s' has %d. Set \"truncate\": true%s to cut "
               "its %s.",
               param, given, ref->id, sl_model_info(ref->model)->context,
               where(tokenize->in_parameters),
               cut_end(sl_model_tokenizer(ref->model), tokenize->side));
}

static bool fit(const struct sv_model_ref *ref, const struct sv_tokenize_options *tokenize,
                const char *param, struct sv_tokens *tokens, struct sv_error *error)
{
    const struct sl_model *model = ref->model;
    int context = sl_model_info(model)->context;
    if (tokens->given <= context)
        return true;
    if (!may_truncate(ref, tokenize, param, tokens->given, error))
        return false;
    tokens->count = (int)sl_tokenizer_truncate(sl_model_tokenizer(model), tokenize->side, context,
                                               tokens->ids, tokens->places, tokens->given);
    return true;
}

/* The longer text of a pair is cut, so both are tokenized again. */
static bool fit_pair(const struct sv_model_ref *ref, const struct sv_tokenize_options *tokenize,
                     struct sv_tokenize_input *input, struct sv_tokens *tokens,
                     struct sv_error *error)
{
    int given = tokens->given, context = sl_model_info(ref->model)->context;
    if (given <= context)
        return true;
    if (!may_truncate(ref, tokenize, input->param, given, error))
        return false;
    sv_tokens_release(tokens);
    input->truncate_to = context;
    input->side = tokenize->side;
    if (!sv_tokenize(ref, input, tokens, error))
        return false;
    tokens->given = given;
    return tokens->count <= context ||
           sv_fail(error, SV_CONTEXT_LENGTH, input->param,
                   "'%s' is a pair, whose special tokens alone exceed the context of '%s'.",
                   input->param, ref->id);
}

/* Shortens the second text to at most `max` tokens. */
static bool cut_second(const struct sv_model_ref *ref, size_t max,
                       const struct sv_tokenize_input *input, struct sv_string *second,
                       struct sv_error *error)
{
    struct sv_tokens tokens;
    const struct sv_tokenize_input alone = {.text = second,
                                            .param = input->param,
                                            .unknown = input->unknown,
                                            .wants_places = true,
                                            .max = max};
    bool ok = sv_tokenize(ref, &alone, &tokens, error);
    if (ok && tokens.given > tokens.count)
        second->bytes = tokens.places[tokens.count - 1].stop;
    sv_tokens_release(&tokens);
    return ok;
}

bool sv_add_decoded(struct sl_json_writer *json, const struct sl_tokenizer *tokenizer,
                    struct sl_decoding decoding, struct sl_err *err)
{
    const long bytes = sl_tokenizer_decode(tokenizer, &decoding, err);
    if (bytes < 0)
        return false;
    decoding.capacity = (size_t)bytes;
    decoding.text = malloc(decoding.capacity + 1);
    bool ok = decoding.text || sl_fail(err, SL_NO_MEMORY, "no memory for %ld bytes", bytes);
    ok = ok && sl_tokenizer_decode(tokenizer, &decoding, err) >= 0;
    if (ok)
        sl_json_add_bytes(json, decoding.text, decoding.capacity);
    free(decoding.text);
    return ok;
}

/* There are far fewer tokens than bytes, and they may wait long in the queue. */
static void shrink(int32_t **numbers, int count)
{
    void *smaller = *numbers ? realloc(*numbers, ((size_t)count + 1) * sizeof **numbers) : NULL;
    if (smaller)
        *numbers = smaller;
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
                                struct sv_tokenize_input input, struct sv_tokens *tokens,
                                struct sv_error *error)
{
    struct sv_string second = input.pair ? *input.pair : (struct sv_string){0};
    *tokens = (struct sv_tokens){0};
    input.in_parameters = tokenize->in_parameters;
    input.unknown = tokenize->unknown;
    input.adds_special = true;
    if (input.pair && tokenize->second_max > 0) {
        if (!cut_second(ref, (size_t)tokenize->second_max, &input, &second, error))
            return false;
        input.pair = &second;
    }
    if (!sv_tokenize(ref, &input, tokens, error))
        return false;
    if (!sl_tokenizer_has_text(sl_model_tokenizer(ref->model), tokens->ids, tokens->given))
        return take_blank(tokenize, input.param, tokens, error);
    if (!(input.pair ? fit_pair(ref, tokenize, &input, tokens, error)
                     : fit(ref, tokenize, input.param, tokens, error)))
        return false;
    shrink(&tokens->ids, tokens->count);
    shrink(&tokens->types, tokens->count);
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
