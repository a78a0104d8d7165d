/* label_predictions.c - texts with their labels and what a model predicted. */
#include "cli/evaluation/label_predictions.h"

#include "base/dynarray.h"
#include "sluice/classifier.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- the list -------------------------------------------------------------------------------- */

static void add(struct label_predictions *p, struct label_prediction one)
{
    p->failed =
        p->failed || p->count == INT_MAX ||
        !sl_dynarray_reserve(&p->list, &p->room, (size_t)p->count + 1, sizeof *p->list, NULL);
    if (!p->failed)
        p->list[p->count++] = one;
}

static void add_to_bin(struct label_predictions *p, float score, bool right)
{
    int at = (int)fmin(CALIBRATION_BINS - 1, floor((double)score * CALIBRATION_BINS));
    p->bins[at].count++;
    p->bins[at].right += right;
    p->bins[at].score += (double)score;
}

static bool add_single(struct label_predictions *p, int example, const float *scores)
{
    const int predicted = sl_argmax(scores, p->classes);
    const int32_t label = sl_label_only(&p->set->label_lists, example);
    add(p, (struct label_prediction){.example = example,
                                     .label = label,
                                     .predicted = predicted,
                                     .score = scores[predicted]});
    add_to_bin(p, scores[predicted], predicted == label);
    return predicted == label;
}

static bool add_several(struct label_predictions *p, int example, const float *scores)
{
    const struct sl_label_list labels = sl_label_list(&p->set->label_lists, example);
    bool right = true;
    for (int c = 0, at = 0; c < p->classes; c++) {
        const bool has = sl_label_list_next(labels, &at, c),
                   predicted = scores[c] >= SL_LABEL_SCORE_MIN;
        if (has || predicted)
            add(p, (struct label_prediction){.example = example,
                                             .label = has ? c : -1,
                                             .predicted = predicted ? c : -1,
                                             .score = scores[c]});
        add_to_bin(p, scores[c], has);
        right = right && has == predicted;
    }
    return right;
}

static void add_text(void *context, int example, const float *scores)
{
    struct label_predictions *p = context;
    p->texts++;
    p->texts_right +=
        p->set->multi_label ? add_several(p, example, scores) : add_single(p, example, scores);
}

static bool check(const struct label_predictions *p, struct sl_err *err)
{
    return !p->failed ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the predictions of %d texts", p->set->count);
}

bool label_predictions_of_search(struct label_predictions *p, const struct sl_linear_training *l,
                                 struct sl_err *err)
{
    *p = (struct label_predictions){.set = &l->set, .classes = l->set.labels.count};
    for (int i = 0; i < l->set.count; i++)
        if (sl_linear_search_has(&l->search, i))
            add_text(p, i, l->search.probabilities + (size_t)i * (size_t)p->classes);
    return check(p, err);
}

bool label_predictions_of_model(struct label_predictions *p, const struct sl_model *model,
                                const struct sl_dataset *set, const struct sl_policy *policy,
                                struct sl_evaluation *evaluation, struct sl_err *err)
{
    const struct sl_score_visitor visitor = {.visit = add_text, .context = p};
    *p = (struct label_predictions){.set = set, .classes = model->config.classes};
    return sl_evaluate_labelled(model, set, policy, evaluation, &visitor, err) && check(p, err);
}

void label_predictions_close(struct label_predictions *p)
{
    free(p->list);
    *p = (struct label_predictions){0};
}
