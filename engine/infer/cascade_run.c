/* cascade_run.c - which texts the second part reads, and of what tokens. */
#include "infer/cascade_run.h"

#include "base/int_math.h"
#include "infer/logits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t classes_of(const struct sl_model *model)
{
    return (size_t)model->config.classes;
}

bool sl_cascade_open(struct sl_cascade_run *r, const struct sl_model *model,
                     struct sl_batch_limits *limits, struct sl_err *err)
{
    *r = (struct sl_cascade_run){0};
    if (model->arch->cascade)
        r->parts = model->arch->cascade(&model->config);
    if (r->parts.context == 0)
        return true;
    struct sl_batch_limits first = *limits;
    const size_t texts = (size_t)limits->sequences, rows = (size_t)limits->rows;
    first.part = SL_PART_FIRST;
    limits->part = SL_PART_SECOND;
    limits->context = r->parts.context;
    r->asked = calloc(texts, sizeof *r->asked);
    r->which = calloc(texts, sizeof *r->which);
    r->tokens = calloc(rows, sizeof *r->tokens);
    r->logits = calloc(texts * classes_of(model), sizeof *r->logits);
    r->layers = calloc(rows, sizeof *r->layers);
    if (!r->asked || !r->which || !r->tokens || !r->logits || !r->layers)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a cascade of %zu items and %zu rows",
                       texts, rows);
    return sl_batch_runner_init(&r->first, model, &model->policy, first, err);
}

void sl_cascade_close(struct sl_cascade_run *r)
{
    sl_batch_runner_release(&r->first);
    free(r->asked);
    free(r->which);
    free(r->tokens);
    free(r->logits);
    free(r->layers);
    *r = (struct sl_cascade_run){0};
}

/* ---- how sure the first part is -------------------------------------------------------------- */

float sl_cascade_score(const struct sl_model *model, const float *logits)
{
    const int classes = model->config.classes;
    if (!model->config.multi_label)
        return expf(logits[sl_argmax(logits, classes)] - (float)sl_log_sum_exp(logits, classes));
    float least = INFINITY;
    for (int c = 0; c < classes; c++)
        least = fabsf(logits[c]) >= least ? least : fabsf(logits[c]); /* NaN, too */
    return 1.0f / (1.0f + expf(-least));
}

/* NaN is not sure. */
static bool is_sure(const struct sl_model *model, const struct sl_classifier_item *item)
{
    const struct sl_policy *policy = sl_model_point_policy(model, item->operating_point);
    return sl_cascade_score(model, item->logits) >
           model->arch->cascade_threshold(policy ? policy : &model->policy);
}

/* ---- the texts that the second part reads ---------------------------------------------------- */

/* Tokens from the beginning of a text that is too long. */
static int count_before(const struct sl_cascade *parts)
{
    const int wanted = (int)lrintf(parts->beginning * (float)parts->context);
    return wanted < 1 ? 1 : sl_min(wanted, parts->context - 1);
}

int sl_cascade_shorten(const struct sl_cascade *parts, int32_t *tokens, int count)
{
    const int left_out = count - parts->context, before = count_before(parts);
    if (left_out <= 0)
        return count;
    memmove(tokens + before, tokens + before + left_out,
            (size_t)(parts->context - before) * sizeof *tokens);
    return parts->context;
}

/* Which tokens of a text the second part reads. */
static void mark_read(const struct sl_cascade *parts, int depth, int count, int32_t *layers)
{
    const int left_out = count - parts->context, before = count_before(parts);
    for (int i = 0; i < count; i++)
        layers[i] = left_out <= 0 || i < before || i >= before + left_out ? depth : 0;
}

/* Returns how many tokens the second part reads. */
static int ask(struct sl_cascade_run *r, const struct sl_model *model,
               const struct sl_classifier_item *item, int number, int32_t *tokens, int32_t *layers)
{
    struct sl_classifier_item *asked = &r->asked[r->count];
    *asked = *item;
    memcpy(tokens, item->tokens, (size_t)item->count * sizeof *tokens);
    asked->tokens = tokens;
    asked->types = NULL;
    asked->count = sl_cascade_shorten(&r->parts, tokens, item->count);
    mark_read(&r->parts, model->config.depth, item->count, layers);
    r->which[r->count++] = number;
    return asked->count;
}

void sl_cascade_choose(struct sl_cascade_run *r, const struct sl_model *model,
                       struct sl_classifier_item *items, int count)
{
    const size_t classes = classes_of(model);
    int32_t *tokens = r->tokens, *layers = r->layers;
    r->count = 0;
    for (int i = 0; i < count; layers += items[i++].count) {
        float *logits = r->logits + (size_t)i * classes;
        memcpy(logits, items[i].logits, classes * sizeof *logits);
        items[i].logits = logits;
        items[i].layers_full =
            (int64_t)sl_min(items[i].count, r->parts.context) * model->config.depth;
        if (items[i].both_parts || !is_sure(model, &items[i]))
            tokens += ask(r, model, &items[i], i, tokens, layers);
        else
            memset(layers, 0, (size_t)items[i].count * sizeof *layers);
        items[i].token_layers = layers;
    }
}

void sl_cascade_add(struct sl_cascade_run *r, const struct sl_model *model,
                    struct sl_classifier_item *items)
{
    const size_t classes = classes_of(model);
    for (int a = 0; a < r->count; a++) {
        struct sl_classifier_item *item = &items[r->which[a]];
        float *logits = r->logits + (size_t)r->which[a] * classes;
        for (size_t c = 0; c < classes; c++)
            logits[c] = r->asked[a].logits[c] + r->parts.scale * logits[c];
        item->layers_used = r->asked[a].layers_used;
        item->finite = sl_all_finite(logits, classes);
    }
}
