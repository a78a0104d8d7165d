/* cross_entropy.c - the loss: weight_target * -log softmax(logits)_target. */
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { ROWS = 16 };

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

struct cross_entropy_ctx {
    const struct sl_node *n;
    float *workers;
};

static void cross_entropy_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct cross_entropy_ctx *p = ctx;
    const struct loss *a = p->n->args;
    const struct sl_tensor *x = p->n->in[X];
    float *spare = p->workers + (size_t)worker * (size_t)x->cols;
    for (int r = first; r < last; r++) {
        memcpy(spare, sl_row(x, r), (size_t)x->cols * sizeof *spare);
        p->n->tape->kernels->softmax(spare, x->cols, &a->lse[r]);
    }
}

static size_t cross_entropy_scratch(const struct sl_node *n, bool backward)
{
    (void)backward;
    return (size_t)sl_thread_pool_size(n->tape->pool) * (size_t)n->in[X]->cols * sizeof(float);
}

static void cross_entropy_forward(const struct sl_node *n)
{
    const struct loss *a = n->args;
    struct cross_entropy_ctx p = {.n = n,
                                  .workers = sl_tape_scratch(n, cross_entropy_scratch(n, false))};
    sl_parallel_for(n->tape->pool, n->in[X]->rows, ROWS, cross_entropy_forward_rows, &p);
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
static void cross_entropy_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct cross_entropy_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    const struct loss *a = n->args;
    const struct sl_tensor *x = n->in[X];
    float *dx = p->workers + (size_t)worker * (size_t)x->cols;
    for (int r = first; r < last; r++) {
        int target = a->targets[r];
        memcpy(dx, sl_row(x, r), (size_t)x->cols * sizeof *dx);
        k->softmax(dx, x->cols, NULL);
        if (target >= 0)
            dx[target] -= 1.0f;
        k->scale(dx, weight_of(a, r), dx, x->cols);
        if (n->overwrite[X])
            memcpy(sl_grad_row(x, r), dx, (size_t)x->cols * sizeof *dx);
        else
            k->axpy(sl_grad_row(x, r), 1.0f, dx, x->cols);
    }
}

static void cross_entropy_backward(const struct sl_node *n)
{
    struct cross_entropy_ctx p = {.n = n,
                                  .workers = sl_tape_scratch(n, cross_entropy_scratch(n, true))};
    sl_parallel_for(n->tape->pool, n->in[X]->rows, ROWS, cross_entropy_backward_rows, &p);
}

static const struct sl_op cross_entropy = {.name = "cross_entropy",
                                           .scratch = cross_entropy_scratch,
                                           .forward = cross_entropy_forward,
                                           .backward = cross_entropy_backward};

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
