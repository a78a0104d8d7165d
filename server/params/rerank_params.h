/* rerank_params.h - the fields of POST /rerank, /v1/rerank and /v2/rerank: those of Text Embeddings
 * Inference, Jina and Cohere. */
#pragma once

#include "params/budget_field.h"
#include "params/field_types.h"
#include "params/tokenize_options.h"

struct sv_rerank_params {
    struct sv_string model; /* Jina's and Cohere's; of TEI's the path says it */
    struct sv_string query;
    struct sv_texts texts; /* pairs: the query, and each text to rank */
    struct sv_tokenize_options tokenize;
    int64_t top_n; /* number of texts to return, the best; 0: all */
    bool raw_scores, returns_texts;
    struct sv_budget budget;
};

extern const struct sv_field sv_rerank_fields[], sv_jina_rerank_fields[], sv_cohere_rerank_fields[];

/* Reads the fields of one of these tables, fills in defaults and checks. NULL: see error. The
 * request's strings belong to the document. */
struct sv_json_document *sv_rerank_params_read(const struct sl_buffer *body,
                                               const struct sv_field *fields,
                                               struct sv_rerank_params *params,
                                               struct sv_error *error) SL_MUST_CHECK;
