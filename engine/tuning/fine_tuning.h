/* fine_tuning.h - fine-tunes a pretrained encoder, with a new output layer, on labelled texts
 * (Devlin et al. 2019, section 3.2; Mosbach et al. 2021). All in memory.
 *
 *     sl_fine_tuning_open(&f, &options, &err)
 *     sl_fine_tuning_begin(&f)                                 any number of times:
 *     sl_fine_tuning_fit(&f, &recipe, rows, count, &err)
 *     sl_fine_tuning_predict(&f, others, count, logits, &err)
 *     sl_fine_tuning_close(&f)
 *
 * The same texts, recipe and instruction set give the same bits, with any number of threads. */
#pragma once

#include "data/dataset.h"
#include "linear/linear_results.h"
#include "tuning/text_tuner.h"

struct sl_fine_tuning_options {
    struct sl_engine *engine;
    const char *encoder;          /* the directory of a checkpoint that gives embeddings */
    const struct sl_dataset *set; /* encoded with its tokenizer; borrowed */
};

/* Called after each step of a fit. */
struct sl_step_watch {
    void (*step)(void *context); /* may be NULL */
    void *context;
};

struct sl_fine_tuning {
    struct sl_step_watch watch;
    struct sl_text_tuner tuner;
    struct sl_arena arena;
    float *targets; /* of several labels: of a micro-batch */
    float *start;   /* the values that every fit begins with, one parameter after another */
};

bool sl_fine_tuning_open(struct sl_fine_tuning *f, const struct sl_fine_tuning_options *options,
                         struct sl_err *err) SL_MUST_CHECK;
void sl_fine_tuning_close(struct sl_fine_tuning *f); /* a zeroed one is fine */

/* Makes the encoder what it was at the beginning, with a random output layer. */
void sl_fine_tuning_begin(const struct sl_fine_tuning *f);
/* Fits it, as it is, to these texts of the set. */
bool sl_fine_tuning_fit(struct sl_fine_tuning *f, const struct sl_encoder_recipe *recipe,
                        const int32_t *rows, int count, struct sl_err *err) SL_MUST_CHECK;
/* How many steps a fit to so many texts has. */
int sl_fine_tuning_steps(const struct sl_encoder_recipe *recipe, int count);
/* Sets the logits of these texts: row i of `logits`, of all texts of the set x labels, is that of
 * text i. */
bool sl_fine_tuning_predict(const struct sl_fine_tuning *f, const int32_t *rows, int count,
                            float *logits, struct sl_err *err) SL_MUST_CHECK;
