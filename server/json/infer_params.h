/* infer_params.h - what POST /v2/models/{name}/infer can be asked: the Open Inference Protocol's
 * fields. */
#pragma once

#include "json/json_schema.h"
#include "json/tokenize_options.h"

enum sv_output_kind {
    SV_OUTPUT_LABEL, /* the most likely class */
    SV_OUTPUT_PROBS,
    SV_OUTPUT_LOGITS,
    SV_OUTPUT_DEPTH,     /* mean layers per token */
    SV_OUTPUT_TRUNCATED, /* tokens that were cut off */
    SV_OUTPUTS
};

struct sv_output_row {
    const char *name, *datatype;
    bool has_class_values; /* its classes can be ranked, */
    bool is_per_class;     /* shape [n, classes]; else [n] */
};

extern const struct sv_output_row sv_output_rows[SV_OUTPUTS];

struct sv_output {
    struct sv_string name;
    int64_t classification; /* classes to return as strings; 0: all values as numbers */
    bool wants_binary;      /* as below */

    enum sv_output_kind kind; /* by its name */
};

struct sv_tensor {
    struct sv_string name, datatype;
    struct sv_shape shape;
    struct sv_texts data;
};

struct sv_infer_params {
    struct sv_string id;
    struct sv_list inputs;  /* one struct sv_tensor, */
    struct sv_list outputs; /* struct sv_output; none: all there are */
    struct sv_tokenize_options tokenize;
    int64_t timeout_us; /* 0: none */
    int64_t priority;   /* ignored */
    bool wants_binary;  /* ignored: Triton's clients ask for it and accept JSON */
};

/* The name of the one input. */
extern const char sv_input_name[]; /* "text" */

/* Reads, fills in defaults and checks. NULL: see error. The request's strings belong to the
 * document. */
struct sv_document *sv_infer_params_read(const struct sl_buffer *body,
                                         struct sv_infer_params *params, struct sv_error *error)
    SL_MUST_CHECK;
