/* classify.h - running a classifier: many texts in one ragged batch, one row of logits each.
 *
 * The numbers are bit for bit the same whether a text is classified alone or among hundreds, with
 * one thread or many. A classifier belongs to one thread at a time. It allocates room for the
 * numbers of its largest batch when it is created. How long its lists of rows get depends on the
 * texts: they have 4 MiB, and more when a batch takes more. */
#pragma once

#include "sluice/logits.h"
#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_classifier;

struct sl_classifier_options {
    int items;      /* texts in one run, at most */
    int batch_rows; /* tokens in one run, over all texts; at least the model's context */
};

/* The model must be a classifier, and outlive this. */
SL_PUBLIC struct sl_classifier *sl_classifier_create(const struct sl_model *model,
                                                     const struct sl_classifier_options *options,
                                                     struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_classifier_destroy(struct sl_classifier *classifier); /* NULL is fine */

/* One text, and what came of it. */
struct sl_classifier_item {
    /* in */
    const int32_t *tokens; /* ids below the vocabulary's size */
    int count;             /* 1 .. the model's context */
    /* out */
    const float *logits; /* classes floats, until the next run */
    int64_t layers_used; /* token-layer operations that ran */
    int64_t layers_full; /* that a model without gates would have run: count x depth */
    bool finite;         /* false: these logits hold NaN or infinity; others are not affected */
};

/* Runs the items as one batch. Fails only for broken promises of the caller, before anything
 * runs. */
SL_PUBLIC bool sl_classifier_run(struct sl_classifier *classifier, struct sl_classifier_item *items,
                                 int count, struct sl_err *err) SL_MUST_CHECK;

#ifdef __cplusplus
}
#endif
