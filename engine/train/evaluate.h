/* evaluate.h - loss, accuracy and computed layers of a model under a serving policy. Text: every
 * token after the first is predicted once, in windows that do not overlap, each computed as a whole
 * (equal to rounding to computing it with a KV cache). Labelled texts: by the code that serves. */
#pragma once

#include "data/completions.h"
#include "data/dataset.h"
#include "model/model.h"

struct sl_evaluation {
    double loss; /* mean -log p, nats per token or per text; of all its labels */
    /* Fraction of texts of which all labels are right, or of the tokens of completions; NAN for
     * other text. */
    double accuracy;
    double micro_f1;       /* over all labels of all texts; the accuracy if texts have one each */
    int64_t examples;      /* tokens predicted, or texts classified */
    int64_t tokens;        /* read */
    double gate_mean;      /* mean value of the gates (the TSA paper's alpha); NAN without gates */
    double gate_open_mean; /* fraction of (token, skippable block) pairs let through */
    double layers_mean;    /* blocks computed per token, at most the depth */
    /* Mean steps until a token, or a text's first token, halted; NAN where nothing halts. Unless
     * the policy is dense, a text to classify ends with its first token, so both count first
     * tokens. */
    double halting_depth, halting_depth_first;
    double seconds;
};

/* Sets the fields that follow from the statistics of all passes; examples: number of texts. */
void sl_evaluation_set_means(struct sl_evaluation *e, const struct sl_forward_stats *sum,
                             int64_t texts);

/* All fail with SL_NOT_FINITE when the model produces NaN or infinity. */

/* Evaluates a part of a corpus under `policy` (NULL: the model's own). */
bool sl_evaluate_corpus(const struct sl_model *model, struct sl_span part,
                        const struct sl_policy *policy, struct sl_evaluation *out,
                        struct sl_err *err) SL_MUST_CHECK;

/* Evaluates the tokens of completions, each after its true predecessors. */
bool sl_evaluate_completions(const struct sl_model *model, const struct sl_completions *completions,
                             const struct sl_policy *policy, struct sl_evaluation *out,
                             struct sl_err *err) SL_MUST_CHECK;

/* Evaluates the tokens of translations of texts, two encoded sets, by number. The accuracy is
 * NAN. */
bool sl_evaluate_translations(const struct sl_model *model, const struct sl_dataset *source,
                              const struct sl_dataset *target, const struct sl_policy *policy,
                              struct sl_evaluation *out, struct sl_err *err) SL_MUST_CHECK;

/* Receives the probabilities of the labels of each text; a zeroed one does nothing. */
struct sl_score_visitor {
    void (*visit)(void *context, int example, const float *scores);
    void *context;
};

/* Evaluates an encoded data set with the model's labels; both have one label per text, or several.
 * visitor: NULL is fine. */
bool sl_evaluate_labelled(const struct sl_model *model, const struct sl_dataset *set,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          const struct sl_score_visitor *visitor, struct sl_err *err) SL_MUST_CHECK;
