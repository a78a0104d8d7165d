/* hf_params.c - the fields of POST /hf/{name}. */
#include "params/hf_params.h"
#include "params/hypotheses.h"
#include "json/json_field_reader.h"

#include "sluice/model.h"

#include <jansson.h>
#include <string.h>

#define AT(member) offsetof(struct sv_hf_params, member)

/* Without a default, which would overwrite the other: Hugging Face's clients have it inside and
 * outside of `parameters`. */
#define NORMALIZE_FIELD                                                                            \
    SV_FIELD("normalize", BOOL, AT(normalize), 0, 1,                                               \
             .help = "of embeddings: return vectors of length 1; true if absent")

#define DIMENSIONS_FIELD                                                                           \
    SV_FIELD("dimensions", INT, AT(dimensions), 1, SV_DIMENSIONS_MAX,                              \
             .help = "of embeddings: return only the first numbers, normalized; all if absent")

static const char *const score_functions[] = {"softmax", "sigmoid", "none", NULL};

/* ---- labels and sentences -------------------------------------------------------------------- */

/* "a, b" is two labels, as Hugging Face's pipeline reads it. */
static bool read_candidates(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    static const char blanks[] = " \t\r\n";
    const char *text = json_string_value(value);
    size_t count = 1;
    if (!text)
        return sv_type_text_list.read(r, field, value);
    for (const char *at = text; *at; at++)
        count += *at == ',';
    struct sv_texts *labels = sv_reader_target(r, field->offset);
    labels->items = sv_reader_alloc(r, count, sizeof *labels->items);
    for (const char *at = text; labels->items && *at;) {
        at += strspn(at, blanks);
        size_t all = strcspn(at, ","), bytes = all;
        while (bytes > 0 && strchr(blanks, at[bytes - 1]))
            bytes--;
        if (bytes > 0)
            labels->items[labels->count++] = (struct sv_string){at, bytes};
        at += all + (at[all] == ',');
    }
    return labels->items && sv_reader_check_count(r, field, (size_t)labels->count, "labels");
}

static const struct sv_field_type candidates_type = {read_candidates, "string|[string]*"};

static const struct sv_field pair_fields[] = {
    SV_FIELD("text", STRING, offsetof(struct sv_pair, text), 0, SV_TEXT_BYTES_MAX, .required = true,
             .help = "the text, or the first of a pair"),
    SV_FIELD("text_pair", STRING, offsetof(struct sv_pair, pair), 0, SV_TEXT_BYTES_MAX,
             .help = "the second text of a pair"),
    {.kind = SV_FIELD_END},
};

static const struct sv_field sentence_fields[] = {
    SV_FIELD("source_sentence", STRING, AT(source), 0, SV_TEXT_BYTES_MAX, .required = true,
             .help = "the sentence to compare"),
    SV_CUSTOM_FIELD("sentences", sv_type_text_list, AT(inputs), 1, SV_CLIENT_BATCH_MAX,
                    .required = true, .help = "those to compare it with"),
    {.kind = SV_FIELD_END},
};

/* Texts, pairs, or sentences. */
static bool read_inputs(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    if (!json_object_get(value, "source_sentence"))
        return sv_type_pairs.read(r, field, value);
    const struct sv_field sentences = {
        .name = field->name, .kind = SV_FIELD_CUSTOM, .subfields = sentence_fields};
    return sv_type_object.read(r, &sentences, value);
}

static const struct sv_field_type inputs_type = {read_inputs, "string|@|Sentences|[string|@]*"};

/* ---- the tables ------------------------------------------------------------------------------ */

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
    DIMENSIONS_FIELD,
    SV_PROMPT_NAME_FIELD(AT(tokenize.prompt_name)),
    SV_CUSTOM_FIELD("candidate_labels", candidates_type, AT(candidates), 1, SV_CLIENT_BATCH_MAX,
                    .help = "of models with a label for entailment: labels to choose from"),
    SV_HYPOTHESIS_TEMPLATE_FIELD(AT(hypothesis_template)),
    SV_FIELD("multi_label", BOOL, AT(multi_label), 0, 1, .default_json = "false",
             .help = "several candidate labels may be true"),
    SV_OTHERS_IGNORED,
};

static const struct sv_field sluice_fields[] = {
    SV_EXPLAIN_FIELD(AT(explain)),
    SV_DEPTH_FIELD(AT(depths)),
    SV_BUDGET_FIELD(sv_hf_params, budget),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_hf_fields[] = {
    SV_CUSTOM_FIELD("inputs", inputs_type, AT(inputs), 1, INT32_MAX, .required = true,
                    .subfields = pair_fields,
                    .help = "text or texts, or pairs of texts; or a sentence and others to compare "
                            "it with"),
    SV_OBJECT_FIELD("parameters", hf_parameters, .help = "parameters of the pipeline"),
    NORMALIZE_FIELD,
    DIMENSIONS_FIELD,
    SV_PROMPT_NAME_FIELD(AT(tokenize.prompt_name)),
    SV_FIELD("truncate", BOOL, AT(tokenize.truncate), 0, 1,
             .help = "the same as in parameters, where clients for embeddings do not have it"),
    SV_ENUM_FIELD("truncation_direction", AT(tokenize.side), SL_TRUNCATE_RIGHT,
                  sv_truncation_directions, .ignores_case = true, .help = "likewise"),
    SV_OBJECT_FIELD("sluice", sluice_fields, .help = "what Hugging Face does not have"),
    SV_OTHERS_IGNORED,
};

static const struct sv_field similarity_parameters[] = {
    SV_TOKENIZE_FIELDS(sv_hf_params, tokenize),
    SV_PROMPT_NAME_FIELD(AT(tokenize.prompt_name)),
    SV_OTHERS_IGNORED,
};

const struct sv_field sv_similarity_fields[] = {
    SV_OBJECT_FIELD("inputs", sentence_fields, .required = true, .help = "sentences to compare"),
    SV_OBJECT_FIELD("parameters", similarity_parameters, .help = "how they are tokenized"),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    SV_OTHERS_IGNORED,
};

/* ---- what becomes of the inputs -------------------------------------------------------------- */

static bool check(void *to, struct sv_error *error)
{
    const struct sv_hf_params *params = to;
    return sv_hypothesis_template_check(&params->hypothesis_template,
                                        "parameters.hypothesis_template", error);
}

/* Each text with each hypothesis. */
static bool make_hypotheses(struct sv_json_document *document, struct sv_hf_params *params,
                            struct sv_error *error)
{
    if (params->candidates.count == 0)
        return true;
    if (params->inputs.pairs)
        return sv_fail(error, SV_INVALID_VALUE, "inputs",
                       "'inputs' holds a pair; candidate labels are for single texts.");
    return sv_hypotheses_make(document, &params->hypothesis_template, &params->candidates, "inputs",
                              &params->inputs, error);
}

/* The source comes first. */
static bool prepend_source(const struct sv_reader *r, struct sv_hf_params *params)
{
    struct sv_texts *texts = &params->inputs;
    struct sv_string *items = sv_reader_alloc(r, (size_t)texts->count + 1, sizeof *items);
    if (!items)
        return false;
    items[0] = params->source;
    memcpy(items + 1, texts->items, (size_t)texts->count * sizeof *items);
    texts->items = items;
    texts->count++;
    return true;
}

struct sv_json_document *sv_hf_params_read(const struct sl_buffer *body,
                                           const struct sv_field *fields,
                                           struct sv_hf_params *params, struct sv_error *error)
{
    *params = (struct sv_hf_params){
        .tokenize = {.in_parameters = true}, .normalize = true, .budget.field = "sluice.budget"};
    struct sv_json_document *document = sv_json_read(body, fields, check, params, error);
    const struct sv_reader r = {.document = document, .to = params, .error = error};
    if (!document || (make_hypotheses(document, params, error) &&
                      (!params->source.data || prepend_source(&r, params))))
        return document;
    sv_json_document_release(document);
    return NULL;
}
