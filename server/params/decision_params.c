/* decision_params.c - the fields of POST /v1/decisions. */
#include "params/decision_params.h"
#include "params/hypotheses.h"

#include <stdio.h>

static const struct sv_field choice_fields[] = {
    SV_CUSTOM_FIELD("value", sv_type_string_or_bool, offsetof(struct sv_choice, value), 0,
                    SV_NAME_BYTES_MAX, .required = true,
                    .help = "label that may be chosen, or true or false"),
    SV_IGNORED_FIELD("description", SV_TEXT_BYTES_MAX),
    {.kind = SV_FIELD_END},
};

static const struct sv_field level_fields[] = {
    SV_FIELD("label", STRING, offsetof(struct sv_level, label), 0, SV_NAME_BYTES_MAX,
             .required = true, .help = "label of the level"),
    SV_IGNORED_FIELD("description", SV_TEXT_BYTES_MAX),
    {.kind = SV_FIELD_END},
};

static const char *const question_types[] =
    {[SV_CHOICE] = "choice", [SV_SCORE] = "score", [SV_PREDICATE] = "predicate", NULL};

static const struct sv_field question_fields[] = {
    SV_ENUM_FIELD("type", offsetof(struct sv_question, type), SV_CHOICE, question_types,
                  .required = true, .help = "kind of question"),
    SV_FIELD("name", STRING, offsetof(struct sv_question, name), 0, SV_NAME_BYTES_MAX,
             .help = "name to repeat in the answer"),
    SV_CUSTOM_FIELD("instructions", sv_type_content, offsetof(struct sv_question, instructions), 1,
                    SV_PARTS_MAX, .required = true, .subfields = sv_part_fields,
                    .help = "label to ask for, if the type is \"predicate\"; else ignored"),
    SV_LIST_FIELD("choices", offsetof(struct sv_question, choices), 2, SV_CHOICES_MAX,
                  choice_fields, struct sv_choice,
                  .help = "labels to choose from, if the type is \"choice\""),
    SV_LIST_FIELD("levels", offsetof(struct sv_question, levels), 2, SV_CHOICES_MAX, level_fields,
                  struct sv_level,
                  .help = "all labels in order, if the type is \"score\"; any by entailment"),
    {.kind = SV_FIELD_END},
};

#define AT(member) offsetof(struct sv_decision_params, member)

static const struct sv_field sluice_fields[] = {
    SV_EXPLAIN_FIELD(AT(explain)),
    SV_DEPTH_FIELD(AT(depths)),
    SV_BUDGET_FIELD(sv_decision_params, budget),
    SV_HYPOTHESIS_TEMPLATE_FIELD(AT(hypothesis_template)),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_decision_fields[] = {
    SV_FIELD("model", STRING, AT(model), 0, SV_NAME_BYTES_MAX, .required = true,
             .help = "classifier: a name or name@version"),
    SV_CUSTOM_FIELD("input", sv_type_messages, AT(input), 1, SV_PARTS_MAX, .required = true,
                    .subfields = sv_message_fields, .help = "text, or messages of the user"),
    SV_LIST_FIELD("questions", AT(questions), 1, SV_QUESTIONS_MAX, question_fields,
                  struct sv_question, .required = true, .help = "questions about the input"),
    SV_TOKENIZE_FIELDS(sv_decision_params, tokenize),
    SV_OBJECT_FIELD("sluice", sluice_fields, .help = "what OpenAI does not have"),
    SV_IGNORED_FIELD("prompt_cache_key", SV_NAME_BYTES_MAX),
    SV_IGNORED_FIELD("safety_identifier", SV_NAME_BYTES_MAX),
    SV_UNSUPPORTED_FIELD("prompt_cache_options", "Prompt caching is not supported; leave it out."),
    {.kind = SV_FIELD_END},
};

/* A question must have what its type needs and nothing else. */
static bool check_question(const struct sv_question *question, int index, struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    enum sv_question_type type = question->type;
    if ((question->choices.count > 0) == (type == SV_CHOICE) &&
        (question->levels.count > 0) == (type == SV_SCORE))
        return true;
    (void)snprintf(param, sizeof param, "questions[%d]", index);
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s' is a %s; it must have %s.", param,
                   question_types[type],
                   type == SV_CHOICE  ? "'choices' and no 'levels'"
                   : type == SV_SCORE ? "'levels' and no 'choices'"
                                      : "neither 'choices' nor 'levels'");
}

static bool check(void *to, struct sv_error *error)
{
    const struct sv_decision_params *params = to;
    const struct sv_question *questions = params->questions.items;
    if (params->model.bytes == 0)
        return sv_fail(error, SV_INVALID_VALUE, "model", "'model' is empty.");
    for (int i = 0; i < params->questions.count; i++)
        if (!check_question(&questions[i], i, error))
            return false;
    return sv_hypothesis_template_check(&params->hypothesis_template, "sluice.hypothesis_template",
                                        error);
}

struct sv_json_document *sv_decision_params_read(const struct sl_buffer *body,
                                                 struct sv_decision_params *params,
                                                 struct sv_error *error)
{
    *params = (struct sv_decision_params){.budget.field = "sluice.budget"};
    return sv_json_read(body, sv_decision_fields, check, params, error);
}
