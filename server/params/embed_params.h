/* embed_params.h - the fields of POST /embed, /embed_sparse, /embed_all and /v1/embeddings: TEI's
 * fields, OpenAI's, and ours. */
#pragma once

#include "params/budget_field.h"
#include "params/field_types.h"
#include "params/tokenize_options.h"

enum sv_encoding_format { SV_ENCODING_FLOAT, SV_ENCODING_BASE64 };

struct sv_embed_params {
    struct sv_string model;   /* OpenAI's; of TEI's the path says it */
    struct sv_prompts inputs; /* texts or token ids, */
    struct sv_texts texts;    /* and their texts alone */
    struct sv_tokenize_options tokenize;
    bool normalize;     /* to length 1 */
    int64_t dimensions; /* numbers of each embedding to return; 0: all */
    enum sv_encoding_format encoding;
    struct sv_budget budget;
};

/* TEI's fields, OpenAI's, and those of TEI's sparse embeddings and embeddings of tokens. */
extern const struct sv_field sv_embed_fields[], sv_embedding_fields[], sv_embed_sparse_fields[];

/* Reads the fields of one of these tables, fills in defaults and checks. NULL: see error. The
 * request's strings belong to the document. */
struct sv_json_document *sv_embed_params_read(const struct sl_buffer *body,
                                              const struct sv_field *fields,
                                              struct sv_embed_params *params,
                                              struct sv_error *error) SL_MUST_CHECK;
