/* scores.h - turns logits into scores, ranks them, writes them as JSON. */
#pragma once

#include "base/json_writer.h"
#include "sluice/model.h"

/* How logits become scores. */
enum sv_score_function {
    SV_MODEL_SCORES, /* sigmoid where a text may have several labels, else softmax */
    SV_SOFTMAX,      /* they sum to 1 */
    SV_SIGMOID,      /* of each class separately */
    SV_RAW_LOGITS
};

/* Which labels a response has, and with what scores. */
struct sv_label_format {
    int64_t top_k; /* number of most likely classes; 0: all */
    enum sv_score_function function;
};

struct sv_score {
    int class;
    float value;
};

/* In the order of the model's classes; values may be the logits themselves. */
void sv_scores_from_logits(const struct sl_model *model, const float *logits,
                           enum sv_score_function function, float *values);
/* Highest first; among equals the lower class. */
void sv_scores_rank(const float *values, int classes, struct sv_score *ranked);
/* "label":"positive","score":0.98: members of an object. */
void sv_score_write(const struct sv_score *score, const char *const *labels,
                    struct sl_json_writer *json);
