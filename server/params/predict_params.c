/* predict_params.c - the fields of POST /predict. */
#include "params/predict_params.h"

#define AT(member) offsetof(struct sv_predict_params, member)

static const struct sv_field sluice_fields[] = {
    SV_EXPLAIN_FIELD(AT(explain)),
    SV_DEPTH_FIELD(AT(depths)),
    SV_BUDGET_FIELD(sv_predict_params, budget),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_predict_fields[] = {
    SV_CUSTOM_FIELD("inputs", sv_type_predict_inputs, AT(inputs), 1, INT32_MAX, .required = true,
                    .help = "text or texts to classify, or pairs of texts"),
    SV_FIELD("raw_scores", BOOL, AT(raw_scores), 0, 1, .default_json = "false",
             .help = "return logits, not probabilities"),
    SV_TOKENIZE_FIELDS(sv_predict_params, tokenize),
    SV_BLANK_TEXTS_FIELD(AT(tokenize.blanks)),
    SV_OBJECT_FIELD("sluice", sluice_fields, .help = "what TEI does not have"),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    SV_OTHERS_IGNORED,
};

struct sv_json_document *sv_predict_params_read(const struct sl_buffer *body,
                                                struct sv_predict_params *params,
                                                struct sv_error *error)
{
    *params = (struct sv_predict_params){.budget.field = "sluice.budget"};
    struct sv_json_document *document = sv_json_read(body, sv_predict_fields, NULL, params, error);
    if (params->raw_scores)
        params->labels.function = SV_RAW_LOGITS;
    return document;
}
