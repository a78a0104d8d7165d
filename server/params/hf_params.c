/* hf_params.c - the fields of POST /hf/{name}. */
#include "params/hf_params.h"

#include "sluice/model.h"

#define AT(member) offsetof(struct sv_hf_params, member)

/* Without a default, which would overwrite the other: Hugging Face's clients have it inside and
 * outside of `parameters`. */
#define NORMALIZE_FIELD                                                                            \
    SV_FIELD("normalize", BOOL, AT(normalize), 0, 1,                                               \
             .help = "of embeddings: return vectors of length 1; true if absent")

static const char *const score_functions[] = {"softmax", "sigmoid", "none", NULL};

static const struct sv_field hf_parameters[] = {
    SV_FIELD(
        "top_k", INT, AT(labels.top_k), 1, SL_CLASSES_MAX,
        .help =
            "number of most likely classes to return, all if absent; or of tokens for a mask, 5 "
            "if absent"),
    SV_ENUM_FIELD("function_to_apply", AT(labels.function), SV_SOFTMAX, score_functions,
                  .help = "how logits become scores; if absent, sigmoid where a text may have "
                          "several labels, else softmax"),
    SV_TOKENIZE_FIELDS(sv_hf_params, tokenize),
    SV_BLANK_TEXTS_FIELD(AT(tokenize.blanks)),
    SV_FIELD("truncation", BOOL, AT(tokenize.truncate), 0, 1, .help = "the same as truncate"),
    SV_ENTITY_FIELDS(sv_hf_params, entities),
    SV_CUSTOM_FIELD("targets", sv_type_texts, AT(targets), 1, SV_TARGETS_MAX,
                    .help = "of masked tokens: what they may be; any token if absent"),
    NORMALIZE_FIELD,
    SV_OTHERS_IGNORED,
};

static const struct sv_field pair_fields[] = {
    SV_FIELD("text", STRING, offsetof(struct sv_pair, text), 0, SV_TEXT_BYTES_MAX, .required = true,
             .help = "the text, or the first of a pair"),
    SV_FIELD("text_pair", STRING, offsetof(struct sv_pair, pair), 0, SV_TEXT_BYTES_MAX,
             .help = "the second text of a pair"),
    {.kind = SV_FIELD_END},
};

static const struct sv_field sluice_fields[] = {
    SV_EXPLAIN_FIELD(AT(explain)),
    SV_BUDGET_FIELD(sv_hf_params, budget),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_hf_fields[] = {
    SV_CUSTOM_FIELD("inputs", sv_type_pairs, AT(inputs), 1, INT32_MAX, .required = true,
                    .subfields = pair_fields,
                    .help = "text or texts to classify or embed, or pairs of texts"),
    SV_OBJECT_FIELD("parameters", hf_parameters, .help = "parameters of the pipeline"),
    NORMALIZE_FIELD,
    SV_OBJECT_FIELD("sluice", sluice_fields, .help = "what Hugging Face does not have"),
    SV_OTHERS_IGNORED,
};

struct sv_json_document *sv_hf_params_read(const struct sl_buffer *body,
                                           struct sv_hf_params *params, struct sv_error *error)
{
    *params = (struct sv_hf_params){
        .tokenize = {.in_parameters = true}, .normalize = true, .budget.field = "sluice.budget"};
    return sv_json_read(body, sv_hf_fields, NULL, params, error);
}
