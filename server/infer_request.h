/* infer_request.h - what POST /v2/models/{}/infer can be asked: the Open Inference Protocol's
 * fields. */
#pragma once

#include "encode.h"
#include "wire.h"

enum sv_output_kind {
    SV_OUTPUT_LABEL,     /* BYTES [n]: the likeliest class */
    SV_OUTPUT_PROBS,     /* FP32 [n, classes] */
    SV_OUTPUT_LOGITS,    /* FP32 [n, classes] */
    SV_OUTPUT_DEPTH,     /* FP32 [n]: layers that a token went through, the mean */
    SV_OUTPUT_TRUNCATED, /* INT32 [n]: tokens that were cut off */
    SV_OUTPUTS
};

extern const char *const sv_output_names[SV_OUTPUTS];

struct sv_output {
    struct sv_string name;
    int64_t classification; /* so many classes of the highest values instead; 0: all, as numbers */
    bool binary;

    enum sv_output_kind kind; /* by its name */
};

struct sv_tensor {
    struct sv_string name, datatype, content_type;
    struct sv_shape shape;
    struct sv_texts data;
};

struct sv_infer_request {
    struct sv_string id, model_name, model_version, content_type;
    struct sv_list inputs;  /* one struct sv_tensor, */
    struct sv_list outputs; /* struct sv_output; none: label and probs */
    struct sv_reading reading;
    int64_t timeout_us; /* 0: none */
    bool binary;
};

/* The name of the one input, and what it is made of. */
extern const char sv_input_name[]; /* "text" */

/* Reads, fills in defaults and checks. NULL: see problem. The request's strings belong to the
 * document. */
struct sv_document *sv_infer_request_read(const struct sv_text *body,
                                          struct sv_infer_request *request,
                                          struct sv_problem *problem) SL_MUST_CHECK;
