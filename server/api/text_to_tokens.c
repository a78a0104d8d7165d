/* text_to_tokens.c - texts into tokens. */
#include "api/text_to_tokens.h"

#include "sluice/model.h"
#include "sluice/tokens.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For hints at a member of the request. */
static const char *where(bool in_parameters)
{
    return in_parameters ? " in 'parameters'" : "";
}

void sv_tokens_release(const struct sv_tokens *tokens)
{
    free(tokens->ids);
    free(tokens->places);
}

bool sv_tokenize(const struct sv_served *served, const struct sv_matter *matter,
                 struct sv_tokens *tokens, struct sv_problem *problem)
{
    struct sl_err err;
    size_t bytes = matter->text->bytes, room = sl_tokenizer_room(bytes);
    if (matter->most > 0 && matter->most < room)
        room = matter->most;
    *tokens = (struct sv_tokens){.ids = calloc(room, sizeof *tokens->ids)};
    if (matter->wants_places)
        tokens->places = calloc(room, sizeof *tokens->places);
    if (!tokens->ids || (matter->wants_places && !tokens->places))
        return sv_out_of_memory(problem);
    const struct sl_encoding encoding = {
        .text = bytes > 0 ? matter->text->data : "",
        .bytes = bytes,
        .unknown = matter->replaces_unknown ? SL_UNKNOWN_REPLACE : SL_UNKNOWN_FAIL,
        .special = matter->adds_special,
        .ids = tokens->ids,
        .places = tokens->places,
        .most = (long)room,
    };
    long count =
        sl_tokenizer_tokenize(sl_model_tokenizer(sv_served_model(served)), &encoding, &err);
    if (count < 0)
        return sv_refuse(problem, SV_UNKNOWN_CHARACTERS, matter->param,
                         "'%s' cannot be read by '%s': %s. With \"unknown_characters\": "
                         "\"replace\"%s they are replaced.",
                         matter->param, sv_served_id(served), err.text,
                         where(matter->in_parameters));
    tokens->given = (int)count;
    tokens->count = (int)(count < encoding.most ? count : encoding.most);
    return true;
}

bool sv_can_read(const struct sv_served *served, const char *text)
{
    struct sl_err err;
    return sl_tokenizer_encode(sl_model_tokenizer(sv_served_model(served)), text, strlen(text),
                               SL_UNKNOWN_FAIL, NULL, 0, &err) >= 0;
}

bool sv_check_ids(const struct sv_served *served, const struct sv_prompt *prompt, const char *param,
                  struct sv_problem *problem)
{
    int vocab = sl_model_facts(sv_served_model(served)).vocab;
    char place[SV_PARAM_MAX];
    for (int i = 0; i < prompt->id_count; i++) {
        if (prompt->ids[i] < vocab)
            continue;
        sv_param(param, true, i, place);
        return sv_refuse(problem, SV_BAD_TOKEN, place,
                         "'%s' is the token id %d, the vocabulary of '%s' has 0 to %d.", place,
                         (int)prompt->ids[i], sv_served_id(served), vocab - 1);
    }
    return true;
}

/* A text longer than the context is refused, or cut when the request says so. */
static bool fit(const struct sv_served *served, const struct sv_reading *reading, const char *param,
                struct sv_tokens *tokens, struct sv_problem *problem)
{
    const struct sl_model *model = sv_served_model(served);
    int context = sl_model_facts(model).context;
    if (tokens->given <= context)
        return true;
    if (!reading->truncate)
        return sv_refuse(
            problem, SV_CONTEXT_LENGTH, param,
            "'%s' has %d tokens, the context of '%s' has %d. With \"truncate\": true%s "
            "it is cut at its %s.",
            param, tokens->given, sv_served_id(served), context, where(reading->in_parameters),
            reading->from_left ? "beginning" : "end");
    tokens->count = (int)sl_tokenizer_cut(sl_model_tokenizer(model),
                                          reading->from_left ? SL_KEEP_LAST : SL_KEEP_FIRST,
                                          context, tokens->ids, NULL, tokens->given);
    return true;
}

/* A text has far fewer tokens than bytes, and a cut one fewer still; they may wait for long. */
static void give_back_room(struct sv_tokens *tokens)
{
    void *smaller = realloc(tokens->ids, ((size_t)tokens->count + 1) * sizeof *tokens->ids);
    if (smaller)
        tokens->ids = smaller;
}

bool sv_encode(const struct sv_served *served, const struct sv_reading *reading,
               const struct sv_string *text, const char *param, struct sv_tokens *tokens,
               struct sv_problem *problem)
{
    const struct sv_matter matter = {.text = text,
                                     .param = param,
                                     .in_parameters = reading->in_parameters,
                                     .replaces_unknown = reading->replaces_unknown,
                                     .adds_special = true};
    if (!sv_tokenize(served, &matter, tokens, problem))
        return false;
    if (!sl_tokenizer_has_text(sl_model_tokenizer(sv_served_model(served)), tokens->ids,
                               tokens->given))
        return sv_refuse(problem, SV_EMPTY, param,
                         "'%s' has no tokens: there is nothing to classify.", param);
    if (!fit(served, reading, param, tokens, problem))
        return false;
    give_back_room(tokens);
    return true;
}
