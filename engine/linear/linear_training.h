/* linear_training.h - trains the linear classifier on labelled texts: reads them, searches for the
 * recipe, fits it to all texts, publishes.
 *
 *     sl_linear_training_open(&l, &options, &err)
 *     sl_linear_training_run(&l, report, context, &err)
 *     sl_linear_training_publish(&l, "models/mine/1", &how, &err)
 *     sl_linear_training_close(&l)
 *
 * The same data, options and instruction set give the same bits, with any number of threads. */
#pragma once

#include "checkpoint/base_model.h"
#include "data/data_sources.h"
#include "linear/linear_base.h"
#include "linear/linear_search.h"
#include "model/model.h"
#include "tokenizer/tokenizer_trainer.h"

struct sl_linear_training_options {
    struct sl_engine *engine;
    struct sl_data_sources sources; /* `validation` is not used */
    bool keep_text;                 /* of the set, after encoding */
    double seconds;                 /* to search for; 0: only the usual recipes */
    bool standalone;  /* the model has the word vectors itself, whatever has them already */
    const char *base; /* a model with word vectors, whose vocabulary is used; NULL: none */
};

struct sl_linear_training {
    struct sl_engine *engine;
    double seconds; /* as in the options */
    struct sl_tokenizer *tokens;
    struct sl_dataset set;
    double unknown;        /* fraction of the tokens that the given base lacks, in a sample */
    bool base_is_foreign;  /* the given base is not used, because that is too much */
    struct sl_model *base; /* word vectors and what tokens are; has no classes */
    struct sl_base_reference origin; /* the model that has its word vectors; "": none to refer to */
    bool standalone;                 /* as in the options */
    bool refers;                     /* the published model refers to the origin */
    /* Its parts, and how tokens are spelt. */
    struct sl_bag_of_words parts;
    struct sl_parameter spellings;
    struct sl_model *model; /* the result; NULL before the end of the run */
    struct sl_text_features features;
    const struct sl_other_models *others; /* to try, too: set before the run; NULL: none */
    struct sl_linear_search search;
};

/* The tokenizer of the result. */
const struct sl_tokenizer *sl_linear_training_tokens(const struct sl_linear_training *l);

/* Fails if the search, which keeps dozens of numbers per text and label, would take too much. */
bool sl_linear_training_check_size(const struct sl_dataset *set, struct sl_err *err) SL_MUST_CHECK;

bool sl_linear_training_open(struct sl_linear_training *l,
                             const struct sl_linear_training_options *options, struct sl_err *err)
    SL_MUST_CHECK;
void sl_linear_training_close(struct sl_linear_training *l); /* a zeroed one is fine */

/* report: before the first trial, and after each; may be NULL. */
bool sl_linear_training_run(struct sl_linear_training *l,
                            void (*report)(void *context, const struct sl_linear_search *search),
                            void *context, struct sl_err *err) SL_MUST_CHECK;

/* Writes the model as a checkpoint. Where the base of its word vectors will be found from there, it
 * refers to that. */
bool sl_linear_training_publish(struct sl_linear_training *l, const char *directory,
                                const struct sl_publication *how, struct sl_err *err) SL_MUST_CHECK;
