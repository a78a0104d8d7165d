/* entailment.c - zero-shot classification as Hugging Face's pipeline does it. */
#include "api/entailment.h"
#include "api/model_abilities.h"

#include "sluice/logits.h"

/* Contradiction is the first label, or else the last. */
void sv_entailment_scores(const struct sv_classification *c, int first, int count, bool multi_label,
                          float *scores)
{
    const int entailment = sv_entailment_label(sl_model_info(c->ref->model));
    const int contradiction = entailment == 0 ? c->classes - 1 : 0;
    for (int i = 0; i < count; i++) {
        const float *logits = c->task.items[first + i].logits;
        float both[] = {logits[contradiction], logits[entailment]};
        if (multi_label || count == 1)
            sl_softmax(both, 2, both);
        scores[i] = both[1];
    }
    if (!multi_label && count > 1)
        sl_softmax(scores, count, scores);
}
