/* evaluate_labelled.c - classifies a whole set of labelled texts, many at a time. */
#include "base/clock.h"
#include "infer/classifier.h"
#include "infer/logits.h"
#include "sluice/session.h"
#include "train/evaluate.h"

#include <math.h>
#include <stdlib.h>

enum { ITEMS = 64, ROWS = 8192 };

struct evaluation {
    const struct sl_dataset *set;
    struct sl_classifier *classifier;
    struct sl_classifier_item items[ITEMS];
    int classes, batch_rows;
    double loss;
    struct sl_forward_stats stats;
    int64_t right, layers;
    struct sl_predicted_label *predicted_labels;
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

static bool judge(struct evaluation *e, const struct sl_classifier_item *item, int example,
                  struct sl_err *err)
{
    if (!item->finite)
        return sl_fail(err, SL_NOT_FINITE, "'%s' line %lld: the model produced NaN or infinity",
                       e->set->path, (long long)e->set->examples[example].line);
    const int label = e->set->examples[example].label;
    const int predicted = sl_argmax(item->logits, e->classes);
    const double total = sl_log_sum_exp(item->logits, e->classes);
    e->loss += total - (double)item->logits[label];
    e->right += predicted == label;
    if (e->predicted_labels)
        e->predicted_labels[example] = (struct sl_predicted_label){
            predicted, (float)exp((double)item->logits[predicted] - total)};
    e->layers += item->layers_used;
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
            if (!judge(e, &e->items[i], first + i, err))
                return false;
    }
    return true;
}

bool sl_evaluate_labelled(const struct sl_model *model, const struct sl_dataset *set,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_predicted_label *predicted_labels, struct sl_err *err)
{
    struct sl_model under = *model; /* the same numbers under another policy */
    if (policy)
        under.policy = *policy;
    int context = model->config.context_length;
    struct evaluation e = {.set = set,
                           .classes = model->config.classes,
                           .batch_rows = context > ROWS ? context : ROWS};
    struct sl_classifier_options options = {.max_batch_size = ITEMS,
                                            .max_batch_tokens = e.batch_rows};
    double begun = sl_now_seconds();
    e.predicted_labels = predicted_labels;
    e.classifier = sl_classifier_create(&under, &options, err);
    bool ok = e.classifier && measure(&e, err);
    sl_classifier_destroy(e.classifier);
    *out = (struct sl_evaluation){.loss = e.loss / set->count,
                                  .accuracy = (double)e.right / set->count,
                                  .examples = set->count,
                                  .tokens = (int64_t)set->ids_count,
                                  .layers_mean = (double)e.layers / (double)set->ids_count,
                                  .seconds = sl_now_seconds() - begun};
    sl_evaluation_set_means(out, &e.stats, set->count);
    return ok || sl_wrap(err, "evaluate");
}
