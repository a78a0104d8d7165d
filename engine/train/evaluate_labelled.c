/* evaluate_labelled.c - classifies a whole set of labelled texts, many at a time. */
#include "base/clock.h"
#include "infer/classifier.h"
#include "infer/logits.h"
#include "train/evaluate.h"

#include <assert.h>

enum { ITEMS = 64, ROWS = 8192 };

struct evaluation {
    const struct sl_dataset *set;
    struct sl_classifier *classifier;
    struct sl_classifier_item items[ITEMS];
    const struct sl_model *model;
    int classes, batch_rows;
    double loss;
    struct sl_forward_stats stats;
    int64_t layers, layers_full;
    struct sl_label_counts counts;
    struct sl_score_visitor visitor;
    float scores[SL_CLASSES_MAX]; /* of the present text */
    int predicted[SL_CLASSES_MAX];
};

/* As many of the examples from `first` on as one run takes; returns how many. */
static int gather(struct evaluation *e, int first)
{
    int count = 0, rows = 0;
    while (count < ITEMS && first + count < e->set->count) {
        struct sl_classifier_item item = {0};
        item.tokens = sl_dataset_ids(e->set, first + count, &item.count);
        if (item.count > e->batch_rows - rows)
            break;
        rows += item.count;
        e->items[count++] = item;
    }
    return count;
}

static double loss_of(const struct evaluation *e, const float *logits, struct sl_label_list labels)
{
    double loss = 0.0;
    if (!e->model->config.multi_label)
        return sl_log_sum_exp(logits, e->classes) - (double)logits[labels.ids[0]];
    for (int c = 0, at = 0; c < e->classes; c++) {
        const double logit = (double)logits[c];
        loss += sl_softplus(sl_label_list_next(labels, &at, c) ? -logit : logit);
    }
    return loss;
}

static bool add_result(struct evaluation *e, const struct sl_classifier_item *item, int example,
                       struct sl_err *err)
{
    if (!item->finite)
        return sl_fail(err, SL_NOT_FINITE, "'%s' line %lld: the model produced NaN or infinity",
                       e->set->path, (long long)e->set->examples[example].line);
    const struct sl_label_list labels = sl_label_list(&e->set->label_lists, example);
    sl_model_scores(e->model, item->logits, e->scores);
    e->loss += loss_of(e, item->logits, labels);
    sl_label_counts_add(&e->counts, labels, e->predicted,
                        sl_model_predicted(e->model, e->scores, e->predicted));
    if (e->visitor.visit)
        e->visitor.visit(e->visitor.context, example, e->scores);
    e->layers += item->layers_used;
    e->layers_full += item->layers_full;
    return true;
}

static bool measure(struct evaluation *e, struct sl_err *err)
{
    for (int first = 0, count; first < e->set->count; first += count) {
        count = gather(e, first);
        if (!sl_classifier_run(e->classifier, e->items, count, err))
            return false;
        sl_forward_stats_add(&e->stats, sl_classifier_stats(e->classifier));
        for (int i = 0; i < count; i++)
            if (!add_result(e, &e->items[i], first + i, err))
                return false;
    }
    return true;
}

/* Of the tokens that a model reads if it skips nothing. */
static double layers_mean(const struct evaluation *e)
{
    return e->layers_full > 0
               ? (double)e->layers / (double)e->layers_full * (double)e->model->config.depth
               : 0.0;
}

static void set_result(const struct evaluation *e, double begun, struct sl_evaluation *out)
{
    *out = (struct sl_evaluation){.loss = e->loss / e->set->count,
                                  .accuracy = (double)e->counts.texts_right / e->set->count,
                                  .micro_f1 = sl_label_counts_micro_f1(&e->counts),
                                  .examples = e->set->count,
                                  .tokens = (int64_t)e->set->ids_count,
                                  .layers_mean = layers_mean(e),
                                  .seconds = sl_now_seconds() - begun};
    sl_evaluation_set_means(out, &e->stats, e->set->count);
}

bool sl_evaluate_labelled(const struct sl_model *model, const struct sl_dataset *set,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          const struct sl_score_visitor *visitor, struct sl_err *err)
{
    struct sl_model under = *model; /* the same numbers under another policy */
    if (policy)
        under.policy = *policy;
    int context = model->config.context_length;
    struct evaluation e = {.set = set,
                           .model = model,
                           .classes = model->config.classes,
                           .batch_rows = context > ROWS ? context : ROWS};
    struct sl_classifier_options options = {.max_batch_size = ITEMS,
                                            .max_batch_tokens = e.batch_rows};
    double begun = sl_now_seconds();
    assert(set->multi_label == model->config.multi_label);
    if (visitor)
        e.visitor = *visitor;
    e.classifier = sl_classifier_create(&under, &options, err);
    bool ok = e.classifier && measure(&e, err);
    sl_classifier_destroy(e.classifier);
    set_result(&e, begun, out);
    return ok || sl_wrap(err, "evaluate");
}
