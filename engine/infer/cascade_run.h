/* cascade_run.h - the texts of a run that the first part of a cascade (arch/arch.h) answers alone,
 * and those that its second part is asked about. Internal to this folder. */
#pragma once

#include "infer/batch_runner.h"
#include "sluice/classifier.h"

struct sl_cascade_run {
    struct sl_cascade parts; /* context 0: the model is no cascade */
    struct sl_batch_runner
        first; /* of all texts; the classifier's own runner is the second part's */
    /* Of the texts that are asked about, one after another: */
    struct sl_classifier_item *asked;
    int *which; /* their numbers among the run's texts */
    int count;
    int32_t *tokens; /* of all, as many as the second part reads */
    /* Of all texts: */
    float *logits;   /* texts x classes */
    int32_t *layers; /* per token: layers of the second part */
};

/* Leaves out the middle of a text that the second part cannot read as a whole; of each end at least
 * a token stays, which may be a special one. Returns how many there are then. */
int sl_cascade_shorten(const struct sl_cascade *parts, int32_t *tokens, int count);

/* limits: of the classifier; those of the second part replace them. A model without parts needs
 * nothing. sl_cascade_close() even after a failure. */
bool sl_cascade_open(struct sl_cascade_run *r, const struct sl_model *model,
                     struct sl_batch_limits *limits, struct sl_err *err) SL_MUST_CHECK;
void sl_cascade_close(struct sl_cascade_run *r); /* a zeroed one is fine */

/* How sure the first part is: the probability of what it predicts, or of several labels the least
 * one of each being right or wrong. */
float sl_cascade_score(const struct sl_model *model, const float *logits);
/* Takes over the first part's logits, and lists the texts that it is not sure of, or that
 * are to have both. */
void sl_cascade_choose(struct sl_cascade_run *r, const struct sl_model *model,
                       struct sl_classifier_item *items, int count);
/* Adds the second part's results to those. */
void sl_cascade_add(struct sl_cascade_run *r, const struct sl_model *model,
                    struct sl_classifier_item *items);
