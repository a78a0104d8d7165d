/* encoder_trials.c - folds of fine-tunings. */
#include "tuning/encoder_trials.h"

#include "base/clock.h"
#include "checkpoint/checkpoint.h"
#include "linear/linear_base.h"
#include "linear/linear_model.h"
#include "linear/linear_tokens.h"
#include "linear/linear_trials.h"
#include "tuning/encoder_cascade.h"
#include "tuning/encoder_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS = 3 }; /* of encoder and n-grams, in different proportions */

/* That a small encoder reads in a quarter of an hour; of more tokens every text is read once, and
 * of many times as many not even that. */
enum { TOKENS_MOST = 8000000 };

enum { NGRAMS_MAX = 160000 }; /* fewer than in a linear model: an encoder makes up for rare ones */

/* Computes as another one does, or in bf16 where that is faster. */
static struct sl_engine *engine_like(const struct sl_engine *engine, int threads,
                                     struct sl_err *err)
{
    const bool prefers = engine->preferred & 1u << SL_PRECISION_BF16;
    const struct sl_engine_options options = {
        .threads = threads,
        .isa = sl_isa_name(engine->kernels->isa),
        .precision = prefers ? "bf16" : sl_precision_of(engine->kernels, false)};
    return sl_engine_create(&options, err);
}

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
    return sl_text_features_open(&e->features, e->own_engine, &e->parts, limits, &e->whole, err);
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
static bool predict_ngrams(const struct sl_encoder_trials *e, const struct sl_linear_run *s,
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

/* Few texts need more passes over them. Lower layers learn more slowly: that costs no accuracy, and
 * predictions are less sure of themselves. */
static struct sl_encoder_recipe recipe_for(const struct sl_dataset *set)
{
    const double epochs = fmin(fmax(8.0 * sqrt(300.0 / set->count), 2.0), 16.0),
                 most = fmax(1.0, (double)TOKENS_MOST / (double)set->ids_count);
    return (struct sl_encoder_recipe){.epochs = (int)lround(fmin(epochs, most)),
                                      .batch_size = 32,
                                      .learning_rate = 2e-4f,
                                      .layer_decay = 0.8f};
}

/* ---- progress -------------------------------------------------------------------------------- */

static void begin_progress(struct sl_encoder_trials *e, int steps)
{
    atomic_store(&e->progress.step, 0);
    e->progress.steps = steps;
}

/* Of a fit. A thread that finds another one telling has nothing to add. */
static void on_step(void *context)
{
    struct sl_trial_progress *p = context;
    (void)atomic_fetch_add(&p->step, 1);
    if (!p->watch.tell || atomic_flag_test_and_set(&p->is_told))
        return;
    p->watch.tell(p->watch.context, atomic_load(&p->step), p->steps);
    atomic_flag_clear(&p->is_told);
}

static struct sl_step_watch step_watch(struct sl_encoder_trials *e)
{
    return (struct sl_step_watch){.step = on_step, .context = &e->progress};
}

/* ---- folds ----------------------------------------------------------------------------------- */

/* Fits that run at the same time have a thread each: that is faster than one fit after another with
 * all threads, since its steps are small. */
struct fold_worker {
    struct sl_engine *engine;
    struct sl_fine_tuning tuning;
    int32_t *rows;
    struct sl_err err; /* of its last fold */
    bool ok;
};

struct folds {
    struct sl_encoder_trials *e;
    const struct sl_linear_run *s;
    const struct sl_encoder_recipe *recipe;
    struct fold_worker *workers; /* one for each thread of the pool; opened when it has a fold */
    int threads;                 /* of each */
};

static bool worker_open(struct fold_worker *w, const struct folds *f, struct sl_err *err)
{
    const size_t texts = (size_t)f->e->set.count;
    w->engine = engine_like(f->e->engine, f->threads, err);
    w->rows = calloc(texts, sizeof *w->rows);
    if (!w->engine)
        return false;
    if (!w->rows)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a list of %zu texts", texts);
    const struct sl_fine_tuning_options options = {
        .engine = w->engine, .encoder = f->e->encoder, .set = &f->e->set};
    if (!sl_fine_tuning_open(&w->tuning, &options, err))
        return false;
    w->tuning.watch = step_watch(f->e);
    return true;
}

static void worker_close(struct fold_worker *w)
{
    sl_fine_tuning_close(&w->tuning);
    sl_engine_destroy(w->engine);
    free(w->rows);
}

/* Lists the texts of a fold, or all others; returns how many. */
static int list_rows(const struct folds *f, int fold, bool inside, int32_t *rows)
{
    int count = 0;
    for (int i = 0; i < f->e->set.count; i++)
        if ((f->s->out->fold[i] == fold) == inside)
            rows[count++] = i;
    return count;
}

/* Of all folds. */
static int count_steps(const struct folds *f)
{
    int steps = 0;
    for (int fold = 0; fold < f->s->out->folds_predicted; fold++)
        steps += sl_fine_tuning_steps(f->recipe, sl_linear_fitted_texts(f->s, fold));
    return steps;
}

static bool try_fold(const struct folds *f, struct fold_worker *w, int fold)
{
    if (!w->engine && !worker_open(w, f, &w->err))
        return false;
    int count = list_rows(f, fold, false, w->rows);
    if (!sl_fine_tuning_fit(&w->tuning, f->recipe, w->rows, count, &w->err))
        return false;
    count = list_rows(f, fold, true, w->rows);
    return sl_fine_tuning_predict(&w->tuning, w->rows, count, f->s->logits, &w->err);
}

static void fold_pass(void *ctx, int first, int last, int worker)
{
    const struct folds *f = ctx;
    struct fold_worker *w = &f->workers[worker];
    for (int fold = first; fold < last && w->ok; fold++)
        w->ok = try_fold(f, w, fold);
}

/* Sets the logits of the run. */
static bool try_folds(struct sl_encoder_trials *e, const struct sl_linear_run *s,
                      const struct sl_encoder_recipe *recipe, struct sl_err *err)
{
    const int folds = s->out->folds_predicted, threads = sl_thread_pool_size(e->engine->pool);
    struct folds f = {.e = e,
                      .s = s,
                      .recipe = recipe,
                      .workers = calloc((size_t)threads, sizeof *f.workers),
                      .threads = threads > folds ? threads / folds : 1};
    bool ok = f.workers || sl_fail(err, SL_NO_MEMORY, "no memory for folds");
    begin_progress(e, count_steps(&f));
    for (int i = 0; ok && i < threads; i++)
        f.workers[i].ok = true;
    if (ok)
        sl_parallel_for(e->engine->pool, folds, 1, fold_pass, &f);
    for (int i = 0; f.workers && i < threads; i++) {
        if (ok && !f.workers[i].ok)
            *err = f.workers[i].err;
        ok = ok && f.workers[i].ok;
        worker_close(&f.workers[i]);
    }
    free(f.workers);
    return ok;
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

static bool try_recipe(struct sl_encoder_trials *e, struct sl_linear_run *s, struct sl_err *err)
{
    const size_t count = (size_t)e->set.count * (size_t)s->classes;
    const double begun = sl_now_seconds();
    struct both both = {.encoder = e->logits, .ngrams = e->logits + count, .count = count};
    struct sl_linear_trial trial = {
        .recipe = ngram_recipe(e, s->out), .encoder = recipe_for(&e->set), .encoder_scale = 1.0f};
    if (!try_folds(e, s, &trial.encoder, err))
        return false;
    memcpy(e->logits, s->logits, count * sizeof *e->logits);
    if (!e->is_long)
        sl_linear_keep(s, trial, begun);
    if (!predict_ngrams(e, s, trial.recipe, e->logits + count, err))
        return false;
    const struct sl_calibration alone = calibration_of(s, both.ngrams);
    both.encoder_scale = (float)(1.0 / calibration_of(s, both.encoder).temperature);
    both.ngram_scale = (float)(1.0 / alone.temperature);
    trial.ngram_shift = alone.independent ? (float)alone.shift : 0.0f;
    try_sums(s, trial, &both);
    return true;
}

/* The run ends before a model is fitted. */
static bool keep_predicted(struct sl_encoder_trials *e, const struct sl_linear_run *s,
                           struct sl_err *err)
{
    const size_t texts = (size_t)e->set.count;
    free(e->logits);
    free(e->predicted);
    e->logits = calloc(2 * texts * (size_t)s->classes, sizeof *e->logits);
    e->predicted = calloc(texts, sizeof *e->predicted);
    if (!e->logits || !e->predicted)
        return sl_fail(err, SL_NO_MEMORY, "no memory for predictions of %zu texts", texts);
    memcpy(e->predicted, s->predicted, (size_t)s->predicted_count * sizeof *e->predicted);
    e->predicted_count = s->predicted_count;
    return true;
}

static bool try_all(void *context, struct sl_linear_run *s, struct sl_err *err)
{
    return keep_predicted(context, s, err) && try_recipe(context, s, err);
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
    const size_t labels = (size_t)e->set.labels.count;
    const struct sl_cascade_evidence evidence = {
        .encoder = e->logits,
        .ngrams = e->logits ? e->logits + (size_t)e->set.count * labels : NULL,
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
    const struct sl_fine_tuning_options options = {
        .engine = e->own_engine, .encoder = e->encoder, .set = &e->set};
    struct sl_fine_tuning tuning = {0};
    struct sl_model *model = NULL;
    for (int i = 0; i < e->set.count; i++)
        e->rows[i] = i;
    begin_progress(e, sl_fine_tuning_steps(&trial->encoder, e->set.count));
    bool ok = sl_fine_tuning_open(&tuning, &options, err);
    tuning.watch = step_watch(e);
    if (ok && sl_fine_tuning_fit(&tuning, &trial->encoder, e->rows, e->set.count, err))
        model = model_of(e, &tuning, trial, calibration, err);
    sl_fine_tuning_close(&tuning);
    return model;
}

bool sl_encoder_trials_open(struct sl_encoder_trials *e,
                            const struct sl_encoder_trials_options *options, struct sl_err *err)
{
    *e = (struct sl_encoder_trials){.engine = options->engine, .encoder = options->encoder};
    e->progress.watch = options->watch;
    atomic_flag_clear(&e->progress.is_told);
    const int threads = sl_thread_pool_size(options->engine->pool);
    bool ok = (e->own_engine = engine_like(options->engine, threads, err)) != NULL &&
              sl_encoder_texts_open(e, options, err) &&
              ((e->rows = calloc((size_t)e->set.count, sizeof *e->rows)) != NULL ||
               sl_fail(err, SL_NO_MEMORY, "no memory for a list of texts")) &&
              (e->set.ids_count > TOKENS_MOST || open_features(e, err));
    /* Alone, an encoder is published as it is, which reads one end of long texts. */
    e->models = (struct sl_other_models){.context = e,
                                         .count = e->is_long ? SUMS : 1 + SUMS,
                                         .try_all = try_all,
                                         .fit = fit,
                                         .tokens = e->tokens};
    e->too_many = e->set.ids_count > TOKENS_MOST;
    if (!ok)
        sl_encoder_trials_close(e);
    return ok;
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
    sl_engine_destroy(e->own_engine);
    free(e->rows);
    *e = (struct sl_encoder_trials){0};
}
