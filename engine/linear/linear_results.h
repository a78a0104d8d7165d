/* linear_results.h - what a search for a recipe is given, and what it finds. */
#pragma once

#include "linear/calibration.h"
#include "linear/learning_curve.h"
#include "linear/linear_problem.h"

enum { SL_LINEAR_TEXTS_VERY_MANY = 8000 };

/* How a pretrained encoder becomes a classifier. */
struct sl_encoder_recipe {
    int epochs;   /* of fine-tuning; 0: the encoder stays as it is */
    float head_c; /* C of the output layer that is fitted to its embeddings first; 0: none is */
    int batch_size;
    float learning_rate; /* its peak, after a tenth of the steps */
    float layer_decay;   /* as in hyperparameters.h */
};

/* A recipe that was tried. Its measures are those of the predictions with the best temperature. */
struct sl_linear_trial {
    struct sl_linear_recipe recipe;
    /* With a batch size, this instead; logits are its times `encoder_scale` plus those of `recipe`,
     * of n-grams alone, times `ngram_scale`. */
    struct sl_encoder_recipe encoder;
    float encoder_scale, ngram_scale; /* 0: without n-grams */
    float ngram_weight; /* beside that of the encoder, of logits that both are calibrated to, */
    float ngram_shift;  /* those of n-grams by this */
    int folds;          /* that were predicted */
    double accuracy, loss, seconds;
    double micro_f1; /* 2 right labels / (labels + predicted labels); the accuracy where each text
                        has one of both */
    double merit;    /* what makes it better than others */
};

enum { SL_LINEAR_TRIALS_MAX = 64 };

struct sl_linear_search {
    struct sl_linear_trial trials[SL_LINEAR_TRIALS_MAX];
    int planned, count, best; /* number of trials: in all, so far; the best one of them */
    int repeated; /* with more time: the last trials, which repeat the best ones with more folds */
    int folds, folds_predicted;
    int32_t *fold; /* of each text */
    /* Of the best recipe: its calibration, the loss of its predictions with it, and the
     * probabilities, texts x classes; undefined for texts in folds that were not predicted. */
    struct sl_calibration calibration;
    double loss;
    float *probabilities;
    struct sl_learning_curve curve; /* of the best recipe; empty if texts have several labels */
};

struct sl_linear_run;

/* Models of another kind, which a search tries after the linear ones. */
struct sl_other_models {
    void *context;
    int count; /* of recipes, at most */
    /* Tries them: sets the logits of the run and calls sl_linear_keep, for each. */
    bool (*try_all)(void *context, struct sl_linear_run *s, struct sl_err *err);
    /* A recipe fitted to all texts, calibrated. NULL on failure. */
    struct sl_model *(*fit)(void *context, const struct sl_linear_trial *trial,
                            const struct sl_calibration *calibration, struct sl_err *err);
    const struct sl_tokenizer *tokens; /* of these models */
};

struct sl_linear_search_options {
    struct sl_engine *engine;
    const struct sl_text_features *features;
    const struct sl_dataset *set;         /* the same texts; still has them */
    const struct sl_other_models *others; /* NULL: none */
    double seconds; /* to go on for after the usual recipes, in all; 0: none */
    /* Before the first trial, and after each; may be NULL. */
    void (*report)(void *context, const struct sl_linear_search *search);
    void *context;
};

/* Words of the longest n-grams that are tried with so many texts. Trigrams need many texts to occur
 * in several, and the ratios that tell which of them matter. */
static inline int sl_linear_order(int texts)
{
    return texts > SL_LINEAR_TEXTS_VERY_MANY ? 3 : 2;
}

/* The best recipe of so many texts has the highest accuracy, or micro F1, minus this times the
 * loss; of several labels the loss is divided by their mean number in a text, if that is more than
 * 1. */
static inline double sl_linear_loss_weight(int texts)
{
    return texts > SL_LINEAR_TEXTS_VERY_MANY ? 0.1 : 0.3;
}

/* Where texts are too few to show which is best, a later kind is preferred. */
enum sl_recipe_kind {
    SL_RECIPE_LINEAR,
    SL_RECIPE_FROZEN_ENCODER,
    SL_RECIPE_TUNED_ENCODER,
    SL_RECIPE_KINDS
};

static inline enum sl_recipe_kind sl_linear_trial_kind(const struct sl_linear_trial *trial)
{
    if (trial->encoder.batch_size == 0)
        return SL_RECIPE_LINEAR;
    return trial->encoder.epochs > 0 ? SL_RECIPE_TUNED_ENCODER : SL_RECIPE_FROZEN_ENCODER;
}

static inline bool sl_linear_trial_is_linear(const struct sl_linear_trial *trial)
{
    return sl_linear_trial_kind(trial) == SL_RECIPE_LINEAR;
}

/* Whether the best recipe so far is. */
static inline bool sl_linear_search_is_linear(const struct sl_linear_search *search)
{
    return sl_linear_trial_is_linear(&search->trials[search->best]);
}

/* Whether a text was predicted. */
static inline bool sl_linear_search_has(const struct sl_linear_search *search, int text)
{
    return search->fold[text] < search->folds_predicted;
}
