/* predict_params.h - the fields of POST /predict and POST /hf/{name}: TEI's fields, Hugging
 * Face's, and ours. */
#pragma once

#include "params/budget_field.h"
#include "params/field_types.h"
#include "params/scores.h"
#include "params/tokenize_options.h"

struct sv_predict_params {
    struct sv_texts inputs;
    struct sv_tokenize_options tokenize;
    struct sv_budget budget;
    bool raw_scores;
    bool normalize;                        /* embeddings, to length 1 */
    int64_t top_k;                         /* number of most likely classes to return; 0: all */
    int64_t explain;                       /* words; 0: no explanation */
    enum sv_score_function score_function; /* function_to_apply, or from raw_scores */
};

extern const struct sv_field sv_predict_fields[], sv_hf_fields[];

/* Reads the fields of one of these tables, fills in defaults and checks. NULL: see error. The
 * request's strings belong to the document. */
struct sv_json_document *sv_predict_params_read(const struct sl_buffer *body,
                                                const struct sv_field *fields,
                                                struct sv_predict_params *params,
                                                struct sv_error *error) SL_MUST_CHECK;
