/* cosine_loss.c - adds weight (1 - cos(x_r, target_r)) of every row to the loss. */
#include "ops/ops.h"

#include <math.h>

enum { X };

/* Lengths below this have no direction. */
static const double shortest = 1e-12;

struct row {
    double product, length, target_length;
};

static struct row measure(const struct sl_node *n, int r)
{
    const struct sl_cosine_loss_args *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const int cols = n->in[X]->cols;
    const float *x = sl_row(n->in[X], r), *y = a->targets + (size_t)r * (size_t)cols;
    return (struct row){.product = (double)k->dot(x, y, cols),
                        .length = sqrt((double)k->dot(x, x, cols)),
                        .target_length = sqrt((double)k->dot(y, y, cols))};
}

static double cosine_of(const struct row *row)
{
    const double lengths = row->length * row->target_length;
    return lengths > shortest ? row->product / lengths : 0.0;
}

static void cosine_loss_forward(const struct sl_node *n)
{
    const struct sl_cosine_loss_args *a = n->args;
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++) {
        const struct row row = measure(n, r);
        sum += 1.0 - cosine_of(&row);
    }
    n->tape->stats.loss += sum * (double)a->weight;
}

/* dx = -weight (y / (|x| |y|) - cos x / |x|^2) */
static void cosine_loss_backward(const struct sl_node *n)
{
    const struct sl_cosine_loss_args *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const int cols = n->in[X]->cols;
    for (int r = 0; r < n->in[X]->rows; r++) {
        const struct row row = measure(n, r);
        const double lengths = row.length * row.target_length;
        float *dx = sl_grad_row(n->in[X], r);
        if (n->overwrite[X])
            memset(dx, 0, (size_t)cols * sizeof *dx);
        if (lengths <= shortest)
            continue;
        const double weight = (double)a->weight;
        k->axpy(dx, (float)(-weight / lengths), a->targets + (size_t)r * (size_t)cols, cols);
        k->axpy(dx, (float)(weight * cosine_of(&row) / (row.length * row.length)),
                sl_row(n->in[X], r), cols);
    }
}

static const struct sl_op cosine_loss = {.name = "cosine_loss",
                                         .forward = cosine_loss_forward,
                                         .backward = cosine_loss_backward};

void sl_cosine_loss(struct sl_tape *t, struct sl_tensor *x, struct sl_cosine_loss_args args)
{
    struct sl_cosine_loss_args *a = sl_tape_struct(t, 1, sizeof *a);
    *a = args;
    a->weight *= t->view->batch->loss_scale;
    (void)sl_tape_run(t, (struct sl_node){.op = &cosine_loss, .in = {x}, .args = a});
}
