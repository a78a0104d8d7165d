/* rerank_params.c - the fields of POST /rerank, /v1/rerank and /v2/rerank. */
#include "params/rerank_params.h"
#include "json/json_field_reader.h"

#define AT(member) offsetof(struct sv_rerank_params, member)

#define QUERY_FIELD                                                                                \
    SV_FIELD("query", STRING, AT(query), 1, SV_TEXT_BYTES_MAX, .required = true,                   \
             .help = "what the texts are ranked by")

static const struct sv_field sluice_fields[] = {
    SV_BUDGET_FIELD(sv_rerank_params, budget),
    {.kind = SV_FIELD_END},
};

#define SLUICE_FIELD(others)                                                                       \
    SV_OBJECT_FIELD("sluice", sluice_fields, .help = "what " others " does not have")

const struct sv_field sv_rerank_fields[] = {
    QUERY_FIELD,
    SV_CUSTOM_FIELD("texts", sv_type_text_list, AT(texts), 1, INT32_MAX, .required = true,
                    .help = "texts to rank"),
    SV_FIELD("raw_scores", BOOL, AT(raw_scores), 0, 1, .default_json = "false",
             .help = "return logits, not probabilities"),
    SV_FIELD("return_text", BOOL, AT(returns_texts), 0, 1, .default_json = "false",
             .help = "return the texts, too"),
    SV_TOKENIZE_FIELDS(sv_rerank_params, tokenize),
    SLUICE_FIELD("TEI"),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    SV_OTHERS_IGNORED,
};

#define MODEL_FIELD                                                                                \
    SV_FIELD("model", STRING, AT(model), 0, SV_NAME_BYTES_MAX, .required = true,                   \
             .help = "model that ranks texts: a name or name@version")
#define TOP_N_FIELD                                                                                \
    SV_FIELD("top_n", INT, AT(top_n), 1, INT32_MAX,                                                \
             .help = "number of documents to return, the best; all if absent")
#define RETURN_DOCUMENTS_FIELD(default)                                                            \
    SV_FIELD("return_documents", BOOL, AT(returns_texts), 0, 1, .default_json = default,           \
             .help = "return the documents, too")

static const struct sv_field document_fields[] = {
    SV_FIELD("text", STRING, offsetof(struct sv_pair, text), 0, SV_TEXT_BYTES_MAX, .required = true,
             .help = "text of the document"),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_jina_rerank_fields[] = {
    MODEL_FIELD,
    QUERY_FIELD,
    SV_CUSTOM_FIELD("documents", sv_type_documents, AT(texts), 1, INT32_MAX, .required = true,
                    .subfields = document_fields, .help = "texts to rank"),
    TOP_N_FIELD,
    RETURN_DOCUMENTS_FIELD("true"),
    SLUICE_FIELD("Jina"),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_cohere_rerank_fields[] = {
    MODEL_FIELD,
    QUERY_FIELD,
    SV_CUSTOM_FIELD("documents", sv_type_text_list, AT(texts), 1, INT32_MAX, .required = true,
                    .help = "texts to rank"),
    TOP_N_FIELD,
    RETURN_DOCUMENTS_FIELD("false"),
    SLUICE_FIELD("Cohere"),
    SV_FIELD("max_tokens_per_doc", INT, AT(tokenize.second_max), 1, SV_TOKENS_MAX,
             .help = "cut each document to this number of tokens; if absent, to what the "
                     "context holds"),
    SV_UNSUPPORTED_FIELD("priority", "Requests are computed in the order of their arrival."),
    SV_UNSUPPORTED_FIELD("relevant_spans", "Only whole documents are ranked."),
    {.kind = SV_FIELD_END},
};

static bool check(void *to, struct sv_error *error)
{
    const struct sv_rerank_params *params = to;
    if (params->model.data && params->model.bytes == 0)
        return sv_fail(error, SV_INVALID_VALUE, "model", "'model' is empty.");
    if (params->query.bytes == 0)
        return sv_fail(error, SV_EMPTY_INPUT, "query", "'query' is empty.");
    /* It is tokenized with each text. */
    const int max = (int)(SV_QUERIES_BYTES_MAX / params->query.bytes);
    return params->texts.count <= max ||
           sv_fail(error, SV_INVALID_VALUE, "query",
                   "'query' has %zu bytes; at most %d texts are ranked by so long a query, not %d.",
                   params->query.bytes, max, params->texts.count);
}

/* Each text becomes the second of a pair with the query. */
static bool make_pairs(const struct sv_reader *r, struct sv_rerank_params *params)
{
    struct sv_texts *texts = &params->texts;
    texts->pairs = texts->items;
    texts->items = sv_reader_alloc(r, (size_t)texts->count, sizeof *texts->items);
    for (int i = 0; texts->items && i < texts->count; i++)
        texts->items[i] = params->query;
    return texts->items;
}

/* Jina and Cohere cut what is too long; TEI does so if the request asks for it. */
struct sv_json_document *sv_rerank_params_read(const struct sl_buffer *body,
                                               const struct sv_field *fields,
                                               struct sv_rerank_params *params,
                                               struct sv_error *error)
{
    *params = (struct sv_rerank_params){.tokenize.truncate = fields != sv_rerank_fields,
                                        .budget.field = "sluice.budget"};
    struct sv_json_document *document = sv_json_read(body, fields, check, params, error);
    const struct sv_reader reader = {.document = document, .to = params, .error = error};
    if (!document || make_pairs(&reader, params))
        return document;
    sv_json_document_release(document);
    return NULL;
}
