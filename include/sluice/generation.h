/* generation.h - generates one text: what to run next, what was sampled, when to stop.
 *
 * A generation does not run the model. The caller asks it for the next chunk of tokens, runs the
 * session, and passes the chunk with its logits back; so many generations can share a batch:
 *
 *     while (!sl_generation_finished(g)) {
 *         struct sl_chunk chunk = {.slot = slot};
 *         sl_generation_next_chunk(g, session, tokens_left, &chunk);
 *         sl_session_run(session, &chunk, 1, err);
 *         sl_generation_accept(g, &chunk);
 *     }
 *
 * Of a model that translates, the prompt is the text to translate, and the generation its
 * translation: at most a context long, final only as a whole, without echo and log probabilities.
 *
 * A text longer than the model's context continues over a sliding window: when the slot is full, it
 * is cleared and the last context / 2 tokens are run again. The text depends on prompt, options,
 * seed and model alone, never on how chunks were cut or batched.
 *
 * The tokenizer and the model must outlive the generation. One thread at a time. */
#pragma once

#include "sluice/sampling.h"
#include "sluice/session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_generation;

enum { SL_STOPS_MAX = 16, SL_STOP_BYTES_MAX = 256, SL_LOGPROBS_MAX = 20, SL_GATES_MAX = 64 };

struct sl_generation_options {
    const int32_t *prompt;       /* copied; ids below the vocabulary's size */
    int prompt_count;            /* 0 .. context; 0: as after a line break */
    int max_tokens;              /* >= 0; 0: only with echo */
    struct sl_sampling sampling; /* bias is copied */
    uint64_t seed;
    int choice; /* index among the n samples of one request; each has its own random numbers */
    const char *stops[SL_STOPS_MAX]; /* copied; the text ends before the first that appears */
    int stop_count;
    bool logprobs;    /* record log probabilities, */
    int top_logprobs; /* and those of this many most likely tokens, 0 .. SL_LOGPROBS_MAX */
    bool gates;       /* with logprobs: record gates, too */
    bool echo;        /* the text begins with the prompt */
};

enum sl_finish {
    SL_RUNNING,
    SL_FINISH_STOP,   /* a stop string appeared, or a token that ends the model's texts */
    SL_FINISH_LENGTH, /* max_tokens were generated */
    SL_FINISH_ERROR   /* the model produced NaN or infinity, or memory ran out */
};

/* One token of the text; recorded with options.logprobs. */
struct sl_token_logprob {
    int32_t id;
    float log_probability; /* NAN for the first token of an echoed prompt */
    size_t text_offset;    /* bytes, into the text */
    int layers;            /* that computed it: those of the token before; 0 where it is NAN */
    int top_count;
    int32_t top_ids[SL_LOGPROBS_MAX];
    float top_log_probabilities[SL_LOGPROBS_MAX];
    /* With options.gates: what acted on the token before, as in struct sl_chunk. 0: nothing is
     * known, or there are more than SL_GATES_MAX routes. */
    int gate_count;
    float gates[SL_GATES_MAX];
};

struct sl_generation_usage {
    int prompt_tokens, completion_tokens;
    int64_t layers_used, layers_full; /* token-layer operations: executed, and without gates */
};

SL_PUBLIC struct sl_generation *sl_generation_create(const struct sl_model *model,
                                                     const struct sl_generation_options *options,
                                                     struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_generation_destroy(struct sl_generation *g); /* NULL is fine */

/* Fills tokens, count, source and all_logits of the chunk for chunk->slot: 1 to tokens_max tokens,
 * the source included; 0 if a source, which is never divided, has no room. Clears the slot when the
 * window slides. The slot must be empty at the first call. Not to be called once finished. */
SL_PUBLIC void sl_generation_next_chunk(struct sl_generation *g, struct sl_session *session,
                                        int tokens_max, struct sl_chunk *chunk);
/* Takes the chunk with its logits: samples, appends text, decides whether to stop. */
SL_PUBLIC void sl_generation_accept(struct sl_generation *g, const struct sl_chunk *chunk);

SL_PUBLIC enum sl_finish sl_generation_finish(const struct sl_generation *g);
SL_PUBLIC bool sl_generation_finished(const struct sl_generation *g);

/* The stable text so far: whole UTF-8 characters, without what may turn out to be the beginning of
 * a stop string. It only grows, and is complete once finished. Valid until the next accept. */
SL_PUBLIC const char *sl_generation_text(const struct sl_generation *g, size_t *bytes);
/* The log probabilities of the tokens of that stable text. */
SL_PUBLIC const struct sl_token_logprob *sl_generation_logprobs(const struct sl_generation *g,
                                                                int *count);
SL_PUBLIC struct sl_generation_usage sl_generation_usage(const struct sl_generation *g);

#ifdef __cplusplus
}
#endif
