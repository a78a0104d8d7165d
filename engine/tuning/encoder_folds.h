/* encoder_folds.h - an encoder fitted to each fold's texts, or to all of them. */
#pragma once

#include "linear/linear_trials.h"
#include "tuning/encoder_trials.h"

/* An engine that computes as another one does, or in bf16 where that is faster. */
struct sl_engine *sl_encoder_engine(const struct sl_engine *engine, int threads, struct sl_err *err)
    SL_MUST_CHECK;

/* A regression of embeddings, of a trial's texts. */
struct sl_linear_recipe sl_encoder_head_recipe(const struct sl_encoder_trials *e, float c);

/* Sets the logits of the run. */
bool sl_encoder_try_folds(struct sl_encoder_trials *e, const struct sl_linear_run *s,
                          const struct sl_encoder_recipe *recipe, struct sl_err *err) SL_MUST_CHECK;

/* tuning: zeroed; to be closed, also on failure. */
bool sl_encoder_fit_all(struct sl_encoder_trials *e, struct sl_fine_tuning *tuning,
                        const struct sl_encoder_recipe *recipe, struct sl_err *err) SL_MUST_CHECK;
