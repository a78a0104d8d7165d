/* trainer.c - one step at a time: a batch, forward, backward, clip, update; now and then measure
 * and save. */
#include "train/trainer.h"

#include "base/int_util.h"
#include "base/random.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/training_state.h"
#include "sluice/session.h"
#include "train/optimizer.h"
#include "train/run_dir.h"
#include "train/throughput.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sl_trainer {
    struct sl_engine *engine;
    struct sl_train_options training; /* its paths are the caller's until creation is over */
    struct sl_run_dir run;
    struct sl_dataloader dataloader;
    struct sl_model *model;
    struct sl_optimizer optimizer;
    struct sl_tape tape;
    struct sl_train_progress state;
    double gate_sum, gate_count;
    int64_t seen, correct; /* labelled texts since the last evaluation */
};

/* -- one step --------------------------------------------------------------------------------- */

/* Of training batches: with dropout, and by a model that changes from batch to batch. */
static void count_correct(struct sl_trainer *tr, const struct sl_tensor *logits,
                          const int32_t *labels)
{
    for (int i = 0; i < logits->rows; i++)
        tr->correct += sl_argmax(sl_row(logits, i), logits->cols) == labels[i];
    tr->seen += logits->rows;
}

static int micro_batch(struct sl_trainer *tr, int first, int last)
{
    struct sl_batch batch = sl_dataloader_batch(&tr->dataloader, tr->state.step, first, last);
    sl_tape_begin(&tr->tape, &batch, true);
    const struct sl_tensor *logits = sl_model_forward(tr->model, &tr->tape);
    if (tr->model->config.task == SL_TASK_CLASSIFICATION)
        count_correct(tr, logits, batch.labels);
    sl_tape_backward(&tr->tape);
    tr->state.loss += tr->tape.stats.loss;
    tr->gate_sum += tr->tape.stats.gate_sum;
    tr->gate_count += tr->tape.stats.gate_count;
    return batch.rows;
}

/* Accumulates the gradients of all micro-batches of a step. */
static void differentiate(struct sl_trainer *tr)
{
    const struct sl_hyperparameters *r = &tr->training.hyperparameters;
    int examples = sl_dataloader_examples(&tr->dataloader, tr->state.step);
    tr->state.loss = tr->gate_sum = tr->gate_count = 0.0;
    tr->state.tokens = 0;
    sl_model_zero_gradients(tr->model);
    for (int first = 0; first < examples; first += r->micro_batch_size) {
        int last = first + r->micro_batch_size;
        tr->state.tokens += micro_batch(tr, first, sl_min(last, examples));
    }
    sl_model_backprop_buffers(tr->model);
}

/* Adds what to do about NaN and infinity, which an evaluation may find, too. */
static bool fail_step(const struct sl_trainer *tr, struct sl_err *err)
{
    const struct sl_err found = *err;
    if (found.code != SL_NOT_FINITE)
        return sl_wrap(err, "step %d", tr->state.step);
    return sl_fail(err, found.code,
                   "step %d: %s; try a smaller learning_rate (now %g) or max_grad_norm (now %g)",
                   tr->state.step, found.text, tr->state.learning_rate,
                   (double)tr->training.hyperparameters.max_grad_norm);
}

bool sl_trainer_step(struct sl_trainer *tr, struct sl_err *err)
{
    const struct sl_hyperparameters *r = &tr->training.hyperparameters;
    uint64_t seed = (uint64_t)r->seed, step = (uint64_t)tr->state.step;
    tr->tape.random_key = sl_random_bits(sl_random_key(seed, "dropout"), step);
    tr->tape.progress = (float)sl_training_fraction(r, tr->state.step);
    tr->tape.word_dropout = r->word_dropout;
    differentiate(tr);
    tr->state.gate_mean = tr->gate_count > 0.0 ? tr->gate_sum / tr->gate_count : (double)NAN;
    tr->state.grad_norm = sl_optimizer_norm(&tr->optimizer);
    tr->state.learning_rate = sl_learning_rate_at(r, tr->state.step);
    if (!isfinite(tr->state.loss) || !isfinite(tr->state.grad_norm)) {
        sl_fail(err, SL_NOT_FINITE, "the loss is %g and the norm of the gradients %g",
                tr->state.loss, tr->state.grad_norm);
        return fail_step(tr, err);
    }
    sl_optimizer_step(&tr->optimizer, r, tr->state.step, tr->state.grad_norm);
    sl_model_pack(tr->model);
    tr->state.step++;
    return true;
}

/* -- saved states --------------------------------------------------------------------------- */

/* Progress first, then what every state has, then what depends on the architecture. */
enum { COUNTERS_MAX = 96, PROGRESS_COUNTERS = 4, CORPUS_COUNTER = 5, COMMON_COUNTERS = 6 };

/* Counters that a state must match; those before may differ: step, best loss and best step. */
static int list_counters(const struct sl_trainer *tr, struct sl_state_entry list[COUNTERS_MAX])
{
    const struct sl_train_progress *s = &tr->state;
    int count = 0;
    list[count++] = (struct sl_state_entry){.name = "step", .whole = s->step};
    list[count++] = (struct sl_state_entry){.name = "best_step", .whole = s->best_step};
    list[count++] =
        (struct sl_state_entry){.name = "best_loss", .kind = SL_ENTRY_REAL, .number = s->best_loss};
    list[count++] = (struct sl_state_entry){
        .name = "best_accuracy", .kind = SL_ENTRY_REAL, .number = s->best_accuracy};
    assert(count == PROGRESS_COUNTERS);
    const char *arch = tr->training.arch->name;
    list[count++] = (struct sl_state_entry){.name = "architecture",
                                            .whole = sl_fingerprint(arch, strlen(arch))};
    assert(count == CORPUS_COUNTER);
    list[count++] =
        (struct sl_state_entry){.name = "corpus", .whole = sl_dataloader_mark(&tr->dataloader)};
    assert(count == COMMON_COUNTERS);
    for (const struct sl_param *r = sl_hyperparameter_rows; r->name; r++)
        list[count++] =
            (struct sl_state_entry){.name = r->name,
                                    .kind = SL_ENTRY_REAL,
                                    .number = sl_param_get(r, &tr->training.hyperparameters)};
    for (const struct sl_param *h = tr->training.arch->hypers; h->name; h++)
        list[count++] = (struct sl_state_entry){.name = h->name,
                                                .kind = SL_ENTRY_REAL,
                                                .number = sl_param_get(h, &tr->training.config)};
    assert(count <= COUNTERS_MAX);
    return count;
}

static struct sl_training_state state_of(const struct sl_trainer *tr, struct sl_state_entry *list,
                                         int count)
{
    return (struct sl_training_state){.parameters = tr->model->state_dict,
                                      .first = tr->optimizer.m,
                                      .second = tr->optimizer.v,
                                      .count = tr->model->state_dict_count,
                                      .buffers =
                                          tr->model->state_dict_count - tr->model->builder.count,
                                      .counters = list,
                                      .counters_count = count};
}

static void report(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                   enum sl_train_event event)
{
    tr->state.event = event;
    if (callbacks && callbacks->report)
        callbacks->report(callbacks->context, &tr->state);
}

static bool save(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                 struct sl_err *err)
{
    struct sl_state_entry list[COUNTERS_MAX];
    int count = list_counters(tr, list);
    struct sl_training_state state = state_of(tr, list, count);
    if (!sl_training_state_write(tr->run.state, &state, err))
        return sl_wrap(err, "save step %d", tr->state.step);
    report(tr, callbacks, SL_TRAIN_SAVED);
    return true;
}

/* The same training: every number of hyperparameters and architecture, and the text. */
static bool agree(const struct sl_state_entry *saved, const struct sl_state_entry *asked, int count,
                  struct sl_err *err)
{
    for (int i = PROGRESS_COUNTERS; i < count; i++) {
        if (saved[i].kind == SL_ENTRY_INTEGER && saved[i].whole != asked[i].whole)
            return sl_fail(err, SL_BAD_INPUT, "the run was started with another %s%s",
                           asked[i].name,
                           i == CORPUS_COUNTER ? ": other text, data or labels" : "");
        if (saved[i].kind == SL_ENTRY_REAL && saved[i].number != asked[i].number) {
            char before[SL_PARAM_TEXT], now[SL_PARAM_TEXT];
            sl_number_format(saved[i].number, before);
            sl_number_format(asked[i].number, now);
            bool steps = strcmp(asked[i].name, "steps") == 0;
            return sl_fail(err, SL_BAD_INPUT, "the run was started with %s %s, not %s%s",
                           asked[i].name, before, now,
                           steps ? " (if not given, they follow from --epochs and --batch-size)"
                                 : "");
        }
    }
    return true;
}

/* Compared before tensors are read: another width is to be reported as such, not as a tensor of the
 * wrong shape. */
static bool same_training(const char *path, const struct sl_state_entry *asked, int count,
                          struct sl_err *err)
{
    struct sl_state_entry saved[COUNTERS_MAX];
    memcpy(saved, asked, (size_t)count * sizeof *saved);
    return sl_training_state_peek(path, saved, COMMON_COUNTERS, err) &&
           agree(saved, asked, COMMON_COUNTERS, err) &&
           sl_training_state_peek(path, saved, count, err) && agree(saved, asked, count, err);
}

static bool resume(struct sl_trainer *tr, struct sl_err *err)
{
    struct sl_state_entry saved[COUNTERS_MAX], asked[COUNTERS_MAX];
    int count = list_counters(tr, asked);
    (void)list_counters(tr, saved);
    struct sl_training_state state = state_of(tr, saved, count);
    if (!same_training(tr->run.state, asked, count, err) ||
        !sl_training_state_read(tr->run.state, &state, err))
        return sl_wrap(err, "resume '%s'", tr->run.path);
    int64_t step = saved[0].whole, best_step = saved[1].whole;
    if (step < 0 || step > tr->training.hyperparameters.steps)
        return sl_fail(err, SL_CORRUPT, "resume '%s': it is at step %" PRId64 " of %d",
                       tr->run.path, step, tr->training.hyperparameters.steps);
    if (best_step < 0 || best_step > step)
        return sl_fail(err, SL_CORRUPT,
                       "resume '%s': its best step is %" PRId64 ", and it is at step %" PRId64,
                       tr->run.path, best_step, step);
    tr->state.step = (int)step;
    tr->state.best_step = (int)best_step;
    tr->state.best_loss = saved[2].number;
    tr->state.best_accuracy = saved[3].number;
    return true;
}

/* Saves at once, so that an unwritable run directory fails before any work is done. */
static bool begin(struct sl_trainer *tr, const struct sl_checkpoint *start, struct sl_err *err)
{
    sl_model_initialize(tr->model, (uint64_t)tr->training.hyperparameters.seed);
    if (start && !sl_checkpoint_load_matching(start, tr->model->state_dict,
                                              tr->model->state_dict_count, err))
        return sl_wrap(err, "begin from '%s' with the sizes given here", tr->training.init_from);
    return save(tr, NULL, err);
}

/* -- creation ------------------------------------------------------------------------------- */

/* A tape sized by a dry run of the largest micro-batch. */
static bool make_room(struct sl_trainer *tr, struct sl_err *err)
{
    const struct sl_kernels *kernels = tr->engine->kernels;
    if (!sl_tape_init(&tr->tape, kernels, tr->engine->pool, 0, err))
        return false;
    struct sl_batch batch = sl_dataloader_largest(&tr->dataloader);
    sl_tape_begin(&tr->tape, &batch, true);
    (void)sl_model_forward(tr->model, &tr->tape);
    sl_tape_backward(&tr->tape);
    size_t bytes = tr->tape.arena.peak;
    sl_tape_release(&tr->tape);
    return sl_tape_init(&tr->tape, kernels, tr->engine->pool, bytes, err);
}

static bool prepare(struct sl_trainer *tr, const struct sl_checkpoint *start, struct sl_err *err)
{
    struct sl_train_options *t = &tr->training;
    if (!sl_dataloader_open(&tr->dataloader, &t->sources, &t->config, &t->hyperparameters, err) ||
        !sl_config_check(t->arch, &t->config, err))
        return false;
    tr->state.steps = t->hyperparameters.steps;
    tr->model = sl_model_create(tr->engine, t->arch, &t->config, err);
    if (!tr->model || !sl_model_allocate_gradients(tr->model, err) ||
        !sl_optimizer_init(&tr->optimizer, tr->model, err) || !make_room(tr, err))
        return false;
    if (!(t->resume ? resume(tr, err) : begin(tr, start, err)))
        return false;
    sl_model_pack(tr->model);
    return true;
}

/* Passes ownership of the vocabulary to the sources. */
static bool open_start(struct sl_trainer *tr, struct sl_checkpoint *start, struct sl_err *err)
{
    struct sl_train_options *t = &tr->training;
    if (!t->init_from)
        return true;
    if (!sl_checkpoint_open(start, t->init_from, err))
        return false;
    if (start->model_config.arch != t->arch)
        return sl_fail(err, SL_BAD_INPUT, "'%s' has architecture %s, expected %s", t->init_from,
                       start->model_config.arch->name, t->arch->name);
    t->sources.tokens = start->tokens;
    start->tokens = NULL;
    return true;
}

struct sl_trainer *sl_trainer_create(struct sl_engine *engine,
                                     const struct sl_train_options *training, struct sl_err *err)
{
    struct sl_trainer *tr = calloc(1, sizeof *tr);
    if (!tr) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a trainer");
        return NULL;
    }
    tr->engine = engine;
    tr->training = *training;
    const double unknown = (double)NAN;
    tr->state = (struct sl_train_progress){.validation_loss = unknown,
                                           .validation_accuracy = unknown,
                                           .validation_depth = unknown,
                                           .validation_depth_first = unknown,
                                           .train_accuracy = unknown,
                                           .validation_gate = unknown,
                                           .gate_mean = unknown,
                                           .best_loss = (double)INFINITY};
    struct sl_checkpoint start = {0};
    bool ok = sl_hyperparameters_check(&training->hyperparameters, err) &&
              sl_run_dir_open(&tr->run, training->run_dir, training->resume, err) &&
              open_start(tr, &start, err) && prepare(tr, training->init_from ? &start : NULL, err);
    sl_checkpoint_close(&start);
    if (ok)
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
    sl_optimizer_release(&tr->optimizer);
    sl_model_close(tr->model);
    sl_dataloader_close(&tr->dataloader);
    sl_run_dir_close(&tr->run);
    free(tr);
}

/* -- the run ---------------------------------------------------------------------------------- */

static bool due(int every, const struct sl_train_progress *s)
{
    return s->step == s->steps || (every > 0 && s->step % every == 0);
}

/* Evaluates after each epoch, or as often as the hyper-parameters say. */
static bool due_evaluation(const struct sl_trainer *tr)
{
    const struct sl_hyperparameters *r = &tr->training.hyperparameters;
    return due(r->epochs > 0 ? sl_dataloader_epoch_steps(&tr->dataloader) : r->evaluate_every,
               &tr->state);
}

/* On few texts many models have the same accuracy: then the loss decides. */
static bool is_best(const struct sl_train_progress *s, const struct sl_evaluation *e)
{
    if (isfinite(e->accuracy) && e->accuracy != s->best_accuracy)
        return e->accuracy > s->best_accuracy;
    return e->loss < s->best_loss;
}

static bool evaluate(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                     struct sl_err *err)
{
    struct sl_evaluation e;
    const struct sl_policy as_trained = {.dense = true};
    if (!sl_dataloader_evaluate(&tr->dataloader, tr->model, &as_trained, &e, err))
        return fail_step(tr, err);
    struct sl_train_progress *s = &tr->state;
    s->validation_loss = e.loss;
    s->validation_gate = e.gate_mean;
    s->validation_accuracy = e.accuracy;
    s->validation_depth = isfinite(e.halting_depth) ? e.halting_depth : e.layers_mean;
    s->validation_depth_first = e.halting_depth_first;
    s->train_accuracy = tr->seen > 0 ? (double)tr->correct / (double)tr->seen : (double)NAN;
    tr->seen = tr->correct = 0;
    if (is_best(s, &e)) {
        s->best_loss = e.loss;
        s->best_accuracy = isfinite(e.accuracy) ? e.accuracy : 0.0;
        s->best_step = s->step;
    }
    report(tr, callbacks, SL_TRAIN_EVALUATED);
    return true;
}

/* Saves when stopping too, but not twice at one step. */
static bool after_step(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                       bool stopping, struct sl_err *err)
{
    const struct sl_hyperparameters *r = &tr->training.hyperparameters;
    if (due_evaluation(tr) && !evaluate(tr, callbacks, err))
        return false;
    return !(stopping || due(r->save_every, &tr->state)) || save(tr, callbacks, err);
}

static void update_progress(struct sl_throughput *p, struct sl_train_progress *s)
{
    sl_throughput_update(p, s->step, s->steps, s->tokens);
    s->seconds = p->seconds;
    s->seconds_left = p->seconds_left;
    s->tokens_per_second = p->tokens_per_second;
}

static bool train(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                  struct sl_err *err)
{
    struct sl_throughput progress = sl_throughput_begin(tr->state.step);
    bool stopping = false;
    while (!stopping && !sl_trainer_finished(tr)) {
        if (!sl_trainer_step(tr, err))
            return false;
        update_progress(&progress, &tr->state);
        report(tr, callbacks, SL_TRAIN_STEPPED);
        stopping = callbacks && callbacks->stop && callbacks->stop(callbacks->context);
        if (!after_step(tr, callbacks, stopping, err))
            return false;
    }
    /* A run that was resumed at its end has not been measured by this process. */
    bool measured = !sl_trainer_finished(tr) || isfinite(tr->state.validation_loss);
    return measured || evaluate(tr, callbacks, err);
}

bool sl_trainer_run(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                    struct sl_err *err)
{
    return train(tr, callbacks, err) ||
           sl_wrap(err, "the last saved state is in '%s'", tr->run.path);
}

bool sl_trainer_evaluate(struct sl_trainer *tr, struct sl_err *err)
{
    return evaluate(tr, NULL, err);
}

bool sl_trainer_save(struct sl_trainer *tr, struct sl_err *err)
{
    return save(tr, NULL, err);
}

bool sl_trainer_finished(const struct sl_trainer *tr)
{
    return tr->state.step >= tr->state.steps;
}

const struct sl_train_progress *sl_trainer_progress(const struct sl_trainer *tr)
{
    return &tr->state;
}

const struct sl_model *sl_trainer_model(const struct sl_trainer *tr)
{
    return tr->model;
}

const struct sl_train_options *sl_trainer_options(const struct sl_trainer *tr)
{
    return &tr->training;
}

const struct sl_dataloader *sl_trainer_dataloader(const struct sl_trainer *tr)
{
    return &tr->dataloader;
}

bool sl_trainer_publish(const struct sl_trainer *tr, const char *directory, bool bf16,
                        const char *provenance, struct sl_err *err)
{
    char *training = strdup(provenance), **labels = sl_dataloader_labels(&tr->dataloader);
    if (!training || (tr->model->config.classes > 0 && !labels)) {
        free(training);
        free(labels);
        return sl_fail(err, SL_NO_MEMORY, "no memory for a provenance");
    }
    struct sl_model_config model_config = {.arch = tr->training.arch,
                                           .hyper = tr->training.config,
                                           .policy = sl_policy_defaults(tr->training.arch),
                                           .labels = labels,
                                           .tokenizer = sl_tokenizer_kind(tr->dataloader.tokens),
                                           .training = training};
    struct sl_checkpoint_parts parts = {.model_config = &model_config,
                                        .tokens = tr->dataloader.tokens,
                                        .parameters = tr->model->state_dict,
                                        .count = tr->model->state_dict_count,
                                        .bf16 = bf16};
    bool ok = sl_checkpoint_write(directory, &parts, err);
    free(training);
    free(labels);
    return ok || sl_wrap(err, "publish");
}
