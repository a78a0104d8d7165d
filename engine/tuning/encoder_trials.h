/* encoder_trials.h - a pretrained encoder among the models that a search tries (linear_results.h):
 * fine-tuned on each fold's texts, and if it is the best, on all. Alone, and in a cascade with a
 * linear classifier of n-grams, since both make different mistakes: these read whole texts, the
 * encoder as much as its context holds. */
#pragma once

#include "data/data_sources.h"
#include "layers/bag_of_words.h"
#include "linear/text_features.h"
#include "tuning/fine_tuning.h"

#include <stdatomic.h>

/* Told of steps, though not of every one, from any thread, one at a time. */
struct sl_trial_watch {
    void (*tell)(void *context, int step, int steps); /* may be NULL */
    void *context;
};

struct sl_encoder_trials_options {
    struct sl_engine *engine;
    const char *encoder;                   /* the directory of a checkpoint that gives embeddings */
    const struct sl_data_sources *sources; /* of the search's texts */
    const struct sl_dataset *set;          /* these, whatever their tokens */
    struct sl_trial_watch watch;
};

/* How far all fits of a trial are, or the last fit. */
struct sl_trial_progress {
    struct sl_trial_watch watch;
    atomic_int step;
    int steps;
    atomic_flag is_told; /* a thread is calling */
};

struct sl_encoder_trials {
    struct sl_engine *engine;
    struct sl_engine *own_engine; /* in the precision that is fastest to train in */
    const char *encoder;
    struct sl_dataset set;   /* `whole`, with as many of its tokens as the encoder reads: */
    struct sl_cascade reads; /* that is: how a cascade shortens them */
    bool is_long;            /* some have more tokens */
    struct sl_tokenizer *tokens;
    /* The n-grams: */
    struct sl_dataset whole; /* the texts in the encoder's tokens: */
    int context;             /* so many at most */
    struct sl_model *bag;    /* what tokens are to them */
    struct sl_parameter spellings;
    struct sl_bag_of_words parts;
    struct sl_text_features features;
    int32_t *rows;
    float embedding_scale; /* of the dense features: 0 if there are none */
    /* Of the search: logits, texts x labels, of the tuned encoder, of n-grams and of the encoder as
     * it is; and the texts that were predicted. */
    float *logits;
    int32_t *predicted;
    int predicted_count;
    bool too_many; /* the texts would take too long: the encoder is not worth trying */
    struct sl_other_models models; /* for the search */
    struct sl_trial_progress progress;
};

/* Whether a checkpoint is an encoder that can be fine-tuned. */
bool sl_encoder_trials_can_use(const char *directory);
/* Reads the texts again. *e must stay where it is. */
bool sl_encoder_trials_open(struct sl_encoder_trials *e,
                            const struct sl_encoder_trials_options *options, struct sl_err *err)
    SL_MUST_CHECK;
/* The search's texts in the tokens of a model that was fitted, as much of them as it reads. */
const struct sl_dataset *sl_encoder_trials_texts(const struct sl_encoder_trials *e,
                                                 const struct sl_model *model);
/* After models that were fitted are closed. */
void sl_encoder_trials_close(struct sl_encoder_trials *e); /* a zeroed one is fine */
