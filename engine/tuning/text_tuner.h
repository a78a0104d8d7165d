/* text_tuner.h - training steps on encoded texts of a set, in memory: ragged batches in
 * micro-batches, gradients, AdamW. */
#pragma once

#include "data/dataset.h"
#include "model/model.h"
#include "train/optimizer.h"

/* What is learnt from texts, beside or instead of their labels: adds it to the loss. y: what the
 * model gives for these texts, a row each, or each of their tokens. texts: their numbers; NULL: in
 * a dry run. */
struct sl_text_loss {
    void (*add)(void *context, struct sl_tape *t, struct sl_tensor *y, const int32_t *texts);
    void *context;
    bool of_tokens;
};

struct sl_text_tuner {
    const struct sl_dataset *set; /* borrowed */
    struct sl_model *model;       /* with gradients; owned */
    struct sl_text_loss loss;     /* add NULL: the labels are learnt */
    struct sl_optimizer optimizer;
    struct sl_tape tape;
    double step_loss; /* of the last step; */
    double gates;     /* the mean of its gates; NAN without any */
    /* A micro-batch: */
    int micro_batch; /* texts, at most */
    int32_t *tokens, *types, *labels, *order;
    struct sl_sequence *sequences;
};

/* Leaves the token table as it is: few texts have few of the tokens, and the table is half of a
 * small encoder. Before gradients are allocated. */
void sl_text_tuner_freeze_tokens(struct sl_model *model);

/* How many texts of a set a micro-batch has, at most: those of a loss, too. outputs: numbers that
 * the model gives for each token; 0: for texts alone. */
int sl_text_tuner_micro_batch(const struct sl_dataset *set, int outputs);

/* model, set and loss are set. */
bool sl_text_tuner_open(struct sl_text_tuner *tuner, struct sl_err *err) SL_MUST_CHECK;
void sl_text_tuner_close(struct sl_text_tuner *tuner); /* a zeroed one is fine */

/* Numbers that the model gives for each token; 0: a text has an output, not its tokens. */
int sl_text_tuner_outputs(const struct sl_text_tuner *tuner);
/* Tokens of the longest text; 1: there is none. */
int sl_text_tuner_longest(const struct sl_dataset *set);
/* The micro-batch that takes the most memory, of undefined tokens; until the next step. */
struct sl_batch sl_text_tuner_largest(const struct sl_text_tuner *tuner);
/* A text as a batch. sequence: of the result, which borrows it. */
struct sl_batch sl_text_tuner_batch(const struct sl_dataset *set, int text,
                                    struct sl_sequence *sequence);

/* Forgets the moments. */
bool sl_text_tuner_restart(struct sl_text_tuner *tuner, const struct sl_hyperparameters *h,
                           struct sl_err *err) SL_MUST_CHECK;
/* `order` becomes that of an epoch's texts: these rows. */
void sl_text_tuner_shuffle(struct sl_text_tuner *tuner, int epoch, const int32_t *rows, int count);
/* One step, from 0, on these texts. Packs the model. */
bool sl_text_tuner_step(struct sl_text_tuner *tuner, const struct sl_hyperparameters *h, int number,
                        const int32_t *texts, int count, struct sl_err *err) SL_MUST_CHECK;

/* Sets what a model gives for these texts of a set: row i of `out`, whose rows are of so many
 * floats, is that of text i. */
bool sl_text_tuner_predict(const struct sl_model *model, const struct sl_dataset *set,
                           const int32_t *rows, int count, float *out, struct sl_err *err)
    SL_MUST_CHECK;
