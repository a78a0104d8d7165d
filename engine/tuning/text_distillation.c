/* text_distillation.c - targets from the teacher, and steps towards them. */
#include "tuning/text_distillation.h"

#include "base/clock.h"
#include "base/int_math.h"
#include "infer/logits.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_OUT = 1000 /* texts, at most */, PART_HELD_OUT = 10 };

static const float cosine_weight = 4.0f;

/* ---- what is learnt -------------------------------------------------------------------------- */

static bool is_classifier(const struct sl_text_distillation *d)
{
    return d->tuner.model->config.task == SL_TASK_CLASSIFICATION;
}

static void add_loss(void *context, struct sl_tape *t, struct sl_tensor *y, const int32_t *texts)
{
    const struct sl_text_distillation *d = context;
    const size_t each = (size_t)d->outputs;
    for (int i = 0; texts && i < y->rows; i++)
        memcpy(d->batch + (size_t)i * each, d->targets + (size_t)texts[i] * each,
               each * sizeof *d->batch);
    if (!is_classifier(d)) {
        sl_cosine_loss(t, y,
                       (struct sl_cosine_loss_args){.targets = d->batch, .weight = cosine_weight});
        return;
    }
    struct sl_tensor *teacher = sl_tape_struct(t, 1, sizeof *teacher);
    *teacher = (struct sl_tensor){
        .data = d->batch, .stride = each, .rows = y->rows, .cols = y->cols, .type = SL_F32};
    struct sl_distillation *learnt = sl_tape_struct(t, 1, sizeof *learnt);
    *learnt = (struct sl_distillation){teacher, 1.0f};
    int32_t *unused = sl_tape_struct(t, (size_t)y->rows, sizeof *unused);
    sl_distillation_loss(t, y, learnt,
                         (struct sl_cross_entropy_args){.targets = unused, .weight = 1.0f});
}

static bool ask(struct sl_text_distillation *d, const struct sl_model *teacher, struct sl_err *err)
{
    const struct sl_dataset *texts = d->options.asked;
    d->outputs = teacher->info.output_size[SL_OUTPUT_TEXT];
    const size_t count = (size_t)texts->count, each = (size_t)d->outputs;
    (void)snprintf(d->teacher_sha256, sizeof d->teacher_sha256, "%s", teacher->info.sha256);
    d->targets = calloc(count * each, sizeof *d->targets);
    d->rows = calloc(count, sizeof *d->rows);
    if (!d->targets || !d->rows)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the results of %zu texts", count);
    for (int i = 0; i < texts->count; i++)
        d->rows[i] = i;
    return sl_text_tuner_predict(teacher, texts, d->rows, texts->count, d->targets, err);
}

static bool ask_teacher(struct sl_text_distillation *d, struct sl_err *err)
{
    struct sl_model *teacher = sl_model_open(d->options.engine, d->options.teacher, err);
    const bool ok = teacher && ask(d, teacher, err);
    sl_model_close(teacher);
    return ok;
}

static void set_hyperparameters(struct sl_text_distillation *d)
{
    struct sl_hyperparameters *h = &d->h;
    sl_params_set_defaults(sl_hyperparameter_rows, h);
    h->steps = d->options.steps;
    h->warmup_steps = h->steps / 20;
    h->learning_rate = d->options.learning_rate;
    h->min_learning_rate = 0.0f;
    h->lr_schedule = SL_LR_COSINE_AFTER_WARMUP;
    h->beta2 = 0.999f;
    h->weight_decay = 0.01f;
}

static bool start(struct sl_text_distillation *d, struct sl_err *err)
{
    set_hyperparameters(d);
    if (!sl_text_tuner_open(&d->tuner, err) || !sl_text_tuner_restart(&d->tuner, &d->h, err))
        return false;
    const size_t floats = (size_t)d->tuner.micro_batch * (size_t)d->outputs;
    d->batch = calloc(floats, sizeof *d->batch);
    return d->batch || sl_fail(err, SL_NO_MEMORY, "no memory for the results of a micro-batch");
}

bool sl_text_distillation_open(struct sl_text_distillation *d,
                               const struct sl_text_distillation_options *options,
                               struct sl_model *student, struct sl_err *err)
{
    const int count = options->set->count;
    assert(options->asked->count == count);
    *d = (struct sl_text_distillation){.options = *options,
                                       .tuner = {.set = options->set, .model = student}};
    d->tuner.loss = (struct sl_text_loss){.add = add_loss, .context = d};
    d->trained = count - sl_min(count / PART_HELD_OUT, HELD_OUT);
    const bool ok = ask_teacher(d, err) && start(d, err);
    if (!ok)
        sl_text_distillation_close(d);
    return ok;
}

void sl_text_distillation_close(struct sl_text_distillation *d)
{
    sl_text_tuner_close(&d->tuner);
    free(d->targets);
    free(d->batch);
    free(d->rows);
    *d = (struct sl_text_distillation){0};
}

static int step_texts(const struct sl_text_distillation *d)
{
    return sl_min(d->options.batch_size, d->trained);
}

static void shuffle(struct sl_text_distillation *d)
{
    const int per_epoch = d->trained / step_texts(d);
    sl_text_tuner_shuffle(&d->tuner, d->step / per_epoch, d->rows, d->trained);
}

void sl_text_distillation_go_on(struct sl_text_distillation *d, int step)
{
    d->step = step;
    shuffle(d);
    sl_model_pack(d->tuner.model);
}

bool sl_text_distillation_step(struct sl_text_distillation *d, struct sl_err *err)
{
    const int size = step_texts(d), per_epoch = d->trained / size;
    if (d->step % per_epoch == 0)
        shuffle(d);
    const int32_t *texts = d->tuner.order + (ptrdiff_t)(d->step % per_epoch) * size;
    if (!sl_text_tuner_step(&d->tuner, &d->h, d->step, texts, size, err))
        return false;
    d->step++;
    return true;
}

/* ---- likeness -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(double *each, int count, struct sl_likeness *q)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += each[i];
    qsort(each, (size_t)count, sizeof *each, compare);
    q->similarity = sum / count;
    q->lowest = each[count / 20];
}

/* A text at a time, and its part of the operations. */
static bool run_text(const struct sl_text_distillation *d, struct sl_classifier *c, int text,
                     double *similarity, int64_t layers[2], struct sl_err *err)
{
    struct sl_classifier_item item = {0};
    const float *want = d->targets + (size_t)text * (size_t)d->outputs;
    item.tokens = sl_dataset_ids(d->options.set, text, &item.count);
    if (!sl_classifier_run(c, &item, 1, err))
        return false;
    layers[0] += item.layers_used;
    layers[1] += item.layers_full;
    *similarity = is_classifier(d)
                      ? sl_argmax(item.logits, d->outputs) == sl_argmax(want, d->outputs)
                      : sl_cosine(item.embedding, want, d->outputs, 0.0);
    return true;
}

static bool run_texts(const struct sl_text_distillation *d, struct sl_classifier *c, double *each,
                      struct sl_likeness *q, struct sl_err *err)
{
    int64_t layers[2] = {0};
    const double begun = sl_now_seconds();
    const int count = d->options.set->count - d->trained;
    for (int i = 0; i < count; i++)
        if (!run_text(d, c, d->trained + i, &each[i], layers, err))
            return false;
    q->seconds = sl_now_seconds() - begun;
    q->skipped = 1.0 - (double)layers[0] / (double)layers[1];
    summarize(each, count, q);
    return true;
}

bool sl_text_distillation_compare(const struct sl_text_distillation *d,
                                  const struct sl_model *model, struct sl_likeness *likeness,
                                  struct sl_err *err)
{
    const int context = model->config.context_length;
    const struct sl_classifier_options options = {.max_batch_size = 1, .max_batch_tokens = context};
    double *each = calloc((size_t)(d->options.set->count - d->trained) + 1, sizeof *each);
    *likeness = (struct sl_likeness){0};
    if (!each)
        return sl_fail(err, SL_NO_MEMORY, "no memory for similarities");
    struct sl_classifier *c = sl_classifier_create(model, &options, err);
    const bool ok = c && run_texts(d, c, each, likeness, err);
    sl_classifier_destroy(c);
    free(each);
    return ok;
}
