/* trainer_state.c - the state of a run: written, compared with what was asked for, and read. */
#include "checkpoint/training_state.h"
#include "train/trainer_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Progress first, then what every state has, then what depends on the architecture. */
enum {
    COUNTERS_MAX = 96,
    PROGRESS_COUNTERS = 5,
    ARCHITECTURE_COUNTER = PROGRESS_COUNTERS,
    CORPUS_COUNTER,
    TEACHER_COUNTER,
    COMMON_COUNTERS
};

static struct sl_state_entry hyperparameter_of(const struct sl_trainer *tr,
                                               const struct sl_param *row)
{
    return (struct sl_state_entry){.name = row->name,
                                   .kind = SL_ENTRY_REAL,
                                   .number = sl_param_get(row, &tr->training.hyperparameters)};
}

/* Counters that a state must match, after those of the progress, which may differ. */
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
    list[count++] = (struct sl_state_entry){.name = "tokens", .whole = s->all_tokens};
    assert(count == PROGRESS_COUNTERS);
    const char *arch = tr->training.arch->name;
    list[count++] = (struct sl_state_entry){.name = "architecture",
                                            .whole = sl_fingerprint(arch, strlen(arch))};
    assert(count == CORPUS_COUNTER);
    list[count++] = (struct sl_state_entry){.name = "corpus",
                                            .whole = sl_dataloader_fingerprint(&tr->dataloader)};
    assert(count == TEACHER_COUNTER);
    const struct sl_model *teacher = tr->teacher.model;
    list[count++] = (struct sl_state_entry){
        .name = "teacher",
        .whole = teacher ? sl_fingerprint(teacher->sha256, strlen(teacher->sha256)) : 0};
    assert(count == COMMON_COUNTERS);
    for (const struct sl_param *r = sl_hyperparameter_rows; r->name; r++)
        list[count++] = hyperparameter_of(tr, r);
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
                                      .average = tr->optimizer.average,
                                      .count = tr->model->state_dict_count,
                                      .buffers =
                                          tr->model->state_dict_count - tr->model->builder.count,
                                      .counters = list,
                                      .counters_count = count};
}

bool sl_trainer_state_write(const struct sl_trainer *tr, struct sl_err *err)
{
    struct sl_state_entry list[COUNTERS_MAX];
    int count = list_counters(tr, list);
    struct sl_training_state state = state_of(tr, list, count);
    return sl_training_state_write(tr->run.state, &state, err) ||
           sl_wrap(err, "save step %d", tr->state.step);
}

static const char *architecture_of(int64_t fingerprint)
{
    for (int i = 0; sl_arch_at(i); i++)
        if ((int64_t)sl_fingerprint(sl_arch_at(i)->name, strlen(sl_arch_at(i)->name)) ==
            fingerprint)
            return sl_arch_at(i)->name;
    return "an unknown architecture";
}

/* The same training: every number of hyperparameters and architecture, and the text. Other options
 * may be why a text is another, so they are named before it. */
static bool agree(const struct sl_state_entry *saved, const struct sl_state_entry *asked, int count,
                  struct sl_err *err)
{
    if (!sl_state_numbers_agree(saved + PROGRESS_COUNTERS, asked + PROGRESS_COUNTERS,
                                count - PROGRESS_COUNTERS, err))
        return false;
    if (saved[TEACHER_COUNTER].whole != asked[TEACHER_COUNTER].whole)
        return sl_fail(err, SL_BAD_INPUT, "the run was started with %s teacher",
                       !saved[TEACHER_COUNTER].whole  ? "no"
                       : asked[TEACHER_COUNTER].whole ? "another"
                                                      : "a");
    return saved[CORPUS_COUNTER].whole == asked[CORPUS_COUNTER].whole ||
           sl_fail(err, SL_BAD_INPUT,
                   "the run was started with other texts or labels than those given now");
}

static bool same_architecture(const struct sl_state_entry *saved,
                              const struct sl_state_entry *asked, struct sl_err *err)
{
    int64_t before = saved[ARCHITECTURE_COUNTER].whole, now = asked[ARCHITECTURE_COUNTER].whole;
    return before == now || sl_fail(err, SL_BAD_INPUT, "the run was started with %s, not %s",
                                    architecture_of(before), architecture_of(now));
}

/* Compared before tensors are read: another width is to be reported as such, not as a tensor of the
 * wrong shape. */
static bool same_training(const char *path, const struct sl_state_entry *asked, int count,
                          struct sl_err *err)
{
    struct sl_state_entry saved[COUNTERS_MAX];
    memcpy(saved, asked, (size_t)count * sizeof *saved);
    return sl_training_state_peek(path, saved, COMMON_COUNTERS, err) &&
           same_architecture(saved, asked, err) &&
           sl_training_state_peek(path, saved, count, err) && agree(saved, asked, count, err);
}

bool sl_trainer_state_read(struct sl_trainer *tr, struct sl_err *err)
{
    struct sl_state_entry saved[COUNTERS_MAX], asked[COUNTERS_MAX];
    int count = list_counters(tr, asked);
    (void)list_counters(tr, saved);
    struct sl_training_state state = state_of(tr, saved, count);
    if (!same_training(tr->run.state, asked, count, err) ||
        !sl_training_state_read(tr->run.state, &state, err))
        return sl_err_set_path(err, tr->run.path) || sl_wrap(err, "resume '%s'", tr->run.path);
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
    tr->state.all_tokens = saved[4].whole;
    return true;
}
