/* scores.c - turns logits into scores, ranks them, writes them as JSON. */
#include "params/scores.h"

#include "sluice/classifier.h"

#include <stdlib.h>

void sv_scores_from_logits(const struct sl_model *model, const float *logits,
                           enum sv_score_function function, float *values)
{
    const int classes = sl_model_info(model)->classes;
    switch (function) {
    case SV_MODEL_SCORES: sl_model_scores(model, logits, values); break;
    case SV_SOFTMAX: sl_softmax(logits, classes, values); break;
    case SV_SIGMOID: sl_sigmoids(logits, classes, values); break;
    case SV_RAW_LOGITS:
        for (int i = 0; i < classes; i++)
            values[i] = logits[i];
        break;
    }
}

static int compare(const void *left, const void *right)
{
    const struct sv_score *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->class - b->class;
}

void sv_scores_rank(const float *values, int classes, struct sv_score *ranked)
{
    for (int i = 0; i < classes; i++)
        ranked[i] = (struct sv_score){.class = i, .value = values[i]};
    qsort(ranked, (size_t)classes, sizeof *ranked, compare);
}

void sv_score_write(const struct sv_score *score, const char *const *labels,
                    struct sl_json_writer *json)
{
    sl_json_add(json, "'label':%s,'score':%f", labels[score->class], (double)score->value);
}
