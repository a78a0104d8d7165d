/* trainer.c - one step at a time: a batch, forward, backward, clip, update; now and then measure
 * and save. */
#include "train/trainer.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "train/trainer_internal.h"

#include "base/int_math.h"
#include "base/random.h"
#include "checkpoint/checkpoint.h"
#include "sluice/logits.h"
#include "train/initial_values.h"
#include "train/int8_loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    sl_teacher_predict(&tr->teacher, &batch);
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
    tr->state.all_tokens += tr->state.tokens;
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

/* -- reports and saved states ------------------------------------------------------------------ */

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
    if (!sl_trainer_state_write(tr, err))
        return false;
    report(tr, callbacks, SL_TRAIN_SAVED);
    return true;
}

/* Saves at once, so that an unwritable run directory fails before any work is done. */
static bool begin(struct sl_trainer *tr, const struct sl_checkpoint *start, struct sl_err *err)
{
    char **labels = sl_dataloader_labels(&tr->dataloader);
    if (tr->model->config.classes > 0 && !labels)
        return sl_fail(err, SL_NO_MEMORY, "no memory for labels");
    bool ok =
        sl_initial_values_set(tr->model, &tr->training, tr->dataloader.tokens, labels, start, err);
    free(labels);
    if (!ok)
        return false;
    sl_optimizer_start_average(&tr->optimizer);
    return save(tr, NULL, err);
}

/* How many steps lie between two evaluations; 0: there is only the last one. */
static int evaluation_steps(const struct sl_trainer *tr)
{
    const struct sl_hyperparameters *r = &tr->training.hyperparameters;
    return r->epochs > 0 ? sl_dataloader_epoch_steps(&tr->dataloader) : r->evaluate_every;
}

/* Ends a run that has not improved for as long as the patience lasts. A function of the state, so a
 * resumed run ends at the same step. */
static void end_when_impatient(struct sl_trainer *tr)
{
    struct sl_train_progress *s = &tr->state;
    int every = evaluation_steps(tr), patience = tr->training.hyperparameters.patience;
    if (patience > 0 && every > 0 && s->step > 0 && s->step % every == 0 &&
        (s->step - s->best_step) / every >= patience)
        s->steps = s->step;
}

static bool resume(struct sl_trainer *tr, struct sl_err *err)
{
    if (!sl_trainer_state_read(tr, err))
        return false;
    end_when_impatient(tr);
    return true;
}

/* -- creation ------------------------------------------------------------------------------- */

/* A tape sized by a dry run of the largest micro-batch. */
static bool make_room(struct sl_trainer *tr, struct sl_err *err)
{
    const struct sl_kernels *kernels = tr->engine->kernels;
    if (!sl_tape_init(&tr->tape, kernels, tr->engine->pool, 0, err))
        return false;
    struct sl_batch batch = sl_dataloader_largest_batch(&tr->dataloader);
    sl_teacher_predict(&tr->teacher, &batch);
    sl_tape_begin(&tr->tape, &batch, true);
    (void)sl_model_forward(tr->model, &tr->tape);
    sl_tape_backward(&tr->tape);
    size_t bytes = tr->tape.arena.peak;
    sl_tape_release(&tr->tape);
    return sl_tape_init(&tr->tape, kernels, tr->engine->pool, bytes, err);
}

static bool check_config(const struct sl_arch *arch, const struct sl_config *config,
                         struct sl_err *err)
{
    if (config->task == SL_TASK_PRETRAINING && arch->pretrained_by)
        return sl_fail(err, SL_BAD_INPUT, "%s is pretrained by `%s`, not by `sluice train`",
                       arch->name, arch->pretrained_by);
    if (!sl_config_check(arch, config, err))
        return false;
    return sl_arch_reads_whole_texts(arch, config) ||
           sl_fail(err, SL_BAD_INPUT,
                   "block_context is less than context_length, %d: such a model is not trained as "
                   "a whole, but in parts, by `sluice train --data` without an architecture",
                   config->context_length);
}

/* The teacher must know the texts as the student does. */
static bool open_teacher(struct sl_trainer *tr, struct sl_err *err)
{
    const struct sl_train_options *t = &tr->training;
    if (!t->teacher)
        return sl_hyperparameters_check_teacher(&t->hyperparameters, err);
    char **labels = sl_dataloader_labels(&tr->dataloader);
    if (tr->model->config.classes > 0 && !labels)
        return sl_fail(err, SL_NO_MEMORY, "no memory for labels");
    const struct sl_student student = {.model = tr->model,
                                       .tokens = tr->dataloader.tokens,
                                       .labels = labels,
                                       .largest = sl_dataloader_largest_batch(&tr->dataloader)};
    bool ok = sl_teacher_open(&tr->teacher, t->teacher, &student, err);
    tr->teacher.distillation.weight = t->hyperparameters.distillation_weight;
    free(labels);
    return ok;
}

static bool prepare(struct sl_trainer *tr, const struct sl_checkpoint *start, struct sl_err *err)
{
    struct sl_train_options *t = &tr->training;
    if (!sl_dataloader_open(&tr->dataloader, &t->sources, &t->config, &t->hyperparameters, err) ||
        !check_config(t->arch, &t->config, err))
        return false;
    tr->state.steps = t->hyperparameters.steps;
    tr->model = sl_model_create(tr->engine, t->arch, &t->config, err);
    if (!tr->model || !sl_model_allocate_gradients(tr->model, err) ||
        !sl_optimizer_init(&tr->optimizer, tr->model, &t->hyperparameters, err) ||
        !open_teacher(tr, err) || !make_room(tr, err))
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
    t->sources.tokens = start->tokens;
    start->tokens = NULL;
    return true;
}

struct sl_trainer *sl_trainer_create(struct sl_engine *engine,
                                     const struct sl_train_options *training, struct sl_err *err)
{
    struct sl_trainer *tr = sl_new(sizeof *tr, "a trainer", err);
    if (!tr)
        return NULL;
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
    sl_trainer_destroy(tr);
    return NULL;
}

void sl_trainer_destroy(struct sl_trainer *tr)
{
    if (!tr)
        return;
    sl_tape_release(&tr->tape);
    sl_optimizer_release(&tr->optimizer);
    sl_teacher_close(&tr->teacher);
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
    return due(evaluation_steps(tr), &tr->state);
}

/* On few texts many models have the same accuracy: then the loss decides. */
static bool is_best(const struct sl_train_progress *s, const struct sl_evaluation *e)
{
    if (isfinite(e->accuracy) && e->accuracy != s->best_accuracy)
        return e->accuracy > s->best_accuracy;
    return e->loss < s->best_loss;
}

/* To and from the average of the weights. */
static void swap_average(struct sl_trainer *tr)
{
    sl_optimizer_swap_average(&tr->optimizer);
    if (tr->optimizer.average)
        sl_model_pack(tr->model);
}

static bool evaluate(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                     struct sl_err *err)
{
    struct sl_evaluation e;
    const struct sl_policy as_trained = sl_policy_trained(tr->training.arch, &tr->training.config);
    swap_average(tr);
    bool ok = sl_dataloader_evaluate(&tr->dataloader, tr->model, &as_trained, &e, err);
    swap_average(tr);
    if (!ok)
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
    end_when_impatient(tr);
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

/* How fast a run is; smoothed over about the last 50 steps. */
struct throughput {
    double started, last, seconds_per_step, tokens_per_step;
    int first_step;
};

static void update_progress(struct throughput *p, struct sl_train_progress *s)
{
    static const double weight = 0.02; /* of the newest step in the moving average */
    double now = sl_now_seconds(), latest = now - p->last, tokens = (double)s->tokens;
    bool first = s->step == p->first_step + 1;
    p->last = now;
    p->seconds_per_step += first ? latest : weight * (latest - p->seconds_per_step);
    p->tokens_per_step += first ? tokens : weight * (tokens - p->tokens_per_step);
    s->seconds = now - p->started;
    s->tokens_per_second = p->tokens_per_step / p->seconds_per_step;
    s->seconds_left = (s->steps - s->step) * p->seconds_per_step;
}

static bool train(struct sl_trainer *tr, const struct sl_train_callbacks *callbacks,
                  struct sl_err *err)
{
    const double now = sl_now_seconds();
    struct throughput progress = {.started = now, .last = now, .first_step = tr->state.step};
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
    return train(tr, callbacks, err) || sl_err_set_path(err, tr->run.path) ||
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

const struct sl_model *sl_trainer_teacher(const struct sl_trainer *tr)
{
    return tr->teacher.model;
}

const struct sl_train_options *sl_trainer_options(const struct sl_trainer *tr)
{
    return &tr->training;
}

const struct sl_dataloader *sl_trainer_dataloader(const struct sl_trainer *tr)
{
    return &tr->dataloader;
}

static bool evaluate_copy(const void *context, const struct sl_model *copy,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_err *err)
{
    return sl_dataloader_evaluate(context, copy, policy, out, err);
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
    struct sl_model_config model_config = {
        .arch = tr->training.arch,
        .hyper = tr->training.config,
        .policy = sl_policy_published(tr->training.arch, &tr->training.config),
        .labels = labels,
        .tokenizer = sl_tokenizer_kind(tr->dataloader.tokens),
        .training = training};
    struct sl_checkpoint_parts parts = {.model_config = &model_config,
                                        .tokens = tr->dataloader.tokens,
                                        .parameters = tr->model->state_dict,
                                        .count = tr->model->state_dict_count,
                                        .matrices = bf16 ? SL_DTYPE_BF16 : SL_DTYPE_F32};
    sl_optimizer_swap_average(&tr->optimizer);
    bool ok = sl_int8_loss_measure(tr->model, &model_config.policy, evaluate_copy, &tr->dataloader,
                                   &model_config.precision_costs[SL_PRECISION_INT8], err) &&
              sl_checkpoint_write(directory, &parts, err);
    sl_optimizer_swap_average(&tr->optimizer);
    free(training);
    free(labels);
    return ok || sl_wrap(err, "publish");
}
