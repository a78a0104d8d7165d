/* text_distillation.c - targets from the teacher, and steps towards them. */
#include "tuning/text_distillation.h"

#include "base/clock.h"
#include "base/int_math.h"
#include "infer/batch_runner.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts, at most; of tokens, fewer: each text then has many outputs. */
enum { HELD_OUT = 1000, HELD_OUT_OF_TOKENS = 200, PART_HELD_OUT = 10 };

/* ---- what is learnt -------------------------------------------------------------------------- */

/* What the teacher gave for these texts. */
static struct sl_tensor cached_targets(const struct sl_text_distillation *d, const int32_t *texts,
                                       const struct sl_tensor *y)
{
    const size_t each = (size_t)d->outputs;
    for (int i = 0; texts && i < y->rows; i++)
        memcpy(d->batch + (size_t)i * each, d->targets + (size_t)texts[i] * each,
               each * sizeof *d->batch);
    return (struct sl_tensor){.data = d->batch, .stride = each};
}

/* What it gives for the tokens of a batch; until the next call. */
static const struct sl_tensor *teacher_forward(struct sl_text_distillation *d,
                                               const struct sl_batch *batch)
{
    struct sl_batch own = *batch;
    sl_teacher_predict(&d->teacher, &own);
    return d->teacher.distillation.teacher;
}

static void add_loss(void *context, struct sl_tape *t, struct sl_tensor *y, const int32_t *texts)
{
    struct sl_text_distillation *d = context;
    struct sl_tensor *teacher = sl_tape_struct(t, 1, sizeof *teacher);
    if (!d->target->of_tokens)
        *teacher = cached_targets(d, texts, y);
    else if (texts)
        *teacher = *teacher_forward(d, t->view->batch);
    teacher->rows = y->rows;
    teacher->cols = y->cols;
    teacher->type = SL_F32;
    d->target->add_loss(t, y, teacher);
}

static bool cache_targets(struct sl_text_distillation *d, const struct sl_model *teacher,
                          struct sl_err *err)
{
    const struct sl_dataset *texts = d->options.asked;
    const size_t count = (size_t)texts->count, each = (size_t)d->outputs;
    d->targets = calloc(count * each, sizeof *d->targets);
    if (!d->targets)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the results of %zu texts", count);
    return sl_text_tuner_predict(teacher, texts, d->rows, texts->count, d->targets, err);
}

/* A teacher of texts runs now, one of tokens in each step. */
static bool open_teacher(struct sl_text_distillation *d, struct sl_err *err)
{
    struct sl_model *teacher = sl_model_open(d->options.engine, d->options.teacher, err);
    if (!teacher)
        return false;
    (void)snprintf(d->teacher_sha256, sizeof d->teacher_sha256, "%s", teacher->info.sha256);
    d->outputs = d->target->of_tokens ? sl_text_tuner_outputs(&d->tuner)
                                      : teacher->info.output_size[SL_OUTPUT_TEXT];
    if (d->target->of_tokens) {
        const struct sl_batch largest = sl_text_tuner_largest(&d->tuner);
        d->teacher = (struct sl_teacher){
            .model = teacher, .policy = sl_policy_trained(teacher->arch, &teacher->config)};
        return sl_model_open_tape(teacher, &d->teacher.policy, &largest, &d->teacher.tape, err);
    }
    const bool ok = cache_targets(d, teacher, err);
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
    if (!sl_text_tuner_open(&d->tuner, err) || !sl_text_tuner_restart(&d->tuner, &d->h, err) ||
        !open_teacher(d, err))
        return false;
    const size_t each = (size_t)d->outputs;
    d->batch = calloc((size_t)d->tuner.micro_batch * each, sizeof *d->batch);
    d->scratch = calloc(2 * each, sizeof *d->scratch);
    return (d->batch && d->scratch) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the results of a micro-batch");
}

bool sl_text_distillation_open(struct sl_text_distillation *d,
                               const struct sl_text_distillation_options *options,
                               struct sl_model *student, struct sl_err *err)
{
    const int count = options->set->count;
    assert(options->asked->count == count);
    *d = (struct sl_text_distillation){.options = *options,
                                       .target = sl_distillation_target_of(&student->config),
                                       .tuner = {.set = options->set, .model = student}};
    assert(d->target);
    d->tuner.loss =
        (struct sl_text_loss){.add = add_loss, .context = d, .of_tokens = d->target->of_tokens};
    const int held_out = d->target->of_tokens ? HELD_OUT_OF_TOKENS : HELD_OUT;
    d->trained = count - sl_min(count / PART_HELD_OUT, held_out);
    d->rows = calloc((size_t)count, sizeof *d->rows);
    for (int i = 0; d->rows && i < count; i++)
        d->rows[i] = i;
    const bool ok =
        (d->rows || sl_fail(err, SL_NO_MEMORY, "no memory for %d texts", count)) && start(d, err);
    if (!ok)
        sl_text_distillation_close(d);
    return ok;
}

void sl_text_distillation_close(struct sl_text_distillation *d)
{
    sl_text_tuner_close(&d->tuner);
    sl_teacher_close(&d->teacher);
    free(d->targets);
    free(d->batch);
    free(d->scratch);
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

static int order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(double *each, int count, struct sl_likeness *q)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += each[i];
    qsort(each, (size_t)count, sizeof *each, order);
    q->similarity = sum / count;
    q->lowest = each[count / 20];
}

/* A model whose outputs of texts, or of tokens, are compared. */
struct compared {
    const struct sl_model *model;
    struct sl_classifier *classifier;
    struct sl_batch_runner runner;
};

static bool open_compared(struct compared *c, const struct sl_text_distillation *d,
                          const struct sl_model *model, struct sl_err *err)
{
    const int context = model->config.context_length;
    const struct sl_classifier_options options = {.max_batch_size = 1, .max_batch_tokens = context};
    const struct sl_batch_limits limits = {
        .rows = sl_text_tuner_longest(d->options.set), .sequences = 1, .context = context};
    *c = (struct compared){.model = model};
    if (d->target->of_tokens)
        return sl_batch_runner_init(&c->runner, model, &model->policy, limits, err);
    return (c->classifier = sl_classifier_create(model, &options, err)) != NULL;
}

static void close_compared(struct compared *c)
{
    sl_classifier_destroy(c->classifier);
    sl_batch_runner_release(&c->runner);
}

static struct sl_text_output output_of_text(const struct sl_text_distillation *d, const float *data)
{
    return (struct sl_text_output){
        .data = data, .stride = (size_t)d->outputs, .rows = 1, .cols = d->outputs};
}

static struct sl_text_output output_of_tokens(const struct sl_tensor *y)
{
    return (struct sl_text_output){
        .data = y->data, .stride = y->stride, .rows = y->rows, .cols = y->cols};
}

/* Adds to the blocks that ran, and all. */
static void count_layers(const struct compared *c, const int32_t *used, int tokens,
                         int64_t layers[2])
{
    for (int i = 0; i < tokens; i++)
        layers[0] += used[i];
    layers[1] += (int64_t)tokens * c->model->config.depth;
}

static bool run_text(const struct sl_text_distillation *d, struct compared *c, int text,
                     struct sl_text_output *y, int64_t layers[2], double *seconds,
                     struct sl_err *err)
{
    struct sl_classifier_item item = {0};
    const double begun = sl_now_seconds();
    item.tokens = sl_dataset_ids(d->options.set, text, &item.count);
    item.types = sl_dataset_types(d->options.set, text);
    if (!sl_classifier_run(c->classifier, &item, 1, err))
        return false;
    *seconds += sl_now_seconds() - begun;
    count_layers(c, item.token_layers, item.count, layers);
    *y = output_of_text(d, item.logits);
    return true;
}

static const struct sl_tensor *run_batch(struct compared *c, const struct sl_batch *batch)
{
    pthread_mutex_lock(&c->model->engine->lock);
    const struct sl_tensor *y = sl_batch_runner_run(&c->runner, batch, true);
    pthread_mutex_unlock(&c->model->engine->lock);
    return y;
}

/* The seconds are those of serving, where a text generator computes the logits of the last token
 * alone. */
static void run_tokens(const struct sl_text_distillation *d, struct compared *c, int text,
                       struct sl_text_output *y, int64_t layers[2], double *seconds)
{
    struct sl_sequence sequence;
    struct sl_batch batch = sl_text_tuner_batch(d->options.set, text, &sequence);
    const bool generates = c->model->config.classes == 0;
    const int32_t last = batch.rows - 1;
    const struct sl_rows one = {&last, 1};
    const double begun = sl_now_seconds();
    batch.output = generates ? SL_OUTPUT_TEXT : SL_OUTPUT_TOKENS;
    batch.wanted = generates ? &one : NULL;
    const struct sl_tensor *out = run_batch(c, &batch);
    *seconds += sl_now_seconds() - begun;
    count_layers(c, c->runner.layers_used, batch.rows, layers);
    batch.wanted = NULL;
    *y = output_of_tokens(generates ? run_batch(c, &batch) : out);
}

static struct sl_text_output teacher_output(struct sl_text_distillation *d, int text)
{
    struct sl_sequence sequence;
    if (!d->target->of_tokens)
        return output_of_text(d, d->targets + (size_t)text * (size_t)d->outputs);
    const struct sl_batch batch = sl_text_tuner_batch(d->options.set, text, &sequence);
    return output_of_tokens(teacher_forward(d, &batch));
}

/* A text at a time, and its part of the operations. */
static bool compare_text(struct sl_text_distillation *d, struct compared *c, int text,
                         double *similarity, struct sl_likeness *q, int64_t layers[2],
                         struct sl_err *err)
{
    struct sl_text_output y;
    if (d->target->of_tokens)
        run_tokens(d, c, text, &y, layers, &q->seconds);
    else if (!run_text(d, c, text, &y, layers, &q->seconds, err))
        return false;
    const struct sl_text_output teacher = teacher_output(d, text);
    *similarity = d->target->similarity(c->model->kernels, &y, &teacher, d->scratch);
    return true;
}

static bool compare_texts(struct sl_text_distillation *d, struct compared *c, double *each,
                          struct sl_likeness *q, struct sl_err *err)
{
    int64_t layers[2] = {0};
    const int count = d->options.set->count - d->trained;
    for (int i = 0; i < count; i++)
        if (!compare_text(d, c, d->trained + i, &each[i], q, layers, err))
            return false;
    q->skipped = 1.0 - (double)layers[0] / (double)layers[1];
    summarize(each, count, q);
    return true;
}

bool sl_text_distillation_compare(struct sl_text_distillation *d, const struct sl_model *model,
                                  struct sl_likeness *likeness, struct sl_err *err)
{
    struct compared c = {0};
    double *each = calloc((size_t)(d->options.set->count - d->trained) + 1, sizeof *each);
    *likeness = (struct sl_likeness){0};
    if (!each)
        return sl_fail(err, SL_NO_MEMORY, "no memory for similarities");
    const bool ok = open_compared(&c, d, model, err) && compare_texts(d, &c, each, likeness, err);
    close_compared(&c);
    free(each);
    return ok;
}
