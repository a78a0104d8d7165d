/* infer.h - running a model: many sequences, each with a memory of its own, in one ragged batch.
 *
 * A session holds `slots` caches. A slot remembers the tokens of one text; each sl_session_run
 * feeds any number of slots with any number of new tokens each (a prompt, a piece of one, or the
 * token just sampled) and gives the logits that follow. The numbers are bit for bit the same
 * whether a slot runs alone or among hundreds, with one thread or many.
 *
 * A session belongs to one thread at a time. It allocates its caches and room for the numbers of
 * its largest run when it is created. How long its lists of rows get depends on the texts: they
 * have 4 MiB, and more when a run takes more. */
#pragma once

#include "sluice/logits.h"
#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_session;

struct sl_session_options {
    int slots;      /* texts remembered at the same time */
    int batch_rows; /* tokens in one run, over all slots; at least slots, so that all can step */
};

/* The model must outlive the session. */
SL_PUBLIC struct sl_session *sl_session_create(const struct sl_model *model,
                                               const struct sl_session_options *options,
                                               struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_session_destroy(struct sl_session *session); /* NULL is fine */

/* New tokens for one slot, and what came of them. */
struct sl_chunk {
    /* in */
    int slot;              /* 0 .. slots-1, each at most once in a run */
    const int32_t *tokens; /* ids below the vocabulary's size */
    int count;             /* > 0; with what the slot holds at most the model's context */
    bool all_logits;       /* logits after every token, not only the last */
    /* out */
    const float *logits; /* vocab floats (count x vocab with all_logits), until the next run */
    int64_t layers_used; /* token-layer operations that ran */
    int64_t layers_full; /* that a model without gates would have run: count x depth */
    bool finite; /* false: these logits hold NaN or infinity; other feeds are not affected */
};

/* Runs the feeds as one batch. Fails only for broken promises of the caller, before anything
 * runs. */
SL_PUBLIC bool sl_session_run(struct sl_session *session, struct sl_chunk *feeds, int count,
                              struct sl_err *err) SL_MUST_CHECK;

SL_PUBLIC int sl_session_length(const struct sl_session *session, int slot); /* tokens it holds */
SL_PUBLIC void sl_session_clear(struct sl_session *session, int slot);

/* How the next token is chosen from logits. */
struct sl_sampling {
    float temperature; /* 0: the most likely, lowest id first among equals */
    int top_k;         /* 0: all */
    float top_p;       /* 1: all */
    float presence_penalty, frequency_penalty; /* subtracted from logits of tokens already there */
    const float *bias;                         /* vocab floats added to the logits; NULL: none */
};

/* One decision. The same logits, sampling, counts, key and index give the same token. */
struct sl_sample_params {
    const float *logits;
    int vocab;
    const struct sl_sampling *sampling;
    const int32_t *counts; /* vocab: how often each token was generated; NULL: no penalties */
    uint64_t key, index;   /* of the random number: which text, which token of it */
    void *scratch;         /* SL_SAMPLE_BYTES for each entry of the vocabulary, 8-byte aligned */
};

enum { SL_SAMPLE_BYTES = 12 };

SL_PUBLIC int32_t sl_sample(const struct sl_sample_params *choice);

#ifdef __cplusplus
}
#endif
