/* distillation_loss.c - the loss of distillation (Hinton et al. 2015, at temperature 1):
 * weight_target KL(p || q) with p = softmax(teacher) and q = softmax(x). */
#include "ops/ops.h"

#include <string.h>

enum { X };

struct divergence {
    const struct sl_tensor *teacher;
    struct sl_cross_entropy_args args;
    float weight; /* of one row: includes 1 / targets */
    float *rows;  /* KL of each */
};

/* Of a row; 0 without a target. */
static float weight_of(const struct divergence *a, int row)
{
    if (!a->args.targets)
        return a->weight;
    int target = a->args.targets[row];
    if (target < 0)
        return 0.0f;
    return a->args.class_weights ? a->weight * a->args.class_weights[target] : a->weight;
}

/* KL = sum_j p_j (log p_j - log q_j). */
float sl_divergence(const struct sl_kernels *kernels, const float *teacher, const float *logits,
                    int cols, float *scratch)
{
    float *p = scratch, *q = p + cols;
    memcpy(p, teacher, (size_t)cols * sizeof *p);
    memcpy(q, logits, (size_t)cols * sizeof *q);
    float of_p, of_q, sum = 0;
    kernels->softmax(q, cols, &of_q);
    kernels->softmax(p, cols, &of_p);
    for (int j = 0; j < cols; j++)
        sum += p[j] * (teacher[j] - logits[j] + (of_q - of_p));
    return sum;
}

static void forward_row(const struct sl_node *n, int row)
{
    const struct divergence *a = n->args;
    a->rows[row] = sl_divergence(n->tape->kernels, sl_row(a->teacher, row), sl_row(n->in[X], row),
                                 n->in[X]->cols, n->spare);
}

static void divergence_forward(const struct sl_node *n)
{
    const struct divergence *a = n->args;
    sl_node_rows(n, n->in[X]->rows, forward_row);
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++)
        sum += (double)weight_of(a, r) * (double)a->rows[r];
    n->tape->stats.loss += sum;
}

/* dx = weight (q - p). */
static void backward_row(const struct sl_node *n, int row)
{
    const struct sl_kernels *k = n->tape->kernels;
    const struct divergence *a = n->args;
    int cols = n->in[X]->cols;
    size_t bytes = (size_t)cols * sizeof(float);
    float *p = n->spare, *dx = p + cols;
    memcpy(p, sl_row(a->teacher, row), bytes);
    memcpy(dx, sl_row(n->in[X], row), bytes);
    k->softmax(p, cols, NULL);
    k->softmax(dx, cols, NULL);
    k->axpy(dx, -1.0f, p, cols);
    k->scale(dx, weight_of(a, row), dx, cols);
    if (n->overwrite[X])
        memcpy(sl_grad_row(n->in[X], row), dx, bytes);
    else
        k->axpy(sl_grad_row(n->in[X], row), 1.0f, dx, cols);
}

static const struct sl_op divergence = {.name = "divergence",
                                        .forward = divergence_forward,
                                        .backward_row = backward_row,
                                        .spare_rows = 2};

static void add_divergence(struct sl_tape *t, struct sl_tensor *logits,
                           const struct sl_tensor *teacher, struct sl_cross_entropy_args args)
{
    assert(teacher->rows == logits->rows && teacher->cols == logits->cols);
    struct divergence *a = sl_tape_struct(t, 1, sizeof *a);
    *a = (struct divergence){.teacher = teacher,
                             .args = args,
                             .weight = args.weight * t->view->batch->loss_scale,
                             .rows = sl_tape_take(t, (size_t)logits->rows, sizeof *a->rows)};
    (void)sl_tape_run(t, (struct sl_node){.op = &divergence, .in = {logits}, .args = a});
}

void sl_divergence_loss(struct sl_tape *t, struct sl_tensor *logits,
                        const struct sl_tensor *teacher, float weight)
{
    add_divergence(t, logits, teacher, (struct sl_cross_entropy_args){.weight = weight});
}

void sl_distillation_loss(struct sl_tape *t, struct sl_tensor *logits,
                          const struct sl_distillation *distillation,
                          struct sl_cross_entropy_args args)
{
    if (distillation) {
        struct sl_cross_entropy_args share = args;
        share.weight *= distillation->weight;
        args.weight *= 1.0f - distillation->weight;
        add_divergence(t, logits, distillation->teacher, share);
    }
    sl_cross_entropy(t, logits, args);
}
