/* predict_params.c - what POST /predict and POST /hf/{name} can be asked. */
#include "json/predict_params.h"

#include "sluice/model.h"

#include <string.h>

#define AT(member) offsetof(struct sv_predict_params, member)

static const struct sv_field predict_fields[] = {
    SV_CUSTOM_FIELD("inputs", sv_read_predict_inputs, AT(inputs), 1, INT32_MAX, .required = true,
                    .help = "text or texts to classify"),
    SV_FIELD("raw_scores", BOOL, AT(raw_scores), 0, 1, .default_json = "false",
             .help = "return logits, not probabilities"),
    SV_TOKENIZE_FIELDS(sv_predict_params, tokenize),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    {.kind = SV_FIELD_END},
};

static const struct sv_field hf_parameters[] = {
    SV_FIELD("top_k", INT, AT(top_k), 1, SL_CLASSES_MAX,
             .help = "number of most likely classes to return; all if absent"),
    SV_FIELD(
        "function_to_apply", STRING, AT(function), 0, SV_KEYWORD_BYTES_MAX,
        .help =
            "\"softmax\", \"sigmoid\" or \"none\", to turn logits into scores; softmax if absent"),
    SV_TOKENIZE_FIELDS(sv_predict_params, tokenize),
    {.kind = SV_FIELD_END},
};

static const struct sv_field hf_fields[] = {
    SV_CUSTOM_FIELD("inputs", sv_read_texts, AT(inputs), 1, INT32_MAX, .required = true,
                    .help = "text or texts to classify"),
    SV_OBJECT_FIELD("parameters", hf_parameters, .help = "parameters of the pipeline"),
    {.kind = SV_FIELD_END},
};

static bool check_function(struct sv_predict_params *params, struct sv_error *error)
{
    static const char *const names[] = {
        [SV_SOFTMAX] = "softmax", [SV_SIGMOID] = "sigmoid", [SV_RAW_LOGITS] = "none"};
    const char *name = params->function.data;
    for (int i = 0; name && i < (int)(sizeof names / sizeof names[0]); i++)
        if (strcmp(name, names[i]) == 0) {
            params->score_function = (enum sv_score_function)i;
            return true;
        }
    return !name || sv_fail(error, SV_INVALID_VALUE, "parameters.function_to_apply",
                            "'parameters.function_to_apply' must be \"softmax\", \"sigmoid\" or "
                            "\"none\", not \"%s\".",
                            name);
}

static bool check(void *to, struct sv_error *error)
{
    struct sv_predict_params *params = to;
    return sv_tokenize_options_check(&params->tokenize, error) && check_function(params, error);
}

static struct sv_json_document *read_by(const struct sv_field *fields, const struct sl_buffer *body,
                                        struct sv_predict_params *params, struct sv_error *error)
{
    *params = (struct sv_predict_params){.tokenize = {.in_parameters = fields == hf_fields},

                                         .score_function = SV_SOFTMAX};
    return sv_json_read(body, fields, check, params, error);
}

struct sv_json_document *sv_predict_params_read(const struct sl_buffer *body,
                                                struct sv_predict_params *params,
                                                struct sv_error *error)
{
    struct sv_json_document *document = read_by(predict_fields, body, params, error);
    if (params->raw_scores)
        params->score_function = SV_RAW_LOGITS;
    return document;
}

struct sv_json_document *sv_hf_params_read(const struct sl_buffer *body,
                                           struct sv_predict_params *params, struct sv_error *error)
{
    return read_by(hf_fields, body, params, error);
}
