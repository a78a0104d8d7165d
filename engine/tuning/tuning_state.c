/* tuning_state.c - the parameters that learn, their moments, and what a distillation began with. */
#include "tuning/tuning_state.h"

#include "checkpoint/training_state.h"
#include "train/dataloader_kind.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The step first, then what must agree. */
enum { STEP, ARCHITECTURE, TEXTS, TEACHER, COUNTERS_MAX = 96 };

/* The parameters that learn, as a state has them. */
struct learning {
    struct sl_parameter *parameters;
    float **first, **second;
    struct sl_state_entry counters[COUNTERS_MAX];
    struct sl_training_state state;
};

static void add(struct learning *l, struct sl_state_entry counter)
{
    assert(l->state.counters_count < COUNTERS_MAX);
    l->counters[l->state.counters_count++] = counter;
}

static void add_number(struct learning *l, const char *name, double number)
{
    add(l, (struct sl_state_entry){.name = name, .kind = SL_ENTRY_REAL, .number = number});
}

static void add_whole(struct learning *l, const char *name, int64_t number)
{
    add(l, (struct sl_state_entry){.name = name, .whole = number});
}

static void add_counters(struct learning *l, const struct sl_text_distillation *d)
{
    const struct sl_dataset *set = d->options.set;
    const struct sl_model *m = d->tuner.model;
    add_whole(l, "step", d->step);
    add_whole(l, "architecture", sl_fingerprint(m->arch->name, strlen(m->arch->name)));
    add_whole(l, "texts", sl_fingerprint(set->ids, set->ids_count * sizeof *set->ids));
    add_whole(l, "teacher", sl_fingerprint(d->teacher_sha256, strlen(d->teacher_sha256)));
    add_number(l, "steps", d->options.steps);
    add_number(l, "batch_size", d->options.batch_size);
    add_number(l, "learning_rate", (double)d->options.learning_rate);
    add_number(l, "router_learning_rate", (double)d->options.router_learning_rate);
    for (const struct sl_param *h = m->arch->hypers; h->name; h++)
        add_number(l, h->name, sl_param_get(h, &m->config));
}

static void learning_close(struct learning *l)
{
    free(l->parameters);
    free(l->first);
    free(l->second);
}

static bool learning_open(struct learning *l, const struct sl_text_distillation *d,
                          struct sl_err *err)
{
    const struct sl_builder *b = &d->tuner.model->builder;
    const size_t most = (size_t)b->count + 1;
    *l = (struct learning){.parameters = calloc(most, sizeof *l->parameters),
                           .first = calloc(most, sizeof *l->first),
                           .second = calloc(most, sizeof *l->second)};
    if (!l->parameters || !l->first || !l->second) {
        learning_close(l);
        return sl_fail(err, SL_NO_MEMORY, "no memory for a list of %d parameters", b->count);
    }
    int count = 0;
    for (int i = 0; i < b->count; i++) {
        if (b->parameters[i].frozen)
            continue;
        l->parameters[count] = b->parameters[i];
        l->first[count] = d->tuner.optimizer.m[i];
        l->second[count++] = d->tuner.optimizer.v[i];
    }
    l->state = (struct sl_training_state){.parameters = l->parameters,
                                          .first = l->first,
                                          .second = l->second,
                                          .count = count,
                                          .counters = l->counters};
    add_counters(l, d);
    return true;
}

bool sl_tuning_state_save(const struct sl_text_distillation *d, const char *directory,
                          struct sl_err *err)
{
    struct learning l;
    if (!learning_open(&l, d, err))
        return false;
    const bool ok = sl_training_state_write(directory, &l.state, err);
    learning_close(&l);
    return ok || sl_wrap(err, "save step %d", d->step);
}

static bool agree(const struct learning *saved, const struct learning *asked, struct sl_err *err)
{
    if (!sl_state_numbers_agree(saved->counters, asked->counters, asked->state.counters_count, err))
        return false;
    if (saved->counters[TEACHER].whole != asked->counters[TEACHER].whole)
        return sl_fail(err, SL_BAD_INPUT, "the run was started with another model");
    return saved->counters[TEXTS].whole == asked->counters[TEXTS].whole ||
           sl_fail(err, SL_BAD_INPUT, "the run was started with other texts");
}

static bool read_state(struct learning *saved, const struct learning *asked,
                       const struct sl_text_distillation *d, const char *directory,
                       struct sl_err *err)
{
    if (!sl_training_state_peek(directory, saved->counters, ARCHITECTURE + 1, err))
        return false;
    if (saved->counters[ARCHITECTURE].whole != asked->counters[ARCHITECTURE].whole)
        return sl_fail(err, SL_BAD_INPUT, "the run was started by another command");
    if (!sl_training_state_peek(directory, saved->counters, saved->state.counters_count, err) ||
        !agree(saved, asked, err) || !sl_training_state_read(directory, &saved->state, err))
        return false;
    const int64_t step = saved->counters[STEP].whole;
    return (step >= 0 && step <= d->options.steps) ||
           sl_fail(err, SL_CORRUPT, "it is at step %" PRId64 " of %d", step, d->options.steps);
}

bool sl_tuning_state_resume(struct sl_text_distillation *d, const char *directory,
                            struct sl_err *err)
{
    struct learning saved, asked;
    if (!learning_open(&saved, d, err))
        return false;
    bool ok = learning_open(&asked, d, err);
    if (ok) {
        ok = read_state(&saved, &asked, d, directory, err);
        learning_close(&asked);
    }
    if (ok)
        sl_text_distillation_go_on(d, (int)saved.counters[STEP].whole);
    learning_close(&saved);
    return ok || sl_wrap(err, "resume '%s'", directory);
}
