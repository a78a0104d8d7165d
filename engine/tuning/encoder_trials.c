/* encoder_trials.c - which recipes are tried, and the model of the best one. */
#include "tuning/encoder_trials.h"

#include "base/clock.h"
#include "checkpoint/checkpoint.h"
#include "linear/linear_base.h"
#include "linear/linear_model.h"
#include "linear/linear_tokens.h"
#include "linear/linear_trials.h"
#include "tuning/encoder_cascade.h"
#include "tuning/encoder_head.h"
#include "tuning/encoder_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS = 3 }; /* of encoder and n-grams, in different proportions */

enum { FROZEN = 3 }; /* output layers for the encoder as it is */

/* Whose logits are kept. */
enum part { TUNED, NGRAMS, AS_IT_IS, PARTS };

/* That a small encoder reads in a quarter of an hour, and those that it may read with more time. */
static const double tokens_most = 8e6, tokens_per_second = 8e3;

/* Of more tokens, embeddings would take minutes, and fine-tuning has the steps to do without. */
static const double embedded_tokens_max = 4e6;

enum { NGRAMS_MAX = 160000 }; /* fewer than in a linear model: an encoder makes up for rare ones */

/* ---- n-grams --------------------------------------------------------------------------------- */

static bool open_features(struct sl_encoder_trials *e, struct sl_err *err)
{
    e->parts = *sl_linear_model_parts(e->bag);
    if (sl_linear_tokens_can_spell(e->tokens)) {
        e->parts.spellings = &e->spellings;
        if (!sl_linear_tokens_spell(&e->spellings, e->tokens, err))
            return false;
    }
    const struct sl_ngram_limits limits = {sl_linear_order(e->set.count), NGRAMS_MAX};
    return sl_text_features_open(&e->features, e->fits.own_engine, &e->parts, limits, &e->whole,
                                 err);
}

bool sl_encoder_trials_embed(struct sl_encoder_trials *e, struct sl_err *err)
{
    return !e->embeds || e->features.dense_cols > 0 ||
           sl_encoder_head_embed(&e->features, &e->fits.embedding_scale, e->fits.own_engine,
                                 e->fits.encoder, &e->set, err);
}

/* That of the best linear recipe so far, whose word vectors the encoder replaces. */
static struct sl_linear_recipe ngram_recipe(const struct sl_encoder_trials *e,
                                            const struct sl_linear_search *search)
{
    struct sl_linear_recipe recipe = search->trials[search->best].recipe;
    if (recipe.sparse_c <= 0.0f)
        recipe =
            (struct sl_linear_recipe){.loss = e->set.multi_label ? SL_LOSS_BINARY : SL_LOSS_SQUARED,
                                      .ngrams = {.order = 2},
                                      .sparse_c = 3.0f};
    recipe.ngrams.characters = recipe.ngrams.characters && e->features.has_characters;
    recipe.dense_c = 0.0f;
    return recipe;
}

/* Sets the logits of the folds' texts. */
static bool predict_linear(const struct sl_encoder_trials *e, const struct sl_linear_run *s,
                           struct sl_linear_recipe recipe, float *logits, struct sl_err *err)
{
    struct sl_linear_search_options options = *s->options;
    struct sl_linear_run run = *s;
    options.features = &e->features;
    options.set = &e->whole;
    run.options = &options;
    run.recipe = recipe;
    run.logits = logits;
    return sl_linear_predict_folds(&run, err);
}

/* C of the output layer that fine-tuning begins with. Of few labels one that is sure of little,
 * since where it is sure nothing is learnt; of many one that is nearly finished, as the steps are
 * too few for them. More texts make it surer, and take more steps. Chosen on five sets of 2 to 150
 * labels. */
static float first_head_c(const struct sl_dataset *set)
{
    static const float power = 1.5f, factor = 20.0f;
    return factor * powf((float)set->labels.count, power) / (float)set->count;
}

/* Few texts need more passes over them. Lower layers learn more slowly: that costs no accuracy, and
 * predictions are less sure of themselves. */
static struct sl_encoder_recipe recipe_for(const struct sl_encoder_trials *e)
{
    const struct sl_dataset *set = &e->set;
    const double epochs = fmin(fmax(8.0 * sqrt(300.0 / set->count), 2.0), 16.0),
                 most = fmax(1.0, e->tokens_most / (double)set->ids_count);
    const bool can_begin = e->features.dense_cols > 0;
    return (struct sl_encoder_recipe){.epochs = (int)lround(fmin(epochs, most)),
                                      .head_c = can_begin ? first_head_c(set) : 0.0f,
                                      .batch_size = 32,
                                      .learning_rate = 2e-4f,
                                      .layer_decay = 0.8f};
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* Logits of both, so far apart as makes them probabilities. */
struct both {
    const float *encoder, *ngrams;
    float encoder_scale, ngram_scale;
    size_t count;
};

static struct sl_calibration calibration_of(const struct sl_linear_run *s, const float *logits)
{
    const struct sl_predictions predictions = sl_linear_predictions(s, logits);
    return sl_calibration_fit_temperature(&predictions);
}

static void try_sums(struct sl_linear_run *s, struct sl_linear_trial trial, const struct both *both)
{
    static const float weights[SUMS] = {0.25f, 0.5f, 1.0f};
    for (int w = 0; w < SUMS; w++) {
        const double begun = sl_now_seconds();
        trial.ngram_weight = weights[w];
        trial.encoder_scale = both->encoder_scale;
        trial.ngram_scale = weights[w] * both->ngram_scale;
        for (size_t i = 0; i < both->count; i++)
            s->logits[i] =
                trial.encoder_scale * both->encoder[i] + trial.ngram_scale * both->ngrams[i];
        sl_linear_keep(s, trial, begun);
    }
}

/* Alone, an encoder is published as it is, which reads one end of long texts. */
static void keep_alone(const struct sl_encoder_trials *e, struct sl_linear_run *s,
                       struct sl_linear_trial trial, double begun)
{
    if (!e->is_long)
        sl_linear_keep(s, trial, begun);
}

static float *logits_of(const struct sl_encoder_trials *e, enum part part)
{
    return e->logits + (size_t)part * (size_t)e->set.count * (size_t)e->set.labels.count;
}

/* Those of the run, as those of a part. */
static void keep_logits(const struct sl_encoder_trials *e, const struct sl_linear_run *s,
                        enum part part)
{
    memcpy(logits_of(e, part), s->logits,
           (size_t)e->set.count * (size_t)s->classes * sizeof *s->logits);
}

/* Output layers for the encoder as it is; the trial's becomes the one with the lowest loss. */
static bool try_heads(const struct sl_encoder_trials *e, struct sl_linear_run *s,
                      struct sl_linear_trial *trial, struct sl_err *err)
{
    static const float strengths[FROZEN] = {10.0f, 100.0f, 1000.0f};
    struct sl_linear_trial tried = *trial;
    double least = INFINITY;
    for (int i = 0; i < FROZEN; i++) {
        const double begun = sl_now_seconds();
        tried.encoder.head_c = strengths[i];
        if (!predict_linear(e, s, sl_encoder_head_recipe(&e->set, strengths[i]), s->logits, err))
            return false;
        keep_alone(e, s, tried, begun);
        const struct sl_calibration calibration = calibration_of(s, s->logits);
        const struct sl_predictions predictions = sl_linear_predictions(s, s->logits);
        const double loss = sl_calibration_loss(&calibration, &predictions);
        if (loss >= least)
            continue;
        least = loss;
        *trial = tried;
        keep_logits(e, s, AS_IT_IS);
    }
    return true;
}

/* alone: the calibration of the n-grams. */
static void try_parts(const struct sl_encoder_trials *e, struct sl_linear_run *s,
                      struct sl_linear_trial trial, enum part encoder,
                      const struct sl_calibration *alone)
{
    const struct both both = {
        .encoder = logits_of(e, encoder),
        .ngrams = logits_of(e, NGRAMS),
        .encoder_scale = (float)(1.0 / calibration_of(s, logits_of(e, encoder)).temperature),
        .ngram_scale = (float)(1.0 / alone->temperature),
        .count = (size_t)e->set.count * (size_t)s->classes};
    trial.ngram_shift = alone->independent ? (float)alone->shift : 0.0f;
    try_sums(s, trial, &both);
}

static bool try_recipes(struct sl_encoder_trials *e, struct sl_linear_run *s, struct sl_err *err)
{
    const bool can_stay = e->features.dense_cols > 0;
    struct sl_linear_trial tuned = {.recipe = ngram_recipe(e, s->out),
                                    .encoder = recipe_for(e),
                                    .encoder_scale = 1.0f},
                           as_it_is = tuned;
    as_it_is.encoder.epochs = 0;
    if (can_stay && !try_heads(e, s, &as_it_is, err))
        return false;
    const double begun = sl_now_seconds();
    if (!sl_encoder_try_folds(&e->fits, s, &tuned.encoder, err))
        return false;
    keep_logits(e, s, TUNED);
    keep_alone(e, s, tuned, begun);
    if (!predict_linear(e, s, tuned.recipe, logits_of(e, NGRAMS), err))
        return false;
    const struct sl_calibration alone = calibration_of(s, logits_of(e, NGRAMS));
    try_parts(e, s, tuned, TUNED, &alone);
    if (can_stay)
        try_parts(e, s, as_it_is, AS_IT_IS, &alone);
    return true;
}

/* The run ends before a model is fitted. */
static bool keep_predicted(struct sl_encoder_trials *e, const struct sl_linear_run *s,
                           struct sl_err *err)
{
    const size_t texts = (size_t)e->set.count;
    free(e->logits);
    free(e->predicted);
    e->logits = calloc(PARTS * texts * (size_t)s->classes, sizeof *e->logits);
    e->predicted = calloc(texts, sizeof *e->predicted);
    if (!e->logits || !e->predicted)
        return sl_fail(err, SL_NO_MEMORY, "no memory for predictions of %zu texts", texts);
    memcpy(e->predicted, s->predicted, (size_t)s->predicted_count * sizeof *e->predicted);
    e->predicted_count = s->predicted_count;
    return true;
}

static bool try_all(void *context, struct sl_linear_run *s, struct sl_err *err)
{
    return sl_encoder_trials_embed(context, err) && keep_predicted(context, s, err) &&
           try_recipes(context, s, err);
}

/* ---- the result ------------------------------------------------------------------------------ */

static void scale_values(const struct sl_model *model, const char *name, double scale)
{
    const struct sl_parameter *p = sl_model_find(model, name);
    if (p)
        model->kernels->scale(p->data, (float)scale, p->data, (int)sl_parameter_floats(p));
}

static void shift_values(const struct sl_model *model, const char *name, double shift)
{
    const struct sl_parameter *p = sl_model_find(model, name);
    for (size_t i = 0; p && i < sl_parameter_floats(p); i++)
        p->data[i] += (float)shift;
}

/* Logits are divided by the temperature, and shifted: the output layer is linear. */
static bool finish(struct sl_model *model, const struct sl_encoder_trials *e, double scale,
                   double shift, struct sl_err *err)
{
    scale_values(model, "classifier.weight", scale);
    scale_values(model, "classifier.bias", scale);
    shift_values(model, "classifier.bias", shift);
    sl_checkpoint_round_to_int8(model->state_dict, model->state_dict_count);
    sl_model_pack(model);
    if (!sl_linear_model_set_labels(model, &e->set.labels, err))
        return false;
    sl_model_describe(model);
    return true;
}

static struct sl_model *cascade_of(const struct sl_encoder_trials *e, const struct sl_model *tuned,
                                   const struct sl_linear_trial *trial,
                                   const struct sl_calibration *calibration, struct sl_err *err)
{
    const struct sl_cascade_evidence evidence = {
        .encoder = e->logits ? logits_of(e, trial->encoder.epochs > 0 ? TUNED : AS_IT_IS) : NULL,
        .ngrams = e->logits ? logits_of(e, NGRAMS) : NULL,
        .texts = e->predicted,
        .count = e->predicted_count};
    const struct sl_encoder_cascade cascade = {.tuned = tuned,
                                               .features = &e->features,
                                               .parts = &e->parts,
                                               .set = &e->whole,
                                               .rows = e->rows,
                                               .context = e->context,
                                               .beginning = e->reads.beginning,
                                               .trial = trial,
                                               .calibration = calibration,
                                               .evidence = &evidence};
    return sl_encoder_cascade_create(&cascade, err);
}

/* The shift of the sum: the n-grams already have one of their own. */
static double shift_of(const struct sl_linear_trial *trial,
                       const struct sl_calibration *calibration)
{
    const double scale = (double)trial->ngram_weight / calibration->temperature;
    return calibration->independent ? calibration->shift - scale * (double)trial->ngram_shift : 0.0;
}

static struct sl_model *model_of(const struct sl_encoder_trials *e, struct sl_fine_tuning *tuning,
                                 const struct sl_linear_trial *trial,
                                 const struct sl_calibration *calibration, struct sl_err *err)
{
    const double scale = (double)trial->encoder_scale / calibration->temperature;
    struct sl_model *model = tuning->tuner.model;
    if (trial->ngram_scale > 0.0f)
        model = cascade_of(e, tuning->tuner.model, trial, calibration, err);
    else
        tuning->tuner.model = NULL;
    if (!model || finish(model, e, scale, shift_of(trial, calibration), err))
        return model;
    sl_model_close(model);
    return NULL;
}

static struct sl_model *fit(void *context, const struct sl_linear_trial *trial,
                            const struct sl_calibration *calibration, struct sl_err *err)
{
    struct sl_encoder_trials *e = context;
    struct sl_fine_tuning tuning = {0};
    struct sl_model *model = NULL;
    if (sl_encoder_fit_all(&e->fits, &tuning, &trial->encoder, e->rows, err))
        model = model_of(e, &tuning, trial, calibration, err);
    sl_fine_tuning_close(&tuning);
    return model;
}

bool sl_encoder_trials_open(struct sl_encoder_trials *e,
                            const struct sl_encoder_trials_options *options, struct sl_err *err)
{
    *e = (struct sl_encoder_trials){.fits = {.engine = options->engine,
                                             .encoder = options->encoder,
                                             .set = &e->set,
                                             .features = &e->features}};
    e->fits.progress.watch = options->watch;
    e->tokens_most = fmax(tokens_most, tokens_per_second * options->seconds);
    atomic_flag_clear(&e->fits.progress.is_told);
    const int threads = sl_thread_pool_size(options->engine->pool);
    bool ok = (e->fits.own_engine = sl_encoder_engine(options->engine, threads, err)) != NULL &&
              sl_encoder_head_can_fit(options->encoder, &e->embeds, err) &&
              sl_encoder_texts_open(e, options, err);
    e->too_many = (double)e->set.ids_count > e->tokens_most;
    ok = ok &&
         ((e->rows = calloc((size_t)e->set.count, sizeof *e->rows)) != NULL ||
          sl_fail(err, SL_NO_MEMORY, "no memory for a list of texts")) &&
         (e->too_many || open_features(e, err));
    for (int i = 0; ok && i < e->set.count; i++)
        e->rows[i] = i;
    e->embeds = e->embeds && (double)e->set.ids_count <= embedded_tokens_max;
    const int kinds = e->embeds ? 2 : 1; /* tuned, and as it is */
    const int alone = e->is_long ? 0 : 1 + (kinds - 1) * FROZEN;
    e->models = (struct sl_other_models){.context = e,
                                         .count = alone + kinds * SUMS,
                                         .try_all = try_all,
                                         .fit = fit,
                                         .tokens = e->tokens};
    if (!ok)
        sl_encoder_trials_close(e);
    return ok;
}

double sl_encoder_trials_seconds(const struct sl_encoder_trials *e)
{
    return (double)e->set.ids_count / tokens_per_second;
}

const struct sl_dataset *sl_encoder_trials_texts(const struct sl_encoder_trials *e,
                                                 const struct sl_model *model)
{
    return model->arch->extends ? &e->whole : &e->set;
}

void sl_encoder_trials_close(struct sl_encoder_trials *e)
{
    sl_text_features_close(&e->features);
    sl_encoder_texts_close(e);
    free(e->spellings.data);
    free(e->logits);
    free(e->predicted);
    sl_engine_destroy(e->fits.own_engine);
    free(e->rows);
    *e = (struct sl_encoder_trials){0};
}
