/* fine_tuning.c - an encoder as a classifier, from its first step to its last. */
#include "tuning/fine_tuning.h"

#include "base/int_math.h"
#include "base/random.h"
#include "checkpoint/checkpoint.h"
#include "infer/classifier.h"
#include "train/hyperparameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a micro-batch that are enough for matrix products, and texts of a run that predicts. */
enum { MICRO_ROWS = 4096, PREDICTED = 64, PREDICTED_ROWS = 8192 };

enum { SEED = 1 };

static const float dropout = 0.1f; /* as in BERT */

/* ---- the model ------------------------------------------------------------------------------- */

/* Few texts have few of the tokens, and the table is half of a small encoder. */
static void freeze_tokens(struct sl_model *model)
{
    for (int i = 0; i < model->builder.count; i++) {
        struct sl_parameter *p = &model->builder.parameters[i];
        p->frozen = strcmp(p->name, "token_embedding.weight") == 0;
    }
}

static bool load(struct sl_fine_tuning *f, const struct sl_checkpoint *from, struct sl_err *err)
{
    const size_t bytes = (size_t)f->model->state_dict_count * sizeof(struct sl_parameter);
    struct sl_parameter *list = malloc(bytes);
    int count = f->model->state_dict_count;
    if (!list)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a list of parameters");
    memcpy(list, f->model->state_dict, bytes);
    sl_model_initialize(f->model, SEED);
    bool ok = sl_model_exclude_class_parameters(f->model, list, &count, err) &&
              sl_checkpoint_load_matching(from, list, count, err);
    free(list);
    return ok;
}

static bool create(struct sl_fine_tuning *f, struct sl_engine *engine,
                   const struct sl_checkpoint *from, struct sl_err *err)
{
    struct sl_config config = from->model_config.hyper;
    config.task = SL_TASK_CLASSIFICATION;
    config.classes = f->set->labels.count;
    config.multi_label = f->set->multi_label;
    config.bidirectional = true;
    config.dropout = dropout;
    if (!sl_config_check(from->model_config.arch, &config, err))
        return false;
    f->model = sl_model_create(engine, from->model_config.arch, &config, err);
    if (!f->model)
        return false;
    freeze_tokens(f->model);
    return load(f, from, err) && sl_model_allocate_gradients(f->model, err);
}

/* Copies the values of all parameters that are trained to the start, or back. */
static void copy_values(const struct sl_fine_tuning *f, bool back)
{
    float *at = f->start;
    for (int i = 0; i < f->model->builder.count; i++) {
        const struct sl_parameter *p = &f->model->builder.parameters[i];
        const size_t floats = sl_parameter_floats(p);
        if (p->frozen)
            continue;
        memcpy(back ? p->data : at, back ? at : p->data, floats * sizeof *at);
        at += floats;
    }
}

static bool keep_start(struct sl_fine_tuning *f, struct sl_err *err)
{
    size_t floats = 0;
    for (int i = 0; i < f->model->builder.count; i++) {
        const struct sl_parameter *p = &f->model->builder.parameters[i];
        floats += p->frozen ? 0 : sl_parameter_floats(p);
    }
    if (!sl_arena_init(&f->arena, floats * sizeof *f->start, err))
        return false;
    f->start = sl_arena_take(&f->arena, floats, sizeof *f->start);
    copy_values(f, false);
    return true;
}

/* ---- micro-batches --------------------------------------------------------------------------- */

/* Of the first texts of the order: a text may be as long as the longest. */
static struct sl_batch batch_of(const struct sl_fine_tuning *f, const int32_t *texts, int count)
{
    struct sl_batch batch = {
        .tokens = f->tokens, .labels = f->labels, .sequences = f->sequences, .count = count};
    for (int i = 0; i < count; i++) {
        int tokens;
        const int32_t *ids = sl_dataset_ids(f->set, texts[i], &tokens);
        memcpy(f->tokens + batch.rows, ids, (size_t)tokens * sizeof *ids);
        f->labels[i] = sl_label_only(&f->set->label_lists, texts[i]);
        f->sequences[i] = (struct sl_sequence){.first = batch.rows, .rows = tokens};
        batch.rows += tokens;
    }
    return batch;
}

static int tokens_of(const struct sl_fine_tuning *f, const int32_t *texts, int count)
{
    int tokens = 0;
    for (int i = 0; i < count; i++)
        tokens += f->set->examples[texts[i]].tokens;
    return tokens;
}

static int longest_text(const struct sl_dataset *set)
{
    int longest = 1;
    for (int i = 0; i < set->count; i++)
        longest = set->examples[i].tokens > longest ? set->examples[i].tokens : longest;
    return longest;
}

static void run(struct sl_fine_tuning *f, const struct sl_batch *batch)
{
    sl_tape_begin(&f->tape, batch, true);
    (void)sl_model_forward(f->model, &f->tape);
    sl_tape_backward(&f->tape);
}

/* A tape sized by a dry run of a micro-batch of the longest texts. */
static bool make_room(struct sl_fine_tuning *f, int longest, struct sl_err *err)
{
    const struct sl_engine *engine = f->model->engine;
    struct sl_batch batch = {.tokens = f->tokens,
                             .labels = f->labels,
                             .sequences = f->sequences,
                             .count = f->micro_batch,
                             .rows = f->micro_batch * longest};
    for (int i = 0; i < f->micro_batch; i++)
        f->sequences[i] = (struct sl_sequence){.first = i * longest, .rows = longest};
    if (!sl_tape_init(&f->tape, f->model->kernels, engine->pool, 0, err))
        return false;
    run(f, &batch);
    const size_t bytes = f->tape.arena.peak;
    sl_tape_release(&f->tape);
    return sl_tape_init(&f->tape, f->model->kernels, engine->pool, bytes, err);
}

static bool allocate(struct sl_fine_tuning *f, struct sl_err *err)
{
    const int longest = longest_text(f->set);
    f->micro_batch = longest < MICRO_ROWS ? sl_min(f->set->count, MICRO_ROWS / longest) : 1;
    const size_t texts = (size_t)f->micro_batch, rows = texts * (size_t)longest;
    f->tokens = calloc(rows, sizeof *f->tokens);
    f->labels = calloc(texts, sizeof *f->labels);
    f->sequences = calloc(texts, sizeof *f->sequences);
    f->order = calloc((size_t)f->set->count, sizeof *f->order);
    if (!f->tokens || !f->labels || !f->sequences || !f->order)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a micro-batch of %zu rows", rows);
    return make_room(f, longest, err);
}

bool sl_fine_tuning_open(struct sl_fine_tuning *f, const struct sl_fine_tuning_options *options,
                         struct sl_err *err)
{
    struct sl_checkpoint from;
    *f = (struct sl_fine_tuning){.set = options->set};
    if (!sl_checkpoint_open(&from, options->encoder, err))
        return false;
    bool ok = create(f, options->engine, &from, err) && keep_start(f, err) && allocate(f, err);
    sl_checkpoint_close(&from);
    if (ok)
        return true;
    sl_fine_tuning_close(f);
    return sl_wrap(err, "fine-tune '%s'", options->encoder);
}

void sl_fine_tuning_close(struct sl_fine_tuning *f)
{
    sl_tape_release(&f->tape);
    sl_optimizer_release(&f->optimizer);
    sl_model_close(f->model);
    sl_arena_release(&f->arena);
    free(f->tokens);
    free(f->labels);
    free(f->order);
    free(f->sequences);
    *f = (struct sl_fine_tuning){0};
}

/* ---- a fit ----------------------------------------------------------------------------------- */

static struct sl_hyperparameters hyperparameters_of(const struct sl_encoder_recipe *r, int count)
{
    struct sl_hyperparameters h;
    sl_params_set_defaults(sl_hyperparameter_rows, &h);
    h.steps = r->epochs * sl_ceil_div(count, r->batch_size);
    h.warmup_steps = h.steps / 10;
    h.learning_rate = r->learning_rate;
    h.min_learning_rate = 0.0f;
    h.lr_schedule = SL_LR_COSINE_AFTER_WARMUP;
    h.layer_decay = r->layer_decay;
    h.beta2 = 0.999f;
    h.weight_decay = 0.01f;
    return h;
}

/* The gradients of a step's texts, in micro-batches. */
static void differentiate(struct sl_fine_tuning *f, const int32_t *texts, int count)
{
    const float row_scale = 1.0f / (float)tokens_of(f, texts, count);
    int row_base = 0;
    sl_model_zero_gradients(f->model);
    for (int first = 0; first < count; first += f->micro_batch) {
        struct sl_batch batch = batch_of(f, texts + first, sl_min(f->micro_batch, count - first));
        batch.row_base = row_base;
        batch.loss_scale = 1.0f / (float)count;
        batch.row_scale = row_scale;
        row_base += batch.rows;
        run(f, &batch);
    }
    sl_model_backprop_buffers(f->model);
}

static bool step(struct sl_fine_tuning *f, const struct sl_hyperparameters *h, int number,
                 const int32_t *texts, int count, struct sl_err *err)
{
    f->tape.random_key = sl_random_bits(sl_random_key(SEED, "dropout"), (uint64_t)number);
    differentiate(f, texts, count);
    const double norm = sl_optimizer_norm(&f->optimizer);
    if (!isfinite(norm))
        return sl_fail(err, SL_NOT_FINITE, "step %d: the norm of the gradients is %g", number,
                       norm);
    sl_optimizer_step(&f->optimizer, h, number, norm);
    sl_model_pack(f->model);
    return true;
}

/* The order of an epoch's texts. */
static void shuffle(const struct sl_fine_tuning *f, int epoch, const int32_t *rows, int count)
{
    sl_dataset_order(SEED, (uint64_t)epoch, count, f->order);
    for (int i = 0; i < count; i++)
        f->order[i] = rows[f->order[i]];
}

bool sl_fine_tuning_fit(struct sl_fine_tuning *f, const struct sl_encoder_recipe *recipe,
                        const int32_t *rows, int count, struct sl_err *err)
{
    const struct sl_hyperparameters h = hyperparameters_of(recipe, count);
    copy_values(f, true);
    sl_optimizer_release(&f->optimizer);
    if (!sl_optimizer_init(&f->optimizer, f->model, &h, err))
        return false;
    sl_model_pack(f->model);
    int number = 0;
    for (int epoch = 0; epoch < recipe->epochs; epoch++) {
        shuffle(f, epoch, rows, count);
        for (int first = 0; first < count; first += recipe->batch_size)
            if (!step(f, &h, number++, f->order + first, sl_min(recipe->batch_size, count - first),
                      err))
                return false;
    }
    return true;
}

/* ---- predictions ----------------------------------------------------------------------------- */

struct prediction {
    const struct sl_fine_tuning *f;
    struct sl_classifier *classifier;
    struct sl_classifier_item items[PREDICTED];
    int rows; /* of a run, at most */
    float *logits;
};

/* As many of the texts as one run takes; returns how many. */
static int gather(struct prediction *p, const int32_t *texts, int count)
{
    int taken = 0;
    for (int rows = 0; taken < count && taken < PREDICTED; taken++) {
        struct sl_classifier_item item = {0};
        item.tokens = sl_dataset_ids(p->f->set, texts[taken], &item.count);
        rows += item.count;
        if (rows > p->rows)
            break;
        p->items[taken] = item;
    }
    return taken;
}

static bool predict(struct prediction *p, const int32_t *texts, int count, struct sl_err *err)
{
    const size_t classes = (size_t)p->f->model->config.classes;
    for (int taken; count > 0; texts += taken, count -= taken) {
        taken = gather(p, texts, count);
        if (!sl_classifier_run(p->classifier, p->items, taken, err))
            return false;
        for (int i = 0; i < taken; i++)
            memcpy(p->logits + (size_t)texts[i] * classes, p->items[i].logits,
                   classes * sizeof *p->logits);
    }
    return true;
}

bool sl_fine_tuning_predict(const struct sl_fine_tuning *f, const int32_t *rows, int count,
                            // NOLINTNEXTLINE(readability-non-const-parameter): it is written to
                            float *logits, struct sl_err *err)
{
    const int context = f->model->config.context_length;
    struct prediction p = {
        .f = f, .rows = context > PREDICTED_ROWS ? context : PREDICTED_ROWS, .logits = logits};
    p.classifier = sl_classifier_create(
        f->model,
        &(struct sl_classifier_options){.max_batch_size = PREDICTED, .max_batch_tokens = p.rows},
        err);
    const bool ok = p.classifier && predict(&p, rows, count, err);
    sl_classifier_destroy(p.classifier);
    return ok;
}
