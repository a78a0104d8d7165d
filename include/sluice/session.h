/* session.h - runs a model that completes or translates text: many sequences, each with a KV cache,
 * in one ragged batch.
 *
 * A session has `max_sequences` slots. A slot caches the tokens of one text. Each sl_session_run
 * appends chunks of new tokens to any number of slots (a prompt, a part of one, or the token just
 * sampled) and returns the logits that follow. Batch-invariant: the logits are bit for bit the same
 * whether a slot runs alone or among hundreds, with one thread or many, whatever the operating
 * points of the others.
 *
 * A session belongs to one thread at a time. Caches and memory for the largest run are allocated
 * when it is created, except for lists of rows, whose length depends on the texts: they begin with
 * 4 MiB and grow when a run needs more. */
#pragma once

#include "sluice/logits.h"
#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_session;

struct sl_session_options {
    int max_sequences;    /* slots, numbered from 0 */
    int max_batch_tokens; /* tokens in one run, over all slots; at least max_sequences */
};

/* The model must outlive the session. */
SL_PUBLIC struct sl_session *sl_session_create(const struct sl_model *model,
                                               const struct sl_session_options *options,
                                               struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_session_destroy(struct sl_session *session); /* NULL is fine */

/* Bytes that a slot takes once it caches as many tokens as the context holds; until then less. */
SL_PUBLIC size_t sl_session_slot_bytes(const struct sl_model *model);

/* New tokens of one slot, and their result. */
struct sl_chunk {
    /* in */
    int slot;              /* 0 .. max_sequences - 1; at most once in a run */
    const int32_t *tokens; /* ids below the vocabulary's size */
    int count;             /* > 0; together with the cached tokens at most the model's context */
    bool all_logits;       /* logits after every token, not only the last */
    int operating_point;   /* a number of sl_model_operating_point; 0: as the model says */
    /* Of a model that translates, with the first chunk of a translation: the text to translate. It
     * counts among the tokens of a run; not among those that the slot caches. */
    const int32_t *source;
    int source_count; /* 1 to the model's context; else 0 */
    bool wants_gates;
    /* out */
    const float *logits; /* vocab floats (count x vocab with all_logits), until the next run */
    int64_t layers_used; /* token-layer operations executed */
    int64_t layers_full; /* that a model without gates would execute: count x depth */
    const int32_t *token_layers; /* layers that ran on each of the tokens, until the next run */
    /* If wanted of a model with routes: for each token the weight with which each of
     * sl_model_info.routes acted on it, 0 if it did not run; until the next run. Else NULL. */
    const float *gates;
    bool finite; /* false: these logits hold NaN or infinity; other chunks are not affected */
};

/* Runs the chunks as one batch. Fails only if a chunk breaks the rules above or the options'
 * limits, and then before anything is computed. */
SL_PUBLIC bool sl_session_run(struct sl_session *session, struct sl_chunk *chunks, int count,
                              struct sl_err *err) SL_MUST_CHECK;
/* A first run, of one text, so that later ones find their memory in place. All slots are empty
 * before and after it. It runs on the calling thread alone: other sessions and classifiers of the
 * engine do not wait for it. Fails if the logits hold NaN or infinity. */
SL_PUBLIC bool sl_session_warm_up(struct sl_session *session, const int32_t *tokens, int count,
                                  struct sl_err *err) SL_MUST_CHECK;

SL_PUBLIC int sl_session_length(const struct sl_session *session, int slot); /* cached tokens */
SL_PUBLIC void sl_session_clear(struct sl_session *session, int slot);
/* Makes a slot, other than `from`, go on from where that one is. */
SL_PUBLIC void sl_session_copy(struct sl_session *session, int from, int to);

#ifdef __cplusplus
}
#endif
