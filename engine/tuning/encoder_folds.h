/* encoder_folds.h - an encoder fitted to each fold's texts, or to all of them: an output layer for
 * its embeddings, then steps of fine-tuning. */
#pragma once

#include "linear/linear_trials.h"
#include "tuning/fine_tuning.h"

#include <stdatomic.h>

/* Told of steps, though not of every one, from any thread, one at a time. */
struct sl_trial_watch {
    void (*tell)(void *context, int step, int steps); /* may be NULL */
    void *context;
};

/* How far all fits of a trial are, or the last fit. */
struct sl_trial_progress {
    struct sl_trial_watch watch;
    atomic_int step;
    int steps;
    atomic_flag is_told; /* a thread is calling */
};

/* What fits need; owns nothing. */
struct sl_encoder_fits {
    const struct sl_engine *engine; /* of the search */
    struct sl_engine *own_engine;   /* in the precision that is fastest to train in */
    const char *encoder;            /* the directory of a checkpoint */
    const struct sl_dataset *set;
    const struct sl_text_features *features; /* of the same texts: the dense ones are embeddings */
    float embedding_scale;                   /* of these: 0 if there are none */
    struct sl_trial_progress progress;
};

/* An engine that computes as another one does, or in bf16 where that is faster. */
struct sl_engine *sl_encoder_engine(const struct sl_engine *engine, int threads, struct sl_err *err)
    SL_MUST_CHECK;

/* Sets the logits of the run. */
bool sl_encoder_try_folds(struct sl_encoder_fits *e, const struct sl_linear_run *s,
                          const struct sl_encoder_recipe *recipe, struct sl_err *err) SL_MUST_CHECK;

/* tuning: zeroed; to be closed, also on failure. rows: those of all texts. */
bool sl_encoder_fit_all(struct sl_encoder_fits *e, struct sl_fine_tuning *tuning,
                        const struct sl_encoder_recipe *recipe, const int32_t *rows,
                        struct sl_err *err) SL_MUST_CHECK;
