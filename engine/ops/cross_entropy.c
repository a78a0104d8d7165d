/* cross_entropy.c - the loss: weight_target * -log softmax(logits)_target, with q instead of the
 * target's 1 if labels are smoothed: sum_j q_j * -log softmax(logits)_j. */
#include "ops/ops.h"

#include <string.h>

enum { X };

struct loss {
    float weight;           /* of one row: includes 1 / targets */
    float target, other;    /* q */
    float *lse;             /* per row: max + log sum exp */
    const int32_t *targets; /* per row, or -1 */
    const float *class_weights;
};

/* Of a row; 0 without a target. */
static float weight_of(const struct loss *a, int row)
{
    int target = a->targets[row];
    if (target < 0)
        return 0.0f;
    return a->class_weights ? a->weight * a->class_weights[target] : a->weight;
}

static void forward_row(const struct sl_node *n, int row)
{
    const struct loss *a = n->args;
    const struct sl_tensor *x = n->in[X];
    memcpy(n->spare, sl_row(x, row), (size_t)x->cols * sizeof(float));
    n->tape->kernels->softmax(n->spare, x->cols, &a->lse[row]);
}

/* Of a row with this target, without weights. */
static double row_loss(const struct sl_node *n, int row, int target)
{
    const struct loss *a = n->args;
    const struct sl_tensor *x = n->in[X];
    const double at = (double)sl_row(x, row)[target];
    double loss = (double)a->lse[row] - (double)(a->target - a->other) * at;
    if (a->other > 0.0f)
        loss -= (double)a->other * (double)n->tape->kernels->sum(sl_row(x, row), x->cols);
    return loss;
}

static void cross_entropy_forward(const struct sl_node *n)
{
    const struct loss *a = n->args;
    sl_node_rows(n, n->in[X]->rows, forward_row);
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++) {
        int target = a->targets[r];
        if (target >= 0)
            sum += row_loss(n, r, target) *
                   (double)(a->class_weights ? a->class_weights[target] : 1.0f);
    }
    n->tape->stats.loss += sum * (double)a->weight;
}

/* dx = weight weight_target (softmax(x) - q); 0 for rows without a target. */
static void backward_row(const struct sl_node *n, int row)
{
    const struct sl_kernels *k = n->tape->kernels;
    const struct loss *a = n->args;
    const struct sl_tensor *x = n->in[X];
    float *dx = n->spare;
    int target = a->targets[row];
    memcpy(dx, sl_row(x, row), (size_t)x->cols * sizeof *dx);
    k->softmax(dx, x->cols, NULL);
    for (int c = 0; a->other > 0.0f && c < x->cols; c++)
        dx[c] -= a->other;
    if (target >= 0)
        dx[target] -= a->target - a->other;
    k->scale(dx, weight_of(a, row), dx, x->cols);
    if (n->overwrite[X])
        memcpy(sl_grad_row(x, row), dx, (size_t)x->cols * sizeof *dx);
    else
        k->axpy(sl_grad_row(x, row), 1.0f, dx, x->cols);
}

static const struct sl_op cross_entropy = {.name = "cross_entropy",
                                           .forward = cross_entropy_forward,
                                           .backward_row = backward_row,
                                           .spare_rows = 1};

void sl_cross_entropy(struct sl_tape *t, struct sl_tensor *logits,
                      struct sl_cross_entropy_args args)
{
    assert(args.targets);
    struct loss *a = sl_tape_struct(t, 1, sizeof *a);
    a->targets = args.targets;
    a->class_weights = args.class_weights;
    a->other = logits->cols > 1 ? args.smoothing / (float)(logits->cols - 1) : 0.0f;
    a->target = 1.0f - args.smoothing;
    a->weight = args.weight * t->view->batch->loss_scale;
    a->lse = sl_tape_take(t, (size_t)logits->rows, sizeof *a->lse);
    (void)sl_tape_run(t, (struct sl_node){.op = &cross_entropy, .in = {logits}, .args = a});
}
