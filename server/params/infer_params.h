/* infer_params.h - the fields of POST /v2/models/{name}/infer: the Open Inference Protocol's
 * fields. */
#pragma once

#include "params/budget_field.h"
#include "params/entity_options.h"
#include "params/field_types.h"
#include "params/tokenize_options.h"

enum sv_output_kind {
    SV_OUTPUT_LABEL, /* the most likely class */
    SV_OUTPUT_PROBS,
    SV_OUTPUT_LOGITS,
    SV_OUTPUT_EMBEDDING,
    SV_OUTPUT_ENTITIES,  /* of a token classifier, as JSON */
    SV_OUTPUT_DEPTH,     /* mean layers per token */
    SV_OUTPUT_TRUNCATED, /* tokens that were cut off */
    SV_OUTPUT_WORDS,     /* that moved the score, as JSON; if `explain` is given */
    SV_OUTPUT_TOKENS,    /* with their depths, as JSON; if it is requested by name */
    SV_OUTPUTS
};

enum sv_output_models {
    SV_OF_ALL_MODELS,
    SV_OF_CLASSIFIERS,
    SV_OF_TOKEN_CLASSIFIERS,
    SV_OF_EMBEDDERS
};

struct sv_output_row {
    const char *datatype;
    enum sv_output_models models; /* that have it */
    bool has_class_values;        /* its classes can be ranked */
    bool is_extra;                /* only on request */
    bool has_columns;             /* shape [n, classes] or [n, dimensions]; else [n] */
};

extern const struct sv_output_row sv_output_rows[SV_OUTPUTS];
extern const char *const sv_output_names[]; /* of each kind; NULL at the end */
/* Whether a model has the output. */
bool sv_output_is_of(enum sv_output_kind kind, const struct sl_model_info *info);

struct sv_output {
    enum sv_output_kind kind;
    int64_t classification; /* classes to return as strings; 0: all values as numbers */
    bool wants_binary;      /* binary_data; */
    bool is_binary_given;   /* if it is not given, that of the request holds */
};

struct sv_tensor {
    struct sv_shape shape;
    struct sv_texts data;
    bool is_data_given;
    int64_t binary_bytes; /* after the JSON: binary_data_size */
    bool is_binary;
};

struct sv_infer_params {
    struct sv_string id;
    struct sv_list inputs;  /* one struct sv_tensor, */
    struct sv_list outputs; /* struct sv_output; none: all there are */
    struct sv_tokenize_options tokenize;
    struct sv_budget budget;
    int64_t timeout_us; /* 0: none */
    int64_t priority;   /* ignored */
    int64_t explain;    /* words; 0: no explanation */
    struct sv_entity_options entities;
    bool normalize;    /* embeddings, to length 1 */
    bool wants_binary; /* outputs as binary tensors: binary_data_output */
};

/* The name of the one input. */
extern const char sv_input_name[]; /* "text" */

/* The length of the JSON at the start of the body, of `bytes` bytes, from the header
 * Inference-Header-Content-Length. NULL: the whole body. */
bool sv_infer_json_bytes(const char *header, size_t bytes, size_t *json_bytes,
                         struct sv_error *error) SL_MUST_CHECK;

extern const struct sv_field sv_infer_fields[];

/* Reads, fills in defaults and checks. The first json_bytes of the body are JSON, the rest binary
 * tensors. NULL: see error. The request's strings belong to the document. */
struct sv_json_document *sv_infer_params_read(const struct sl_buffer *body, size_t json_bytes,
                                              struct sv_infer_params *params,
                                              struct sv_error *error) SL_MUST_CHECK;
