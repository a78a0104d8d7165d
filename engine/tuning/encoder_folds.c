/* encoder_folds.c - fits at the same time, and how far they are. */
#include "tuning/encoder_folds.h"

#include "tuning/encoder_head.h"
#include "tuning/fine_tuning.h"

#include <stdlib.h>

struct sl_engine *sl_encoder_engine(const struct sl_engine *engine, int threads, struct sl_err *err)
{
    const bool prefers = engine->preferred & 1u << SL_PRECISION_BF16;
    const struct sl_engine_options options = {
        .threads = threads,
        .isa = sl_isa_name(engine->kernels->isa),
        .precision = prefers ? "bf16" : sl_precision_of(engine->kernels, false)};
    return sl_engine_create(&options, err);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void begin_progress(struct sl_encoder_fits *e, int steps)
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

static struct sl_step_watch step_watch(struct sl_encoder_fits *e)
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
    struct sl_encoder_fits *e;
    const struct sl_linear_run *s;
    const struct sl_encoder_recipe *recipe;
    struct fold_worker *workers; /* one for each thread of the pool; opened when it has a fold */
    int threads;                 /* of each */
};

static bool worker_open(struct fold_worker *w, const struct folds *f, struct sl_err *err)
{
    const size_t texts = (size_t)f->e->set->count;
    w->engine = sl_encoder_engine(f->e->engine, f->threads, err);
    w->rows = calloc(texts, sizeof *w->rows);
    if (!w->engine)
        return false;
    if (!w->rows)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a list of %zu texts", texts);
    const struct sl_fine_tuning_options options = {
        .engine = w->engine, .encoder = f->e->encoder, .set = f->e->set};
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
    for (int i = 0; i < f->e->set->count; i++)
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

static bool fit_texts(const struct sl_encoder_fits *e, struct sl_fine_tuning *tuning,
                      const struct sl_encoder_recipe *recipe, const int32_t *rows, int count,
                      struct sl_err *err)
{
    const struct sl_linear_recipe head = sl_encoder_head_recipe(e->set, recipe->head_c);
    const struct sl_linear_texts texts = {.kernels = e->own_engine->kernels,
                                          .features = e->features,
                                          .labels = &e->set->label_lists,
                                          .classes = e->set->labels.count,
                                          .rows = rows,
                                          .count = count};
    sl_fine_tuning_begin(tuning);
    return (recipe->head_c <= 0.0f ||
            sl_encoder_head_fit(tuning->tuner.model, &texts, &head, e->embedding_scale, err)) &&
           sl_fine_tuning_fit(tuning, recipe, rows, count, err);
}

static bool try_fold(const struct folds *f, struct fold_worker *w, int fold)
{
    if (!w->engine && !worker_open(w, f, &w->err))
        return false;
    int count = list_rows(f, fold, false, w->rows);
    if (!fit_texts(f->e, &w->tuning, f->recipe, w->rows, count, &w->err))
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

bool sl_encoder_try_folds(struct sl_encoder_fits *e, const struct sl_linear_run *s,
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

bool sl_encoder_fit_all(struct sl_encoder_fits *e, struct sl_fine_tuning *tuning,
                        const struct sl_encoder_recipe *recipe, const int32_t *rows,
                        struct sl_err *err)
{
    const struct sl_fine_tuning_options options = {
        .engine = e->own_engine, .encoder = e->encoder, .set = e->set};
    begin_progress(e, sl_fine_tuning_steps(recipe, e->set->count));
    if (!sl_fine_tuning_open(tuning, &options, err))
        return false;
    tuning->watch = step_watch(e);
    return fit_texts(e, tuning, recipe, rows, e->set->count, err);
}
