/* predict_params.h - the fields of POST /predict: TEI's fields, and ours. */
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
    int64_t explain; /* words; 0: no explanation */
    bool depths;     /* of tokens */
    struct sv_label_format labels;
};

extern const struct sv_field sv_predict_fields[];

/* Reads, fills in defaults and checks. NULL: see error. The request's strings belong to the
 * document. */
struct sv_json_document *sv_predict_params_read(const struct sl_buffer *body,
                                                struct sv_predict_params *params,
                                                struct sv_error *error) SL_MUST_CHECK;
