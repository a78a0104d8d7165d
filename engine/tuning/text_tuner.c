/* text_tuner.c - one step at a time: a batch, forward, backward, clip, update. */
#include "tuning/text_tuner.h"

#include "base/int_math.h"
#include "base/random.h"
#include "infer/classifier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a micro-batch that are enough for matrix products, and texts of a run that predicts. */
enum { MICRO_ROWS = 4096, PREDICTED = 64, PREDICTED_ROWS = 8192 };

/* Numbers of a micro-batch, where each token has as many as the vocabulary has tokens. */
enum { MICRO_OUTPUTS = 1 << 24 };

enum { SEED = 1 };

/* ---- micro-batches --------------------------------------------------------------------------- */

static int32_t label_of(const struct sl_text_tuner *tuner, int text)
{
    return tuner->loss.add ? 0 : sl_label_only(&tuner->set->label_lists, text);
}

/* Of the first texts of the order: a text may be as long as the longest. */
static struct sl_batch batch_of(const struct sl_text_tuner *tuner, const int32_t *texts, int count)
{
    struct sl_batch batch = {.tokens = tuner->tokens,
                             .types = tuner->set->types ? tuner->types : NULL,
                             .labels = tuner->loss.add ? NULL : tuner->labels,
                             .sequences = tuner->sequences,
                             .count = count};
    for (int i = 0; i < count; i++) {
        int tokens;
        const int32_t *ids = sl_dataset_ids(tuner->set, texts[i], &tokens);
        memcpy(tuner->tokens + batch.rows, ids, (size_t)tokens * sizeof *ids);
        if (batch.types)
            memcpy(tuner->types + batch.rows, sl_dataset_types(tuner->set, texts[i]),
                   (size_t)tokens * sizeof *ids);
        tuner->labels[i] = label_of(tuner, texts[i]);
        tuner->sequences[i] = (struct sl_sequence){.first = batch.rows, .rows = tokens};
        batch.rows += tokens;
    }
    return batch;
}

static int tokens_of(const struct sl_text_tuner *tuner, const int32_t *texts, int count)
{
    int tokens = 0;
    for (int i = 0; i < count; i++)
        tokens += tuner->set->examples[texts[i]].tokens;
    return tokens;
}

int sl_text_tuner_longest(const struct sl_dataset *set)
{
    int longest = 1;
    for (int i = 0; i < set->count; i++)
        longest = set->examples[i].tokens > longest ? set->examples[i].tokens : longest;
    return longest;
}

/* texts: NULL in a dry run */
static void run(struct sl_text_tuner *tuner, const struct sl_batch *batch, const int32_t *texts)
{
    sl_tape_begin(&tuner->tape, batch, true);
    struct sl_tensor *y = sl_model_forward(tuner->model, &tuner->tape);
    if (tuner->loss.add)
        tuner->loss.add(tuner->loss.context, &tuner->tape, y, texts);
    sl_tape_backward(&tuner->tape);
}

/* A tape sized by a dry run of a micro-batch of the longest texts. */
static bool make_room(struct sl_text_tuner *tuner, struct sl_err *err)
{
    const struct sl_engine *engine = tuner->model->engine;
    const struct sl_batch batch = sl_text_tuner_largest(tuner);
    if (!sl_tape_init(&tuner->tape, tuner->model->kernels, engine->pool, 0, err))
        return false;
    run(tuner, &batch, NULL);
    const size_t bytes = tuner->tape.arena.peak;
    sl_tape_release(&tuner->tape);
    return sl_tape_init(&tuner->tape, tuner->model->kernels, engine->pool, bytes, err);
}

int sl_text_tuner_micro_batch(const struct sl_dataset *set, int outputs)
{
    const int longest = sl_text_tuner_longest(set),
              rows = outputs > 0 ? sl_min(MICRO_ROWS, MICRO_OUTPUTS / outputs) : MICRO_ROWS;
    return longest < rows ? sl_min(set->count, rows / longest) : 1;
}

int sl_text_tuner_outputs(const struct sl_text_tuner *tuner)
{
    const struct sl_config *c = &tuner->model->config;
    if (!tuner->loss.of_tokens)
        return 0;
    return c->classes > 0 ? c->classes : c->vocab;
}

struct sl_batch sl_text_tuner_largest(const struct sl_text_tuner *tuner)
{
    const int longest = sl_text_tuner_longest(tuner->set);
    for (int i = 0; i < tuner->micro_batch; i++)
        tuner->sequences[i] = (struct sl_sequence){.first = i * longest, .rows = longest};
    return (struct sl_batch){.tokens = tuner->tokens,
                             .types = tuner->set->types ? tuner->types : NULL,
                             .labels = tuner->loss.add ? NULL : tuner->labels,
                             .sequences = tuner->sequences,
                             .count = tuner->micro_batch,
                             .rows = tuner->micro_batch * longest};
}

struct sl_batch sl_text_tuner_batch(const struct sl_dataset *set, int text,
                                    struct sl_sequence *sequence)
{
    struct sl_batch batch = {.sequences = sequence, .count = 1};
    batch.tokens = sl_dataset_ids(set, text, &batch.rows);
    batch.types = sl_dataset_types(set, text);
    *sequence = (struct sl_sequence){.rows = batch.rows};
    return batch;
}

static bool allocate(struct sl_text_tuner *tuner, struct sl_err *err)
{
    const int longest = sl_text_tuner_longest(tuner->set);
    tuner->micro_batch = sl_text_tuner_micro_batch(tuner->set, sl_text_tuner_outputs(tuner));
    const size_t texts = (size_t)tuner->micro_batch, rows = texts * (size_t)longest;
    tuner->tokens = calloc(rows, sizeof *tuner->tokens);
    tuner->types = calloc(rows, sizeof *tuner->types);
    tuner->labels = calloc(texts, sizeof *tuner->labels);
    tuner->sequences = calloc(texts, sizeof *tuner->sequences);
    tuner->order = calloc((size_t)tuner->set->count, sizeof *tuner->order);
    if (!tuner->tokens || !tuner->types || !tuner->labels || !tuner->sequences || !tuner->order)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a micro-batch of %zu rows", rows);
    return make_room(tuner, err);
}

void sl_text_tuner_freeze_tokens(struct sl_model *model)
{
    for (int i = 0; i < model->builder.count; i++) {
        struct sl_parameter *p = &model->builder.parameters[i];
        p->frozen = strcmp(p->name, "token_embedding.weight") == 0;
    }
}

bool sl_text_tuner_open(struct sl_text_tuner *tuner, struct sl_err *err)
{
    return allocate(tuner, err);
}

void sl_text_tuner_close(struct sl_text_tuner *tuner)
{
    sl_tape_release(&tuner->tape);
    sl_optimizer_release(&tuner->optimizer);
    sl_model_close(tuner->model);
    free(tuner->tokens);
    free(tuner->types);
    free(tuner->labels);
    free(tuner->order);
    free(tuner->sequences);
    *tuner = (struct sl_text_tuner){0};
}

/* ---- steps ----------------------------------------------------------------------------------- */

bool sl_text_tuner_restart(struct sl_text_tuner *tuner, const struct sl_hyperparameters *h,
                           struct sl_err *err)
{
    sl_optimizer_release(&tuner->optimizer);
    if (!sl_optimizer_init(&tuner->optimizer, tuner->model, h, err))
        return false;
    sl_model_pack(tuner->model);
    return true;
}

/* The gradients of a step's texts, in micro-batches. */
static void differentiate(struct sl_text_tuner *tuner, const int32_t *texts, int count)
{
    const float row_scale = 1.0f / (float)tokens_of(tuner, texts, count);
    double gate_sum = 0.0, gate_count = 0.0, loss = 0.0;
    int row_base = 0;
    sl_model_zero_gradients(tuner->model);
    for (int first = 0; first < count; first += tuner->micro_batch) {
        struct sl_batch batch =
            batch_of(tuner, texts + first, sl_min(tuner->micro_batch, count - first));
        batch.row_base = row_base;
        batch.loss_scale = tuner->loss.of_tokens ? row_scale : 1.0f / (float)count;
        batch.row_scale = row_scale;
        row_base += batch.rows;
        run(tuner, &batch, texts + first);
        loss += tuner->tape.stats.loss;
        gate_sum += tuner->tape.stats.gate_sum;
        gate_count += tuner->tape.stats.gate_count;
    }
    tuner->step_loss = loss;
    tuner->gates = gate_count > 0.0 ? gate_sum / gate_count : (double)NAN;
    sl_model_backprop_buffers(tuner->model);
}

bool sl_text_tuner_step(struct sl_text_tuner *tuner, const struct sl_hyperparameters *h, int number,
                        const int32_t *texts, int count, struct sl_err *err)
{
    tuner->tape.random_key = sl_random_bits(sl_random_key(SEED, "dropout"), (uint64_t)number);
    tuner->tape.progress = (float)sl_training_fraction(h, number);
    differentiate(tuner, texts, count);
    const double norm = sl_optimizer_norm(&tuner->optimizer);
    if (!isfinite(norm))
        return sl_fail(err, SL_NOT_FINITE, "step %d: the norm of the gradients is %g", number,
                       norm);
    sl_optimizer_step(&tuner->optimizer, h, number, norm);
    sl_model_pack(tuner->model);
    return true;
}

void sl_text_tuner_shuffle(struct sl_text_tuner *tuner, int epoch, const int32_t *rows, int count)
{
    sl_dataset_order(SEED, (uint64_t)epoch, count, tuner->order);
    for (int i = 0; i < count; i++)
        tuner->order[i] = rows[tuner->order[i]];
}

/* ---- predictions ----------------------------------------------------------------------------- */

struct prediction {
    const struct sl_dataset *set;
    struct sl_classifier *classifier;
    struct sl_classifier_item items[PREDICTED];
    int rows, each; /* of a run, at most; and floats of a text */
    float *out;
};

/* As many of the texts as one run takes; returns how many. */
static int gather(struct prediction *p, const int32_t *texts, int count)
{
    int taken = 0;
    for (int rows = 0; taken < count && taken < PREDICTED; taken++) {
        struct sl_classifier_item item = {0};
        item.tokens = sl_dataset_ids(p->set, texts[taken], &item.count);
        item.types = sl_dataset_types(p->set, texts[taken]);
        rows += item.count;
        if (rows > p->rows)
            break;
        p->items[taken] = item;
    }
    return taken;
}

static bool predict(struct prediction *p, const int32_t *texts, int count, struct sl_err *err)
{
    const size_t each = (size_t)p->each;
    for (int taken; count > 0; texts += taken, count -= taken) {
        taken = gather(p, texts, count);
        if (!sl_classifier_run(p->classifier, p->items, taken, err))
            return false;
        for (int i = 0; i < taken; i++)
            memcpy(p->out + (size_t)texts[i] * each, p->items[i].logits, each * sizeof *p->out);
    }
    return true;
}

bool sl_text_tuner_predict(const struct sl_model *model, const struct sl_dataset *set,
                           const int32_t *rows, int count,
                           // NOLINTNEXTLINE(readability-non-const-parameter): it is written to
                           float *out, struct sl_err *err)
{
    const int context = model->config.context_length;
    struct prediction p = {.set = set,
                           .rows = context > PREDICTED_ROWS ? context : PREDICTED_ROWS,
                           .each = model->info.output_size[SL_OUTPUT_TEXT],
                           .out = out};
    const struct sl_classifier_options options = {.max_batch_size = PREDICTED,
                                                  .max_batch_tokens = p.rows};
    p.classifier = sl_classifier_create(model, &options, err);
    const bool ok = p.classifier && predict(&p, rows, count, err);
    sl_classifier_destroy(p.classifier);
    return ok;
}
