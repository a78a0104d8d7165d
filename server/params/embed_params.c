/* embed_params.c - the fields of POST /embed and POST /v1/embeddings. */
#include "params/embed_params.h"
#include "json/json_field_reader.h"

#include <jansson.h>

#define AT(member) offsetof(struct sv_embed_params, member)

static const char *const encodings[] =
    {[SV_ENCODING_FLOAT] = "float", [SV_ENCODING_BASE64] = "base64", NULL};

#define DIMENSIONS_FIELD                                                                           \
    SV_FIELD("dimensions", INT, AT(dimensions), 1, SV_DIMENSIONS_MAX,                              \
             .help = "return only the first numbers of each embedding, normalized; all if absent")

#define INPUTS_FIELD                                                                               \
    SV_CUSTOM_FIELD("inputs", sv_type_prompts, AT(inputs), 1, INT32_MAX, .required = true,         \
                    .help = "text or texts to embed, or their token ids")
static const struct sv_field sluice_fields[] = {
    SV_BUDGET_FIELD(sv_embed_params, budget),
    {.kind = SV_FIELD_END},
};

#define SLUICE_FIELD(others)                                                                       \
    SV_OBJECT_FIELD("sluice", sluice_fields, .help = "what " others " does not have")
#define PROMPT_NAME_FIELD SV_PROMPT_NAME_FIELD(AT(tokenize.prompt_name))

/* LangChain sends ids of OpenAI's tokenizers, and most of them are in any vocabulary. */
static bool read_input(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    const json_t *first = json_array_get(value, 0);
    if (json_is_integer(first) || json_is_array(first))
        return sv_fail(r->error, SV_INVALID_VALUE, field->name,
                       "'%s' is token ids. OpenAI's clients send those of OpenAI's tokenizers, for "
                       "which the vectors would be wrong. Send texts, from LangChain with "
                       "check_embedding_ctx_length=False; /embed takes the model's own ids.",
                       field->name);
    return sv_type_texts.read(r, field, value);
}

static const struct sv_field_type type_input = {read_input, "string|[string]*"};

const struct sv_field sv_embed_fields[] = {
    INPUTS_FIELD,
    SV_FIELD("normalize", BOOL, AT(normalize), 0, 1, .default_json = "true",
             .help = "return vectors of length 1"),
    DIMENSIONS_FIELD,
    SV_TOKENIZE_FIELDS(sv_embed_params, tokenize),
    SV_BLANK_TEXTS_FIELD(AT(tokenize.blanks)),
    PROMPT_NAME_FIELD,
    SLUICE_FIELD("TEI"),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    SV_OTHERS_IGNORED,
};

const struct sv_field sv_embed_sparse_fields[] = {
    INPUTS_FIELD,
    SV_TOKENIZE_FIELDS(sv_embed_params, tokenize),
    SV_BLANK_TEXTS_FIELD(AT(tokenize.blanks)),
    PROMPT_NAME_FIELD,
    SLUICE_FIELD("TEI"),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    SV_OTHERS_IGNORED,
};

const struct sv_field sv_embedding_fields[] = {
    SV_FIELD("model", STRING, AT(model), 0, SV_NAME_BYTES_MAX, .required = true,
             .help = "model that gives embeddings: a name or name@version"),
    SV_CUSTOM_FIELD("input", type_input, AT(texts), 1, INT32_MAX, .required = true,
                    .help = "text or texts to embed"),
    SV_ENUM_FIELD("encoding_format", AT(encoding), SV_ENCODING_FLOAT, encodings,
                  .default_json = "\"float\"", .help = "how the numbers are written"),
    DIMENSIONS_FIELD,
    SV_TOKENIZE_FIELDS(sv_embed_params, tokenize),
    SV_BLANK_TEXTS_FIELD(AT(tokenize.blanks)),
    PROMPT_NAME_FIELD,
    SLUICE_FIELD("OpenAI"),
    SV_IGNORED_FIELD("user", 1024),
    {.kind = SV_FIELD_END},
};

static bool check(void *to, struct sv_error *error)
{
    const struct sv_embed_params *params = to;
    return !params->model.data || params->model.bytes > 0 ||
           sv_fail(error, SV_INVALID_VALUE, "model", "'model' is empty.");
}

struct sv_json_document *sv_embed_params_read(const struct sl_buffer *body,
                                              const struct sv_field *fields,
                                              struct sv_embed_params *params,
                                              struct sv_error *error)
{
    *params = (struct sv_embed_params){.normalize = true, .budget.field = "sluice.budget"};
    struct sv_json_document *document = sv_json_read(body, fields, check, params, error);
    const struct sv_reader reader = {.document = document, .to = params, .error = error};
    const struct sv_prompts *inputs = &params->inputs;
    if (!document || params->texts.items)
        return document;
    params->texts = (struct sv_texts){
        .count = inputs->count,
        .items = sv_reader_alloc(&reader, (size_t)inputs->count, sizeof(struct sv_string)),
        .is_array = inputs->is_array};
    if (!params->texts.items) {
        sv_json_document_release(document);
        return NULL;
    }
    for (int i = 0; i < inputs->count; i++)
        params->texts.items[i] = inputs->items[i].text;
    return document;
}
