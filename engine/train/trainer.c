/* trainer.c - one step at a time: windows, forward, backward, clip, update; now and then measure
 * and save. */
#include "train/trainer.h"

#include "base/random.h"
#include "data/windows.h"
#include "model/checkpoint.h"
#include "model/state.h"
#include "train/evaluate.h"
#include "train/optimiser.h"
#include "train/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sl_trainer {
    struct sl_engine *engine;
    struct sl_training training; /* its paths are copied */
    char *corpus_path, *run_path;
    struct sl_tokenizer *tokens;
    struct sl_corpus corpus;
    struct sl_span parts[SL_PARTS];
    struct sl_model *model;
    struct sl_optimiser optimiser;
    struct sl_tape tape;
    int32_t *ids, *targets; /* of one micro-batch */
    struct sl_sequence *sequences;
    struct sl_train_state state;
    uint64_t windows_key;
    double gate_sum, gate_count;
    bool broken; /* a number was not finite: there is nothing worth saving */
};

/* -- one step --------------------------------------------------------------------------------- */

static int micro_windows(const struct sl_trainer *tr)
{
    const struct sl_recipe *r = &tr->training.recipe;
    return r->micro_batch < r->batch ? r->micro_batch : r->batch;
}

/* Windows first..last of this step's batch. */
static struct sl_batch gather(struct sl_trainer *tr, int first, int last)
{
    int context = tr->training.config.context;
    struct sl_batch batch = {
        .tokens = tr->ids,
        .targets = tr->targets,
        .sequences = tr->sequences,
        .row_base = first * context,
        .loss_scale = 1.0f / (float)(tr->training.recipe.batch * context),
        .row_scale = 1.0f / (float)(tr->training.recipe.batch * context),
    };
    for (int i = first; i < last; i++) {
        struct sl_window w =
            sl_window_random(tr->parts[SL_TRAIN], context, tr->windows_key, (uint64_t)i);
        tr->sequences[batch.count++] = (struct sl_sequence){.first = batch.rows, .rows = w.rows};
        memcpy(tr->ids + batch.rows, w.tokens, (size_t)w.rows * sizeof *w.tokens);
        memcpy(tr->targets + batch.rows, w.targets, (size_t)w.rows * sizeof *w.targets);
        batch.rows += w.rows;
    }
    return batch;
}

static void micro_batch(struct sl_trainer *tr, int first, int last)
{
    struct sl_batch batch = gather(tr, first, last);
    sl_tape_begin(&tr->tape, &batch, true);
    (void)sl_net_forward(tr->model, &tr->tape);
    sl_tape_backward(&tr->tape);
    tr->state.loss += tr->tape.notes.loss;
    tr->gate_sum += tr->tape.notes.gate_sum;
    tr->gate_count += tr->tape.notes.gate_count;
}

bool sl_trainer_step(struct sl_trainer *tr, struct sl_err *err)
{
    const struct sl_recipe *r = &tr->training.recipe;
    uint64_t seed = (uint64_t)r->seed, step = (uint64_t)tr->state.step;
    tr->windows_key = sl_window_key(seed, step);
    tr->tape.random_key = sl_random_bits(sl_random_key(seed, "dropout"), step);
    tr->state.loss = tr->gate_sum = tr->gate_count = 0.0;
    sl_net_clear(tr->model);
    for (int first = 0; first < r->batch; first += micro_windows(tr)) {
        int last = first + micro_windows(tr);
        micro_batch(tr, first, last < r->batch ? last : r->batch);
    }
    sl_net_fold(tr->model);
    tr->state.gate_mean = tr->gate_count > 0.0 ? tr->gate_sum / tr->gate_count : (double)NAN;
    tr->state.norm = sl_optimiser_norm(&tr->optimiser);
    tr->state.rate = sl_recipe_rate(r, tr->state.step);
    if (!isfinite(tr->state.loss) || !isfinite(tr->state.norm)) {
        tr->broken = true;
        return sl_fail(err, SL_NOT_FINITE,
                       "step %d: the loss is %g and the norm of the gradients %g; try a smaller "
                       "rate (now %g) or clip (now %g)",
                       tr->state.step, tr->state.loss, tr->state.norm, tr->state.rate,
                       (double)r->clip);
    }
    sl_optimiser_step(&tr->optimiser, r, tr->state.step, tr->state.norm);
    sl_net_pack(tr->model);
    tr->state.step++;
    return true;
}

/* -- saved states --------------------------------------------------------------------------- */

/* The first bits of a SHA-256: enough to tell one corpus, or one architecture, from another. */
static int64_t mark_of(const void *data, size_t bytes)
{
    char hex[65];
    sl_sha256_hex(data, bytes, hex);
    hex[15] = '\0';
    return (int64_t)strtoull(hex, NULL, 16);
}

/* Progress first, then what every state has, then what depends on the architecture. */
enum { COUNTERS_MAX = 64, PROGRESS_COUNTERS = 3, COMMON_COUNTERS = 5 };

/* All that a state must agree with, after what it may change: step, best loss and best step. */
static int list_counters(const struct sl_trainer *tr, struct sl_counter list[COUNTERS_MAX])
{
    const struct sl_train_state *s = &tr->state;
    int count = 0;
    list[count++] = (struct sl_counter){.name = "step", .whole = s->step};
    list[count++] = (struct sl_counter){.name = "best_step", .whole = s->best_step};
    list[count++] =
        (struct sl_counter){.name = "best_loss", .kind = SL_NUMBER, .number = s->best_loss};
    assert(count == PROGRESS_COUNTERS);
    const char *arch = tr->training.arch->name;
    size_t corpus_bytes = (size_t)tr->corpus.count * sizeof *tr->corpus.ids;
    list[count++] =
        (struct sl_counter){.name = "architecture", .whole = mark_of(arch, strlen(arch))};
    list[count++] =
        (struct sl_counter){.name = "corpus", .whole = mark_of(tr->corpus.ids, corpus_bytes)};
    assert(count == COMMON_COUNTERS);
    for (const struct sl_number *r = sl_recipe_rows; r->name; r++)
        list[count++] = (struct sl_counter){
            .name = r->name, .kind = SL_NUMBER, .number = sl_number_get(r, &tr->training.recipe)};
    for (const struct sl_number *h = tr->training.arch->hypers; h->name; h++)
        list[count++] = (struct sl_counter){
            .name = h->name, .kind = SL_NUMBER, .number = sl_number_get(h, &tr->training.config)};
    assert(count <= COUNTERS_MAX);
    return count;
}

static struct sl_state state_of(const struct sl_trainer *tr, struct sl_counter *list, int count)
{
    return (struct sl_state){.parameters = tr->model->saved,
                             .first = tr->optimiser.m,
                             .second = tr->optimiser.v,
                             .count = tr->model->saved_count,
                             .buffers = tr->model->saved_count - tr->model->builder.count,
                             .counters = list,
                             .counters_count = count};
}

static bool state_path(const struct sl_trainer *tr, char path[SL_PATH_MAX], struct sl_err *err)
{
    return sl_path_join(path, tr->run_path, "state", err);
}

static bool save(struct sl_trainer *tr, const struct sl_train_watch *watch, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_counter list[COUNTERS_MAX];
    int count = list_counters(tr, list);
    struct sl_state state = state_of(tr, list, count);
    if (!state_path(tr, path, err) || !sl_state_write(path, &state, err))
        return sl_wrap(err, "save step %d", tr->state.step);
    tr->state.event = SL_TRAIN_SAVED;
    if (watch && watch->report)
        watch->report(watch->context, &tr->state);
    return true;
}

/* The same training: every number of recipe and architecture, and the text. */
static bool agree(const struct sl_counter *saved, const struct sl_counter *asked, int count,
                  struct sl_err *err)
{
    for (int i = PROGRESS_COUNTERS; i < count; i++) {
        if (saved[i].kind == SL_WHOLE && saved[i].whole != asked[i].whole)
            return sl_fail(err, SL_BAD_INPUT, "the run was begun with another %s", asked[i].name);
        if (saved[i].kind == SL_NUMBER && saved[i].number != asked[i].number)
            return sl_fail(err, SL_BAD_INPUT, "the run was begun with %s %g, not %g", asked[i].name,
                           saved[i].number, asked[i].number);
    }
    return true;
}

/* Asked before anything as large as this training's own shapes is read: another width is to be
 * told as such, not as a tensor that does not fit. */
static bool same_training(const char *path, const struct sl_counter *asked, int count,
                          struct sl_err *err)
{
    struct sl_counter saved[COUNTERS_MAX];
    memcpy(saved, asked, (size_t)count * sizeof *saved);
    return sl_state_peek(path, saved, COMMON_COUNTERS, err) &&
           agree(saved, asked, COMMON_COUNTERS, err) && sl_state_peek(path, saved, count, err) &&
           agree(saved, asked, count, err);
}

static bool resume(struct sl_trainer *tr, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_counter saved[COUNTERS_MAX], asked[COUNTERS_MAX];
    int count = list_counters(tr, asked);
    (void)list_counters(tr, saved);
    struct sl_state state = state_of(tr, saved, count);
    if (!state_path(tr, path, err) || !same_training(path, asked, count, err) ||
        !sl_state_read(path, &state, err))
        return sl_wrap(err, "resume '%s'", tr->run_path);
    tr->state.step = (int)saved[0].whole;
    tr->state.best_step = (int)saved[1].whole;
    tr->state.best_loss = saved[2].number;
    if (tr->state.step < 0 || tr->state.step > tr->training.recipe.steps)
        return sl_fail(err, SL_CORRUPT, "resume '%s': it is at step %d of %d", tr->run_path,
                       tr->state.step, tr->training.recipe.steps);
    return true;
}

/* A run that is already there is not overwritten by mistake, and one that cannot be written is
 * found out before any work is done. */
static bool begin(struct sl_trainer *tr, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!state_path(tr, path, err))
        return false;
    if (access(path, F_OK) == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "'%s' already holds a run; resume it, or choose or empty a directory",
                       tr->run_path);
    sl_net_draw(tr->model, (uint64_t)tr->training.recipe.seed);
    return sl_directory_make(tr->run_path, err) && save(tr, NULL, err);
}

/* -- making one ------------------------------------------------------------------------------- */

static bool open_corpus(struct sl_trainer *tr, struct sl_err *err)
{
    struct sl_training *t = &tr->training;
    struct sl_shares shares = {(double)t->recipe.train_share, (double)t->recipe.validation_share};
    tr->tokens = sl_corpus_learn(tr->corpus_path, "characters", err);
    if (!tr->tokens || !sl_corpus_open(&tr->corpus, tr->corpus_path, tr->tokens, err))
        return false;
    t->config.vocab = sl_tokenizer_size(tr->tokens);
    return sl_config_check(t->arch, &t->config, err) &&
           sl_corpus_split(&tr->corpus, shares, t->config.context, tr->parts, err);
}

/* Arrays for a micro-batch, and a tape as large as a dry run of one says. */
static bool make_room(struct sl_trainer *tr, struct sl_err *err)
{
    size_t windows = (size_t)micro_windows(tr);
    size_t rows = windows * (size_t)tr->training.config.context;
    tr->ids = calloc(rows, sizeof *tr->ids);
    tr->targets = calloc(rows, sizeof *tr->targets);
    tr->sequences = calloc(windows, sizeof *tr->sequences);
    if (!tr->ids || !tr->targets || !tr->sequences)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a micro-batch of %zu rows", rows);
    const struct sl_kernels *kernels = tr->engine->kernels;
    if (!sl_tape_init(&tr->tape, kernels, tr->engine->pool, 0, err))
        return false;
    struct sl_batch batch = gather(tr, 0, micro_windows(tr));
    sl_tape_begin(&tr->tape, &batch, true);
    (void)sl_net_forward(tr->model, &tr->tape);
    sl_tape_backward(&tr->tape);
    size_t bytes = tr->tape.arena.peak;
    sl_tape_release(&tr->tape);
    return sl_tape_init(&tr->tape, kernels, tr->engine->pool, bytes, err);
}

static bool prepare(struct sl_trainer *tr, struct sl_err *err)
{
    if (!tr->corpus_path || !tr->run_path)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a trainer");
    if (!sl_recipe_check(&tr->training.recipe, err) || !open_corpus(tr, err))
        return false;
    tr->model = sl_net_create(tr->engine, tr->training.arch, &tr->training.config, err);
    if (!tr->model || !sl_net_train(tr->model, err) ||
        !sl_optimiser_init(&tr->optimiser, tr->model, err) || !make_room(tr, err))
        return false;
    if (!(tr->training.resume ? resume(tr, err) : begin(tr, err)))
        return false;
    sl_net_pack(tr->model);
    return true;
}

struct sl_trainer *sl_trainer_create(struct sl_engine *engine, const struct sl_training *training,
                                     struct sl_err *err)
{
    struct sl_trainer *tr = calloc(1, sizeof *tr);
    if (!tr) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a trainer");
        return NULL;
    }
    tr->engine = engine;
    tr->training = *training;
    tr->corpus_path = strdup(training->corpus);
    tr->run_path = strdup(training->run);
    tr->state = (struct sl_train_state){.steps = training->recipe.steps,
                                        .validation_loss = NAN,
                                        .validation_gate = NAN,
                                        .gate_mean = NAN,
                                        .best_loss = INFINITY};
    if (prepare(tr, err))
        return tr;
    sl_wrap(err, "train %s", training->arch->name);
    sl_trainer_destroy(tr);
    return NULL;
}

void sl_trainer_destroy(struct sl_trainer *tr)
{
    if (!tr)
        return;
    sl_tape_release(&tr->tape);
    sl_optimiser_release(&tr->optimiser);
    sl_model_close(tr->model);
    sl_corpus_close(&tr->corpus);
    sl_tokenizer_destroy(tr->tokens);
    free(tr->ids);
    free(tr->targets);
    free(tr->sequences);
    free(tr->corpus_path);
    free(tr->run_path);
    free(tr);
}

/* -- the run ---------------------------------------------------------------------------------- */

static bool due(int every, const struct sl_train_state *s)
{
    return s->step == s->steps || (every > 0 && s->step % every == 0);
}

static bool evaluate(struct sl_trainer *tr, const struct sl_train_watch *watch, struct sl_err *err)
{
    struct sl_evaluation e;
    struct sl_policy soft = {.gate = SL_GATE_SOFT, .exit_threshold = 1.0f};
    if (!sl_evaluate(tr->model, tr->parts[SL_VALIDATION], &soft, &e, err))
        return false;
    struct sl_train_state *s = &tr->state;
    s->validation_loss = e.loss;
    s->validation_gate = e.gate_mean;
    if (e.loss < s->best_loss) {
        s->best_loss = e.loss;
        s->best_step = s->step;
    }
    s->event = SL_TRAIN_EVALUATED;
    watch->report(watch->context, s);
    return true;
}

/* Stopping is also a moment to save, but not twice at one step. */
static bool after_step(struct sl_trainer *tr, const struct sl_train_watch *watch, bool stopping,
                       struct sl_err *err)
{
    const struct sl_recipe *r = &tr->training.recipe;
    if (due(r->evaluate_every, &tr->state) && !evaluate(tr, watch, err))
        return false;
    return !(stopping || due(r->save_every, &tr->state)) || save(tr, watch, err);
}

bool sl_trainer_run(struct sl_trainer *tr, const struct sl_train_watch *watch, struct sl_err *err)
{
    int batch_tokens = tr->training.recipe.batch * tr->training.config.context;
    struct sl_progress progress = sl_progress_begin(tr->state.step, batch_tokens);
    bool stopping = false;
    while (!stopping && !sl_trainer_finished(tr)) {
        if (!sl_trainer_step(tr, err))
            return sl_wrap(err, "the state in '%s' is the last good one", tr->run_path);
        sl_progress_update(&progress, &tr->state);
        tr->state.event = SL_TRAIN_STEPPED;
        watch->report(watch->context, &tr->state);
        stopping = watch->stop && watch->stop(watch->context);
        if (!after_step(tr, watch, stopping, err))
            return false;
    }
    /* A run that was resumed at its end has not been measured by this process. */
    bool measured = !sl_trainer_finished(tr) || isfinite(tr->state.validation_loss);
    return measured || evaluate(tr, watch, err);
}

bool sl_trainer_finished(const struct sl_trainer *tr)
{
    return tr->state.step >= tr->state.steps;
}

const struct sl_train_state *sl_trainer_state(const struct sl_trainer *tr)
{
    return &tr->state;
}

const struct sl_model *sl_trainer_model(const struct sl_trainer *tr)
{
    return tr->model;
}

struct sl_span sl_trainer_part(const struct sl_trainer *tr, enum sl_part part)
{
    return tr->parts[part];
}

bool sl_trainer_publish(const struct sl_trainer *tr, const char *directory, bool narrow,
                        const char *provenance, struct sl_err *err)
{
    char *training = strdup(provenance);
    struct sl_card card = {.arch = tr->training.arch,
                           .hyper = tr->training.config,
                           .policy = tr->training.arch->policy,
                           .tokenizer = sl_tokenizer_kind(tr->tokens),
                           .training = training};
    struct sl_checkpoint_parts parts = {.card = &card,
                                        .tokens = tr->tokens,
                                        .parameters = tr->model->saved,
                                        .count = tr->model->saved_count,
                                        .narrow = narrow};
    bool ok = training ? sl_checkpoint_write(directory, &parts, err)
                       : sl_fail(err, SL_NO_MEMORY, "no memory for a provenance");
    free(training);
    return ok || sl_wrap(err, "publish");
}
