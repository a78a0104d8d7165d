/* dataloader_kind.h - a dataloader, its kinds, and what these share. */
#pragma once

#include "data/completions.h"
#include "data/data_sources.h"
#include "data/dataset.h"
#include "model/model.h"
#include "tokenizer/tokenizer_trainer.h"
#include "train/evaluate.h"
#include "train/hyperparameters.h"
#include "vectors/token_occurrences.h"

struct sl_dataloader_kind;

/* Consecutive tokens of one document. */
struct sl_passage {
    int64_t first;
    int count;
};

struct sl_dataloader {
    const struct sl_dataloader_kind *kind;
    const struct sl_hyperparameters *hyperparameters;
    struct sl_tokenizer *tokens; /* owned */
    int context;
    /* a text: windows, */
    struct sl_corpus corpus;
    struct sl_span parts[SL_SPLITS];
    /* of which the lines are completions */
    struct sl_completions lines, validation_lines;
    /* labelled texts */
    struct sl_dataset train, validation;
    int32_t *order;       /* of the epoch, */
    int64_t epoch;        /* the epoch of `order`; -1: none yet */
    int32_t *crop;        /* tokens of the present random crop */
    float *label_weights; /* NULL: all count the same */
    /* of texts, the ones that they are translated to */
    struct sl_dataset translations, validation_translations;
    /* pieces of documents, to pretrain on; the last ones validate */
    struct sl_documents documents;
    struct sl_occurrences occurrences;
    struct sl_passage *passages;
    int passages_count, validation_passages, positions;
    int32_t *masked_rows, *replaced, *shuffled;
    struct sl_rows masked;
    struct sl_corruption corruption;
    /* a micro-batch */
    int32_t *ids, *targets, *labels;
    struct sl_sequence *sequences;
};

struct sl_dataloader_kind {
    enum sl_task task;
    int texts; /* of an example, each of a context at most; 0: 1 */
    bool (*open)(struct sl_dataloader *d, const struct sl_data_sources *sources,
                 struct sl_config *config, struct sl_err *err);
    int (*epoch_examples)(const struct sl_dataloader *d); /* NULL: there are no epochs */
    void (*fill)(struct sl_dataloader *d, struct sl_batch *batch, int step, int first, int last);
    bool (*evaluate)(const struct sl_dataloader *d, const struct sl_model *model,
                     const struct sl_policy *policy, struct sl_evaluation *out, struct sl_err *err);
    int64_t (*fingerprint)(const struct sl_dataloader *d);
    /* Completes a batch of the maximum number of rows; NULL: it is complete. */
    void (*enlarge)(struct sl_dataloader *d, struct sl_batch *batch);
};

extern const struct sl_dataloader_kind sl_dataloader_text, sl_dataloader_completions,
    sl_dataloader_labelled, sl_dataloader_pretraining, sl_dataloader_translation;

/* Opens the vocabulary of the sources. Without one, tokens stay NULL and `how` has the options to
 * learn it with; the kind is `default_kind` unless the sources name one. */
bool sl_dataloader_vocabulary(struct sl_dataloader *d, const struct sl_data_sources *sources,
                              const char *default_kind, struct sl_tokenizer_options *how,
                              struct sl_err *err) SL_MUST_CHECK;
/* The first bits of a SHA-256. */
int64_t sl_fingerprint(const void *data, size_t bytes);
/* Appends a sequence of tokens to a batch whose arrays have the room. */
void sl_dataloader_append(struct sl_dataloader *d, struct sl_batch *batch, const int32_t *tokens,
                          int count);
/* Examples in the batch of a step, and steps per epoch; 0: a plain text has no epochs. The last
 * batch of an epoch is what is left. */
int sl_dataloader_examples(const struct sl_dataloader *dataloader, int step);
int sl_dataloader_epoch_steps(const struct sl_dataloader *dataloader);
/* The examples of a step's batch, by number: a part of the present epoch's order. */
const int32_t *sl_dataloader_order(struct sl_dataloader *d, int step);
/* Rows of the longest example. */
int sl_dataloader_example_rows(const struct sl_dataloader *dataloader);
/* Examples of a micro-batch. */
int sl_dataloader_micro_examples(const struct sl_dataloader *dataloader);
/* A micro-batch of the maximum number of rows, in the sequences that take the most memory. */
struct sl_batch sl_dataloader_largest_batch(struct sl_dataloader *dataloader);
