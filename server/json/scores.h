/* scores.h - turns logits into scores, ranks them, writes them as JSON. */
#pragma once

#include "base/json_writer.h"

/* How logits become scores. */
enum sv_score_function {
    SV_SOFTMAX, /* probabilities that sum to 1 */
    SV_SIGMOID, /* of each class separately */
    SV_RAW_LOGITS
};

struct sv_score {
    int class;
    float value;
};

/* In the order of classes; values may be the logits themselves. */
void sv_scores_from_logits(const float *logits, int classes, enum sv_score_function function,
                           float *values);
/* Highest first; among equals the lower class. */
void sv_scores_rank(const float *values, int classes, struct sv_score *ranked);
/* "label":"positive","score":0.98: members of an object. */
void sv_score_write(const struct sv_score *score, const char *const *labels,
                    struct sl_json_writer *json);
