/* cross_entropy.c - the loss: weight_target * -log softmax(logits)_target. */
#include "ops/ops.h"

#include <string.h>

enum { X };

struct loss {
    float weight;           /* of one row: includes 1 / targets */
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

static void cross_entropy_forward(const struct sl_node *n)
{
    const struct loss *a = n->args;
    sl_node_rows(n, n->in[X]->rows, forward_row);
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++) {
        int target = a->targets[r];
        if (target >= 0)
            sum += ((double)a->lse[r] - (double)sl_row(n->in[X], r)[target]) *
                   (double)(a->class_weights ? a->class_weights[target] : 1.0f);
    }
    n->tape->stats.loss += sum * (double)a->weight;
}

/* dx = weight weight_target (softmax(x) - onehot(target)); 0 for rows without a target. */
static void backward_row(const struct sl_node *n, int row)
{
    const struct sl_kernels *k = n->tape->kernels;
    const struct loss *a = n->args;
    const struct sl_tensor *x = n->in[X];
    float *dx = n->spare;
    int target = a->targets[row];
    memcpy(dx, sl_row(x, row), (size_t)x->cols * sizeof *dx);
    k->softmax(dx, x->cols, NULL);
    if (target >= 0)
        dx[target] -= 1.0f;
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
    a->weight = args.weight * t->batch->loss_scale;
    a->lse = sl_tape_take(t, (size_t)logits->rows, sizeof *a->lse);
    (void)sl_tape_run(t, (struct sl_node){.op = &cross_entropy, .in = {logits}, .args = a});
}
