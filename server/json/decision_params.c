/* decision_params.c - what POST /v1/decisions can be asked. */
#include "json/decision_params.h"

#include <stdio.h>
#include <string.h>

static const struct sv_field choice_fields[] = {
    {.name = "value",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_string_or_bool,
     .offset = offsetof(struct sv_choice, value),
     .max = SV_NAME_BYTES_MAX,
     .required = true},
    {.name = "description", .kind = SV_FIELD_IGNORED, .max = SV_TEXT_BYTES_MAX},
    {.kind = SV_FIELD_END},
};

static const struct sv_field level_fields[] = {
    {.name = "label",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct sv_level, label),
     .max = SV_NAME_BYTES_MAX,
     .required = true},
    {.name = "description", .kind = SV_FIELD_IGNORED, .max = SV_TEXT_BYTES_MAX},
    {.kind = SV_FIELD_END},
};

static const struct sv_field question_fields[] = {
    {.name = "type",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct sv_question, type_name),
     .max = SV_KEYWORD_BYTES_MAX,
     .required = true},
    {.name = "name",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct sv_question, name),
     .max = SV_NAME_BYTES_MAX},
    {.name = "instructions",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_content,
     .offset = offsetof(struct sv_question, instructions),
     .required = true},
    {.name = "choices",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_list,
     .offset = offsetof(struct sv_question, choices),
     .min = 2,
     .max = SV_CHOICES_MAX,
     .inner = choice_fields,
     .size = sizeof(struct sv_choice)},
    {.name = "levels",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_list,
     .offset = offsetof(struct sv_question, levels),
     .min = 2,
     .max = SV_CHOICES_MAX,
     .inner = level_fields,
     .size = sizeof(struct sv_level)},
    {.kind = SV_FIELD_END},
};

#define AT(member) offsetof(struct sv_decision_params, member)

static const struct sv_field fields[] = {
    {.name = "model",
     .kind = SV_FIELD_STRING,
     .offset = AT(model),
     .max = SV_NAME_BYTES_MAX,
     .required = true},
    {.name = "input",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_messages,
     .offset = AT(input),
     .required = true},
    {.name = "questions",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_list,
     .offset = AT(questions),
     .min = 1,
     .max = SV_QUESTIONS_MAX,
     .inner = question_fields,
     .size = sizeof(struct sv_question),
     .required = true},
    SV_TOKENIZE_FIELDS(sv_decision_params, tokenize),
    {.name = "prompt_cache_key", .kind = SV_FIELD_IGNORED, .max = SV_NAME_BYTES_MAX},
    {.name = "safety_identifier", .kind = SV_FIELD_IGNORED, .max = SV_NAME_BYTES_MAX},
    {.name = "prompt_cache_options",
     .kind = SV_FIELD_UNSUPPORTED,
     .advice = "Nothing is cached here; leave it out."},
    {.kind = SV_FIELD_END},
};

/* A question has what its type needs, and nothing else. */
static bool check_question(struct sv_question *question, int index, struct sv_error *error)
{
    static const char *const types[] = {
        [SV_CHOICE] = "choice", [SV_SCORE] = "score", [SV_PREDICATE] = "predicate"};
    char param[SV_PARAM_MAX];
    int type = 0;
    (void)snprintf(param, sizeof param, "questions[%d].type", index);
    while (type <= SV_PREDICATE && strcmp(types[type], question->type_name.data) != 0)
        type++;
    if (type > SV_PREDICATE)
        return sv_fail(error, SV_INVALID_VALUE, param,
                       "'%s' must be \"choice\", \"score\" or \"predicate\", not \"%s\".", param,
                       question->type_name.data);
    (void)snprintf(param, sizeof param, "questions[%d]", index);
    question->type = (enum sv_question_type)type;
    if ((question->choices.count > 0) == (type == SV_CHOICE) &&
        (question->levels.count > 0) == (type == SV_SCORE))
        return true;
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s' is a %s: it must have %s.", param,
                   types[type],
                   type == SV_CHOICE  ? "'choices' and no 'levels'"
                   : type == SV_SCORE ? "'levels' and no 'choices'"
                                      : "neither 'choices' nor 'levels'");
}

static bool check(void *to, struct sv_error *error)
{
    struct sv_decision_params *params = to;
    struct sv_question *questions = params->questions.items;
    if (params->model.bytes == 0)
        return sv_fail(error, SV_INVALID_VALUE, "model", "'model' is empty.");
    for (int i = 0; i < params->questions.count; i++)
        if (!check_question(&questions[i], i, error))
            return false;
    return sv_tokenize_options_check(&params->tokenize, error);
}

struct sv_document *sv_decision_params_read(const struct sl_buffer *body,
                                            struct sv_decision_params *params,
                                            struct sv_error *error)
{
    *params = (struct sv_decision_params){0};
    return sv_json_read(body, fields, check, params, error);
}
