/* dataloader.h - what a run learns from and is measured on: batch after batch of windows of a text,
 * or of labelled texts. One kind per task; what a batch holds follows from (seed, step) alone. */
#pragma once

#include "data/corpus.h"
#include "data/dataset.h"
#include "model/model.h"
#include "tokenizer/tokenizer_trainer.h"
#include "train/evaluate.h"
#include "train/hyperparameters.h"

/* Where it comes from. A text is learnt to be completed, labelled texts to be classified: one of
 * `corpus` and `data` is set. Strings are the caller's. */
struct sl_data_sources {
    const char *corpus;     /* a text */
    const char *data;       /* labelled texts to train on */
    const char *validation; /* labelled texts to measure on; NULL: a share of `data` */
    const char *labels;     /* a file that lists them; NULL: those found */
    struct sl_record_options columns;
    const char *tokenizer;         /* a kind; NULL: characters of a text, words of labelled texts */
    const char *vocabulary;        /* a file of pieces, one per line; NULL: learnt from the data */
    int vocabulary_size;           /* when learnt; 0: the kind's standard */
    bool cased;                    /* keep case and accents */
    struct sl_tokenizer *tokens;   /* instead of the four above, and taken over; NULL: not given */
    enum sl_truncation truncation; /* which end of a text that is too long */
};

struct sl_dataloader_kind;

struct sl_dataloader {
    const struct sl_dataloader_kind *kind;
    const struct sl_hyperparameters *hyperparameters;
    struct sl_tokenizer *tokens; /* owned */
    int context;
    /* windows of a text */
    struct sl_corpus corpus;
    struct sl_span parts[SL_SPLITS];
    /* labelled texts */
    struct sl_dataset train, validation;
    int32_t *order; /* of the epoch, */
    int64_t epoch;  /* which is this one; -1: none yet */
    int32_t *crop;  /* a piece of a text */
    /* a micro-batch */
    int32_t *ids, *targets, *labels;
    struct sl_sequence *sequences;
};

/* Opens what the sources name. Fills in what follows from them: task, vocab and classes of the
 * config, and the recipe's steps when it counts epochs. recipe must outlive the material. */
bool sl_dataloader_open(struct sl_dataloader *dataloader, const struct sl_data_sources *sources,
                        struct sl_config *config, struct sl_hyperparameters *hyperparameters,
                        struct sl_err *err) SL_MUST_CHECK;
void sl_dataloader_close(struct sl_dataloader *dataloader); /* a zeroed one is fine */

/* How many examples a step's batch has, and how many steps an epoch; 0: a text has no epochs. */
int sl_dataloader_examples(const struct sl_dataloader *dataloader, int step);
int sl_dataloader_epoch_steps(const struct sl_dataloader *dataloader);

/* Examples first..last of a step's batch, at most the recipe's micro_batch; valid until the next
 * call. */
struct sl_batch sl_dataloader_batch(struct sl_dataloader *dataloader, int step, int first,
                                    int last);
/* The most rows that a micro-batch can have, in the sequences that take the most memory. */
struct sl_batch sl_dataloader_largest(struct sl_dataloader *dataloader);

/* Measures a model on the validation part. */
bool sl_dataloader_evaluate(const struct sl_dataloader *dataloader, const struct sl_model *model,
                            const struct sl_policy *policy, struct sl_evaluation *out,
                            struct sl_err *err) SL_MUST_CHECK;

/* A few bits of all that is learnt from: two materials with the same mark are the same. */
int64_t sl_dataloader_mark(const struct sl_dataloader *dataloader);

/* The names of the classes, in order; NULL for a text. free() the list, not the names. */
char **sl_dataloader_labels(const struct sl_dataloader *dataloader);

/* -- for the kinds ---------------------------------------------------------------------------- */

struct sl_dataloader_kind {
    enum sl_task task;
    bool (*open)(struct sl_dataloader *m, const struct sl_data_sources *sources,
                 struct sl_config *config, struct sl_err *err);
    int (*epoch_steps)(const struct sl_dataloader *m);
    int (*examples)(const struct sl_dataloader *m, int step);
    void (*fill)(struct sl_dataloader *m, struct sl_batch *batch, int step, int first, int last);
    bool (*evaluate)(const struct sl_dataloader *m, const struct sl_model *model,
                     const struct sl_policy *policy, struct sl_evaluation *out, struct sl_err *err);
    int64_t (*mark)(const struct sl_dataloader *m);
};

extern const struct sl_dataloader_kind sl_dataloader_text, sl_dataloader_labelled;

/* Opens the vocabulary that is there; without one, tokens stay NULL and `how` says how it is to be
 * learnt, as what kind `usual` says when nobody does. */
bool sl_dataloader_vocabulary(struct sl_dataloader *m, const struct sl_data_sources *sources,
                              const char *usual, struct sl_tokenizer_options *how,
                              struct sl_err *err) SL_MUST_CHECK;
/* The first bits of a SHA-256. */
int64_t sl_fingerprint(const void *data, size_t bytes);
/* Appends a sequence of tokens to a batch whose arrays have the room. */
void sl_dataloader_append(struct sl_dataloader *m, struct sl_batch *batch, const int32_t *tokens,
                          int count);
