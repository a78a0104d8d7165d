/* classifier.c - one ragged batch of texts after another: the serving state of one classifier, or
 * of a model that gives embeddings. */
#include "infer/classifier.h"

#include "base/allocate.h"
#include "infer/cascade_run.h"
#include "infer/logits.h"
#include "model/model.h"
#include "sluice/explanation.h"

#include <stdlib.h>
#include <string.h>

struct sl_classifier {
    const struct sl_model *model;
    struct sl_batch_runner runner; /* of a cascade: of the second part */
    struct sl_cascade_run cascade;
    struct sl_classifier_options options;
    /* The current run: */
    struct sl_sequence *sequences;
    int32_t *tokens, *types, *masks; /* masks: rows */
    struct sl_rows masked;
    int32_t mask; /* the token; -1: the vocabulary has none */
};

static bool allocate(struct sl_classifier *c, struct sl_err *err)
{
    size_t items = (size_t)c->options.max_batch_size, rows = (size_t)c->options.max_batch_tokens;
    c->sequences = calloc(items, sizeof *c->sequences);
    c->tokens = calloc(rows, sizeof *c->tokens);
    c->types = calloc(rows, sizeof *c->types);
    c->masks = calloc(rows, sizeof *c->masks);
    if (!c->sequences || !c->tokens || !c->types || !c->masks)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu items and %zu rows", items, rows);
    struct sl_batch_limits limits = {.rows = c->options.max_batch_tokens,
                                     .sequences = c->options.max_batch_size,
                                     .context = c->model->config.context_length};
    return sl_cascade_open(&c->cascade, c->model, &limits, err) &&
           sl_batch_runner_init(&c->runner, c->model, &c->model->policy, limits, err);
}

static bool check_options(const struct sl_model *m, const struct sl_classifier_options *o,
                          struct sl_err *err)
{
    enum { ITEMS_MOST = 65536 };

    if (sl_model_main_output(&m->info) == SL_OUTPUTS)
        return sl_fail(err, SL_BAD_INPUT, "the model is for %s", sl_task_name(m->config.task));
    if (o->max_batch_size < 1 || o->max_batch_size > ITEMS_MOST ||
        o->max_batch_tokens < m->config.context_length || o->max_batch_tokens > SL_BATCH_ROWS_MAX)
        return sl_fail(
            err, SL_BAD_INPUT,
            "invalid max_batch_size %d or max_batch_tokens %d: expected 1 to %d and %d to %d",
            o->max_batch_size, o->max_batch_tokens, ITEMS_MOST, m->config.context_length,
            SL_BATCH_ROWS_MAX);
    return true;
}

struct sl_classifier *sl_classifier_create(const struct sl_model *model,
                                           const struct sl_classifier_options *options,
                                           struct sl_err *err)
{
    if (!check_options(model, options, err))
        return NULL;
    struct sl_classifier *c = sl_new(sizeof *c, "a classifier", err);
    if (!c)
        return NULL;
    c->model = model;
    c->options = *options;
    c->mask = model->tokenizer ? sl_tokenizer_special(model->tokenizer, SL_SPECIAL_MASK) : -1;
    if (allocate(c, err))
        return c;
    sl_wrap(err, "classifier");
    sl_classifier_destroy(c);
    return NULL;
}

void sl_classifier_destroy(struct sl_classifier *c)
{
    if (!c)
        return;
    sl_batch_runner_release(&c->runner);
    sl_cascade_close(&c->cascade);
    free(c->sequences);
    free(c->tokens);
    free(c->types);
    free(c->masks);
    free(c);
}

const struct sl_forward_stats *sl_classifier_stats(const struct sl_classifier *c)
{
    return &c->runner.stats;
}

/* -- a run ------------------------------------------------------------------------------------ */

static bool check_item(const struct sl_classifier *c, const struct sl_classifier_item *item,
                       int index, struct sl_err *err)
{
    int vocab = c->model->config.vocab, context = c->model->config.context_length;
    if (item->count < 1 || item->count > context)
        return sl_fail(err, SL_BAD_INPUT, "item %d has %d tokens: expected 1 to %d", index,
                       item->count, context);
    if (item->output >= SL_OUTPUTS || c->model->info.output_size[item->output] == 0)
        return sl_fail(err, SL_BAD_INPUT, "item %d: the model lacks this output", index);
    int points = c->model->operating_point_count;
    if (item->operating_point < 0 || item->operating_point > points)
        return sl_fail(err, SL_BAD_INPUT, "item %d: invalid operating_point %d: expected 0 to %d",
                       index, item->operating_point, points);
    const int types = c->model->builder.token_types;
    for (int i = 0; types > 1 && item->types && i < item->count; i++)
        if (item->types[i] < 0 || item->types[i] >= types)
            return sl_fail(err, SL_BAD_INPUT, "item %d: invalid token type %d: expected 0 to %d",
                           index, item->types[i], types - 1);
    for (int i = 0; i < item->count; i++)
        if (item->tokens[i] < 0 || item->tokens[i] >= vocab)
            return sl_fail(err, SL_BAD_INPUT, "item %d: invalid token id %d: expected 0 to %d",
                           index, item->tokens[i], vocab - 1);
    return true;
}

/* Rows of the result. */
static int rows_of(const struct sl_classifier *c, const struct sl_classifier_item *item)
{
    int rows = 0;
    if (item->output == SL_OUTPUT_TOKENS)
        return item->count;
    if (item->output != SL_OUTPUT_MASKED)
        return 1;
    for (int i = 0; i < item->count; i++)
        rows += item->tokens[i] == c->mask;
    return rows;
}

static bool check_items(const struct sl_classifier *c, const struct sl_classifier_item *items,
                        int count, struct sl_err *err)
{
    int rows = 0, results = 0;
    if (count < 1 || count > c->options.max_batch_size)
        return sl_fail(err, SL_BAD_INPUT, "a run of %d items: expected 1 to %d", count,
                       c->options.max_batch_size);
    for (int i = 0; i < count; i++) {
        if (items[i].output != items->output)
            return sl_fail(err, SL_BAD_INPUT, "item %d has another output than the first", i);
        if (!check_item(c, &items[i], i, err))
            return false;
        if (items[i].count > c->options.max_batch_tokens - rows)
            return sl_fail(err, SL_BAD_INPUT,
                           "the items have more than %d tokens (max_batch_tokens)",
                           c->options.max_batch_tokens);
        rows += items[i].count;
        const int own = rows_of(c, &items[i]);
        if (own == 0)
            return sl_fail(err, SL_BAD_INPUT, "item %d has no mask token", i);
        results += own;
    }
    const int max = sl_model_rows_max(&c->model->info, items->output);
    return results <= max ||
           sl_fail(err, SL_BAD_INPUT, "the items have %d rows of results: expected at most %d",
                   results, max);
}

static void list_masks(struct sl_classifier *c, struct sl_batch *batch)
{
    int count = 0;
    for (int i = 0; i < batch->rows; i++)
        if (batch->tokens[i] == c->mask)
            c->masks[count++] = i;
    c->masked = (struct sl_rows){c->masks, count};
    batch->wanted = &c->masked;
}

static struct sl_batch gather(struct sl_classifier *c, const struct sl_classifier_item *items,
                              int count)
{
    struct sl_batch batch = {.tokens = c->tokens,
                             .types = c->types,
                             .sequences = c->sequences,
                             .count = count,
                             .output = items->output};
    for (int i = 0; i < count; i++) {
        c->sequences[i] = (struct sl_sequence){
            .first = batch.rows,
            .rows = items[i].count,
            .policy = sl_model_point_policy(c->model, items[i].operating_point)};
        const size_t bytes = (size_t)items[i].count * sizeof *c->tokens;
        memcpy(c->tokens + batch.rows, items[i].tokens, bytes);
        if (items[i].types && c->model->builder.token_types > 1)
            memcpy(c->types + batch.rows, items[i].types, bytes);
        else
            memset(c->types + batch.rows, 0, bytes);
        batch.rows += items[i].count;
        batch.keeps_routing |= items[i].wants_gates;
    }
    if (batch.output == SL_OUTPUT_MASKED)
        list_masks(c, &batch);
    return batch;
}

static void scatter(const struct sl_classifier *c, const struct sl_batch_runner *runner,
                    struct sl_classifier_item *items, int count, const struct sl_tensor *logits)
{
    int row = 0;
    assert(logits->stride == (size_t)logits->cols);
    for (int i = 0; i < count; i++) {
        struct sl_classifier_item *item = &items[i];
        item->rows = rows_of(c, item);
        item->logits = sl_row(logits, row);
        item->finite = sl_all_finite(item->logits, (size_t)item->rows * (size_t)logits->cols);
        row += item->rows;
        item->layers_full = (int64_t)item->count * c->model->config.depth;
        item->layers_used = 0;
        for (int j = 0; j < item->count; j++)
            item->layers_used += runner->layers_used[c->sequences[i].first + j];
        item->token_layers = runner->layers_used + c->sequences[i].first;
        item->gates =
            item->wants_gates ? sl_batch_runner_routing(runner, c->sequences[i].first) : NULL;
    }
    assert(row == logits->rows);
}

static void run_with(struct sl_classifier *c, struct sl_batch_runner *runner,
                     struct sl_classifier_item *items, int count, bool shared)
{
    struct sl_batch batch = gather(c, items, count);
    scatter(c, runner, items, count, sl_batch_runner_run(runner, &batch, shared));
}

static void run_cascade(struct sl_classifier *c, struct sl_classifier_item *items, int count,
                        bool shared)
{
    struct sl_cascade_run *r = &c->cascade;
    run_with(c, &r->first, items, count, shared);
    sl_cascade_choose(r, c->model, items, count);
    c->runner.stats = (struct sl_forward_stats){0};
    if (r->count > 0)
        run_with(c, &c->runner, r->asked, r->count, shared);
    sl_cascade_add(r, c->model, items);
}

static void run(struct sl_classifier *c, struct sl_classifier_item *items, int count, bool shared)
{
    if (c->cascade.parts.context > 0)
        run_cascade(c, items, count, shared);
    else
        run_with(c, &c->runner, items, count, shared);
}

bool sl_classifier_run(struct sl_classifier *c, struct sl_classifier_item *items, int count,
                       struct sl_err *err)
{
    struct sl_engine *engine = c->model->engine;
    if (!check_items(c, items, count, err))
        return sl_wrap(err, "classify");
    pthread_mutex_lock(&engine->lock);
    run(c, items, count, true);
    pthread_mutex_unlock(&engine->lock);
    return true;
}

bool sl_classifier_warm_up(struct sl_classifier *c, const int32_t *tokens, int count,
                           struct sl_err *err)
{
    struct sl_classifier_item item = {.tokens = tokens,
                                      .count = count,
                                      .output = sl_model_main_output(&c->model->info),
                                      .both_parts = true};
    if (!check_items(c, &item, 1, err))
        return sl_wrap(err, "first run");
    run(c, &item, 1, false);
    return item.finite || sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity");
}

void sl_model_scores(const struct sl_model *model, const float *logits, float *scores)
{
    if (model->config.multi_label)
        sl_sigmoids(logits, model->config.classes, scores);
    else
        sl_softmax(logits, model->config.classes, scores);
}

int sl_model_predicted(const struct sl_model *model, const float *scores, int *labels)
{
    int count = 0;
    if (!model->config.multi_label) {
        labels[0] = sl_argmax(scores, model->config.classes);
        return 1;
    }
    for (int c = 0; c < model->config.classes; c++)
        if (scores[c] >= SL_LABEL_SCORE_MIN)
            labels[count++] = c;
    return count;
}

bool sl_classifier_explain(const struct sl_classifier *c, const struct sl_classifier_item *item,
                           int label, float *out, struct sl_err *err)
{
    const struct sl_model *m = c->model;
    const struct sl_explained_text text = {.tokens = item->tokens,
                                           .count = item->count,
                                           .logits = item->logits,
                                           .classes = m->config.classes,
                                           .label = label,
                                           .multi_label = m->config.multi_label};
    assert(m->info.explains);
    assert(label >= 0);
    assert(label < m->config.classes);
    return m->arch->explain(m->self, m->kernels, &text, out) ||
           sl_fail(err, SL_NO_MEMORY, "no memory to explain a text of %d tokens", item->count);
}
