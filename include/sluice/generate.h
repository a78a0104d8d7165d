/* generate.h - one text being completed: what to feed next, what was sampled, when to stop.
 *
 * A generation holds no computer: whoever runs the session asks each of its generations what to
 * feed, runs all feeds as one batch, and hands each generation its own feed back.
 *
 *     while (!sl_generation_finished(g)) {
 *         struct sl_chunk feed = {.slot = slot};
 *         sl_generation_next_chunk(g, session, rows_left, &feed);
 *         sl_session_run(session, &feed, 1, err);
 *         sl_generation_accept(g, &feed);
 *     }
 *
 * A text longer than the model's context goes on over a sliding window: when the slot is full it is
 * cleared and the last context / 2 tokens are fed again. What is generated depends on prompt,
 * options, seed and model alone, never on how feeds were cut or batched.
 *
 * The tokenizer and the model must outlive the generation. One thread at a time. */
#pragma once

#include "sluice/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_generation;

enum { SL_STOPS_MAX = 4, SL_STOP_BYTES_MAX = 256, SL_LOGPROBS_MAX = 5 };

struct sl_generation_options {
    const int32_t *prompt;       /* copied; ids below the vocabulary's size */
    int prompt_count;            /* 0 .. context; an empty prompt begins after a line break */
    int max_tokens;              /* >= 0; 0 only makes sense with echo */
    struct sl_sampling sampling; /* bias is copied */
    uint64_t seed;
    int choice; /* numbers the n samples of one request: each draws its own numbers */
    const char *stops[SL_STOPS_MAX]; /* copied; the text ends before the first one to appear */
    int stop_count;
    bool logprobs;    /* record log probabilities, */
    int top_logprobs; /* and those of this many most likely tokens, 0 .. SL_LOGPROBS_MAX */
    bool echo;        /* the text begins with the prompt */
};

enum sl_finish {
    SL_RUNNING,
    SL_FINISH_STOP,   /* a stop string appeared */
    SL_FINISH_LENGTH, /* max_tokens were generated */
    SL_FINISH_ERROR   /* the model gave numbers that are not finite, or memory ran out */
};

/* One token of the text, when logprobs were asked for. */
struct sl_token_logprob {
    int32_t id;
    float log_probability; /* NAN for the first token of an echoed prompt: nothing came before it */
    size_t text_offset;    /* bytes, into the text */
    int top_count;
    int32_t top_ids[SL_LOGPROBS_MAX];
    float top_log_probabilities[SL_LOGPROBS_MAX];
};

struct sl_generation_usage {
    int prompt_tokens, completion_tokens;
    int64_t layers_used,
        layers_full; /* token-layer operations: run, and run by a model without gates */
};

SL_PUBLIC struct sl_generation *sl_generation_create(const struct sl_model *model,
                                                     const struct sl_generation_options *options,
                                                     struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_generation_destroy(struct sl_generation *g); /* NULL is fine */

/* Fills tokens, count and all_logits for feed->slot, at most rows_max (> 0) tokens; clears the slot
 * when the window slides. The slot must be empty the first time. Not after it has finished. */
SL_PUBLIC void sl_generation_next_chunk(struct sl_generation *g, struct sl_session *session,
                                        int rows_max, struct sl_chunk *feed);
/* Takes the outcome of that feed: samples, appends text, decides whether to stop. */
SL_PUBLIC void sl_generation_accept(struct sl_generation *g, const struct sl_chunk *feed);

SL_PUBLIC enum sl_finish sl_generation_finish(const struct sl_generation *g);
SL_PUBLIC bool sl_generation_finished(const struct sl_generation *g);

/* The text that is certain so far: whole UTF-8 characters, without what may yet turn out to be
 * the beginning of a stop string. It only grows; everything is certain once finished. Valid until
 * the next take. */
SL_PUBLIC const char *sl_generation_text(const struct sl_generation *g, size_t *bytes);
/* The records of the tokens of that certain text. */
SL_PUBLIC const struct sl_token_logprob *sl_generation_logprobs(const struct sl_generation *g,
                                                                int *count);
SL_PUBLIC struct sl_generation_usage sl_generation_usage(const struct sl_generation *g);

#ifdef __cplusplus
}
#endif
