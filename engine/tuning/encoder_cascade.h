/* encoder_cascade.h - a fine-tuned encoder and n-grams as one model, a cascade
 * (arch/transformer/cascade.c), and from which score on its n-grams may answer alone. */
#pragma once

#include "data/dataset.h"
#include "linear/linear_results.h"
#include "linear/text_features.h"
#include "model/model.h"

/* Predictions of texts by models that were not fitted to them: texts x labels, before the trial's
 * scales. */
struct sl_cascade_evidence {
    const float *encoder, *ngrams;
    const int32_t *texts; /* that were predicted */
    int count;
};

struct sl_encoder_cascade {
    const struct sl_model *tuned;            /* the encoder, with an output layer */
    const struct sl_text_features *features; /* of all texts, whole */
    const struct sl_bag_of_words *parts;     /* what the encoder's tokens are to n-grams */
    const struct sl_dataset *set;            /* these texts; borrowed, as is all of this, */
    const int32_t *rows;                     /* and their numbers */
    int context;                             /* of the cascade, */
    float beginning;                         /* and the fraction of sl_cascade */
    const struct sl_linear_trial *trial;     /* with n-grams */
    const struct sl_calibration *calibration;
    const struct sl_cascade_evidence *evidence;
};

/* Fits the n-grams to all texts. The model's policy and operating points are set by the evidence.
 * NULL on failure; `tuned` stays the caller's. */
struct sl_model *sl_encoder_cascade_create(const struct sl_encoder_cascade *c, struct sl_err *err);
