/* encoder_head.h - output layers for an encoder as it is: a regression of its embeddings, which is
 * cheap to fit and needs few texts of each label (linear probing; Alain & Bengio 2017).
 * Fine-tuning that begins with one disturbs less of what the encoder knows (Kumar et al. 2022). */
#pragma once

#include "linear/linear_results.h"
#include "model/model.h"

/* Whether the encoder, as a classifier, has nothing but an output layer between its embeddings and
 * its labels. */
bool sl_encoder_head_can_fit(const char *encoder, bool *can, struct sl_err *err) SL_MUST_CHECK;

/* Sets the dense features of such an encoder's texts to its embeddings, which are scaled to have a
 * length of about 1. f: without dense features. */
bool sl_encoder_head_embed(struct sl_text_features *f, float *scale, struct sl_engine *engine,
                           const char *encoder, const struct sl_dataset *set, struct sl_err *err)
    SL_MUST_CHECK;

/* A regression of embeddings. */
struct sl_linear_recipe sl_encoder_head_recipe(const struct sl_dataset *set, float c);

/* Fits the output layer of a classifier to embeddings of these texts. scale: as above. */
bool sl_encoder_head_fit(const struct sl_model *classifier, const struct sl_linear_texts *texts,
                         const struct sl_linear_recipe *recipe, float scale, struct sl_err *err)
    SL_MUST_CHECK;
