/* forward.h - forward passes for benchmarks: texts of the same length, complete, in one batch. */
#pragma once

#include "infer/batch_runner.h"

struct forward {
    const struct sl_model *model; /* borrowed */
    struct sl_policy policy;      /* the model's, until changed; the runner shares it */
    struct sl_batch_runner runner;
    struct sl_batch batch;
    struct sl_sequence *sequences;
    int32_t *tokens;
};

/* Prints the error and ends the program if p is NULL. Else returns p. */
void *forward_need(void *p, const struct sl_err *err);

/* A positive number of the command line. Prints an error and ends the program if it is none. */
int forward_number(const char *word);

/* A model of this architecture at its default sizes, but for the vocabulary and the context, with
 * random weights. `prepare`, unless NULL, changes its configuration first. */
struct sl_model *forward_model(struct sl_engine *engine, const char *name, int vocab, int context,
                               void (*prepare)(struct sl_config *config));

/* tokens: texts x length, copied; NULL: random ones. False, and nothing to release: a pass would
 * take more than 6 GiB. */
bool forward_init(struct forward *f, const struct sl_model *model, int texts, int length,
                  const int32_t *tokens);
void forward_release(struct forward *f);

/* The logits, until the next pass: of all tokens, or of a classifier of all texts. */
const struct sl_tensor *forward_run(struct forward *f);
/* The fastest of the passes that begin within so many seconds; at least one, after another that is
 * not counted. */
double forward_best_ms(struct forward *f, double seconds);
/* Of the layers that could be skipped, the part that the last pass ran. */
double forward_alpha(const struct forward *f);
