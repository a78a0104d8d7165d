/* encoder_trials.h - a pretrained encoder among the models that a search tries (linear_results.h):
 * fine-tuned on each fold's texts, and if it is the best, on all. Alone, and in a cascade with a
 * linear classifier of n-grams, since both make different mistakes: these read whole texts, the
 * encoder as much as its context holds. */
#pragma once

#include "data/data_sources.h"
#include "layers/bag_of_words.h"
#include "linear/text_features.h"
#include "tuning/encoder_folds.h"

struct sl_encoder_trials_options {
    struct sl_engine *engine;
    const char *encoder;                   /* the directory of a checkpoint that gives embeddings */
    const struct sl_data_sources *sources; /* of the search's texts */
    const struct sl_dataset *set;          /* these, whatever their tokens */
    double seconds; /* that a fit may take; fewer than usual count as those */
    struct sl_trial_watch watch;
};

struct sl_encoder_trials {
    struct sl_encoder_fits fits;
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
    /* Of the search: logits, texts x labels, of the tuned encoder, of n-grams and of the encoder as
     * it is; and the texts that were predicted. */
    float *logits;
    int32_t *predicted;
    int predicted_count;
    double tokens_most; /* that a fit reads, in all passes over the texts */
    bool too_many;      /* the texts would take too long: the encoder is not worth trying */
    bool embeds;        /* output layers are fitted to embeddings first */
    struct sl_other_models models; /* for the search */
};

/* Whether a checkpoint is an encoder that can be fine-tuned. */
bool sl_encoder_trials_can_use(const char *directory);
/* Reads the texts again. *e must stay where it is. */
bool sl_encoder_trials_open(struct sl_encoder_trials *e,
                            const struct sl_encoder_trials_options *options, struct sl_err *err)
    SL_MUST_CHECK;
/* Embeds the texts, if `embeds`; a search does so first. */
bool sl_encoder_trials_embed(struct sl_encoder_trials *e, struct sl_err *err) SL_MUST_CHECK;
/* What options.seconds has to be for these texts. */
double sl_encoder_trials_seconds(const struct sl_encoder_trials *e);
/* The search's texts in the tokens of a model that was fitted, as much of them as it reads. */
const struct sl_dataset *sl_encoder_trials_texts(const struct sl_encoder_trials *e,
                                                 const struct sl_model *model);
/* After models that were fitted are closed. */
void sl_encoder_trials_close(struct sl_encoder_trials *e); /* a zeroed one is fine */
