/* classifier.h - runs a classifier on many texts in one ragged batch; one row of logits per text,
 * or per token if it classifies these. Or a pretrained model, which gives embeddings.
 *
 * Batch-invariant: a text's result is bit for bit the same alone or among hundreds, with one
 * thread or many, whatever the operating points of the others. A classifier belongs to one thread
 * at a time. Memory for the largest batch is allocated when it is created, except for lists of
 * rows, whose length depends on the texts: they begin with 4 MiB and grow when a batch needs
 * more. */
#pragma once

#include "sluice/logits.h"
#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_classifier;

struct sl_classifier_options {
    int max_batch_size;   /* texts in one run */
    int max_batch_tokens; /* tokens in one run, over all texts; at least the model's context */
};

/* The model must have an output (sl_model_info.output_size), and outlive this. */
SL_PUBLIC struct sl_classifier *sl_classifier_create(const struct sl_model *model,
                                                     const struct sl_classifier_options *options,
                                                     struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_classifier_destroy(struct sl_classifier *classifier); /* NULL is fine */

/* One text and its result. */
struct sl_classifier_item {
    /* in */
    const int32_t *tokens; /* ids below the vocabulary's size */
    /* Of the tokens, as sl_encoding says; NULL: all of one text. A model with one type has it for
     * every token, as Hugging Face's library does. */
    const int32_t *types;
    int count;             /* 1 .. the model's context */
    int operating_point;   /* a number of sl_model_operating_point; 0: as the model says */
    enum sl_output output; /* of the model's (sl_model_info.output_size); of all items the same */
    bool wants_gates;
    /* Of a cascade: its n-grams do not answer alone, however sure they are. So it is where results
     * of texts are compared. */
    bool both_parts;

    /* out */
    union { /* `rows` rows of as many floats as output_size says, until the next run: */
        const float *logits;    /* of a classifier */
        const float *embedding; /* of a pretrained model; not normalized */
    };

    int rows; /* 1; with SL_OUTPUT_TOKENS `count`, with SL_OUTPUT_MASKED as many as mask tokens */

    int64_t layers_used;         /* token-layer operations executed */
    int64_t layers_full;         /* that a model without gates would execute: count x depth */
    const int32_t *token_layers; /* layers that ran on each token, until the next run */
    /* If wanted of a model with routes: for each token the weight with which each of
     * sl_model_info.routes acted on it, 0 if it did not run; until the next run. Else NULL. */
    const float *gates;
    bool finite; /* false: the result holds NaN or infinity; others are not affected */
};

/* Runs the items as one batch. Fails only if an item breaks the rules above or the options' limits,
 * and then before anything is computed. */
SL_PUBLIC bool sl_classifier_run(struct sl_classifier *classifier, struct sl_classifier_item *items,
                                 int count, struct sl_err *err) SL_MUST_CHECK;
/* From logits to the probabilities of the labels, classes floats, perhaps in place: softmax, or the
 * sigmoid of each where a text may have several labels (sl_model_info.multi_label). */
SL_PUBLIC void sl_model_scores(const struct sl_model *model, const float *logits, float *scores);

/* From this probability on a label is predicted where a text may have several. */
#define SL_LABEL_SCORE_MIN 0.5f

/* The labels that are predicted by these scores, in rising order: the most probable one, or those
 * with SL_LABEL_SCORE_MIN or more. labels: room for classes. Returns how many there are. */
SL_PUBLIC int sl_model_predicted(const struct sl_model *model, const float *scores, int *labels);

/* A first run, of one text, so that later ones find their memory in place. It runs on the calling
 * thread alone: other classifiers and sessions of the engine do not wait for it. Fails if the
 * logits hold NaN or infinity. */
SL_PUBLIC bool sl_classifier_warm_up(struct sl_classifier *classifier, const int32_t *tokens,
                                     int count, struct sl_err *err) SL_MUST_CHECK;

#ifdef __cplusplus
}
#endif
