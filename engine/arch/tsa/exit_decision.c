/* exit_decision.c - early exit: a token leaves the stack when its prediction is confident. TSA,
 * section 3.5. Rows that exit keep their state, and deeper layers compute their keys and values
 * from it (Elbayad et al. 2020); with the oracle, from the state that they would have had, which
 * saves no work. */
#include "arch/tsa/tsa.h"

#include <string.h>

/* The index of a batch row among the wanted rows, or -1. */
static int place_of(const struct sl_rows *wanted, int row)
{
    if (!wanted)
        return row;
    int low = 0, high = wanted->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (wanted->index[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < wanted->count && wanted->index[low] == row ? low : -1;
}

struct sl_tensor *sl_exit_begin(struct sl_tape *t, int vocab)
{
    const struct sl_rows *wanted = t->view->batch->wanted;
    if (t->training)
        return NULL;
    return sl_tensor_take(t, wanted ? wanted->count : t->view->batch->rows, vocab);
}

/* max softmax > threshold, without computing the softmax when the maximum alone decides. */
static bool is_confident(const struct sl_tape *t, int row, const float *logits, int n, float *spare)
{
    const struct sl_early_exit_policy *policy = sl_policy_own(sl_row_policy(t, row));
    if (policy->exit_threshold <= 0.0f || policy->exit_threshold >= 1.0f)
        return false;
    memcpy(spare, logits, (size_t)n * sizeof *spare);
    t->kernels->softmax(spare, n, NULL);
    float max = 0.0f;
    for (int i = 0; i < n; i++)
        max = spare[i] > max ? spare[i] : max;
    return max > policy->exit_threshold;
}

static void write_final_logits(const struct sl_tape *t, struct sl_tensor *final, int row,
                               const float *logits)
{
    int place = place_of(t->view->batch->wanted, row);
    if (place >= 0)
        memcpy(sl_row(final, place), logits, (size_t) final->cols * sizeof *logits);
}

const struct sl_rows *sl_exit_decide(struct sl_tape *t, struct sl_tensor *logits,
                                     const struct sl_rows *staying, struct sl_exit_decide_args rule)
{
    if (t->training) {
        sl_distillation_loss(t, logits, t->view->batch->distillation,
                             (struct sl_cross_entropy_args){.targets = t->view->batch->targets,
                                                            .weight = rule.weight});
        return NULL;
    }
    t->stats.active_sum += (double)logits->rows;
    t->stats.active_count += (double)t->view->batch->rows;
    struct sl_rows *rest = sl_tape_struct(t, 1, sizeof *rest);
    int32_t *index = sl_tape_struct(t, (size_t)logits->rows, sizeof *index);
    float *spare = sl_tape_take(t, (size_t)logits->cols, sizeof *spare);
    for (int i = 0; i < logits->rows; i++) {
        int row = sl_rows_at(staying, i);
        if (sl_tape_is_dry(t)) {
            index[rest->count++] = row;
            continue;
        }
        bool leaves = rule.last || is_confident(t, row, sl_row(logits, i), logits->cols, spare);
        if (leaves)
            write_final_logits(t, rule.final, row, sl_row(logits, i));
        else
            index[rest->count++] = row;
    }
    rest->index = index;
    return rest;
}

struct sl_gate sl_exit_gate(struct sl_tape *t, const struct sl_rows *staying)
{
    const struct sl_early_exit_policy *policy = t->policy ? sl_policy_own(t->policy) : NULL;
    if (!staying || !policy || policy->exit_oracle)
        return (struct sl_gate){0};
    if (!t->policy->dense)
        return (struct sl_gate){.rows = staying};
    struct sl_gate gate = {.value = sl_tensor_take(t, t->view->batch->rows, 1)};
    for (int r = 0; !sl_tape_is_dry(t) && r < t->view->batch->rows; r++)
        *sl_row(gate.value, r) = 0.0f;
    for (int i = 0; !sl_tape_is_dry(t) && i < staying->count; i++)
        *sl_row(gate.value, staying->index[i]) = 1.0f;
    return gate;
}
