/* centernorm.c - y = weight c (x - mean) + bias with c = sqrt(d / (d - 1)): removes the mean and
 * keeps the scale. Epsilon, section 3.2. */
#include "arch/epsilon/epsilon.h"

#include <math.h>

enum { X };

enum { GAIN, SHIFT };

static float scale_of(int cols)
{
    return cols > 1 ? sqrtf((float)cols / (float)(cols - 1)) : 1.0f;
}

static float mean_of(const struct sl_node *n, const float *x)
{
    return n->tape->kernels->sum(x, n->out->cols) / (float)n->out->cols;
}

static void forward_row(const struct sl_node *n, int row)
{
    int cols = n->out->cols;
    n->tape->kernels->centernorm(sl_row_any(n->out, row), sl_row(n->in[X], row),
                                 n->parameter[GAIN]->data, n->parameter[SHIFT]->data,
                                 scale_of(cols), cols);
}

/* With g = weight dy: dx = c (g - mean(g)), dweight += dy c (x - mean), dbias += dy. */
static void backward_row(const struct sl_node *n, int r)
{
    const float *weight = n->parameter[GAIN]->data, *x = sl_row(n->in[X], r);
    const float *dy = sl_grad_row(n->out, r);
    int cols = n->out->cols;
    float *dx = sl_grad_row(n->in[X], r), *g = n->spare;
    float *dgain = n->sums, *dshift = dgain + cols, c = scale_of(cols), mean = mean_of(n, x);
    for (int i = 0; i < cols; i++) {
        g[i] = weight[i] * dy[i];
        dgain[i] += dy[i] * (c * (x[i] - mean));
        dshift[i] += dy[i];
    }
    float middle = mean_of(n, g);
    for (int i = 0; i < cols; i++)
        dx[i] = (n->overwrite[X] ? 0.0f : dx[i]) + c * (g[i] - middle);
}

static const struct sl_op centernorm = {.name = "centernorm",
                                        .forward_row = forward_row,
                                        .backward_row = backward_row,
                                        .grain = 64,
                                        .spare_rows = 1,
                                        .sums = true};

struct sl_tensor *sl_centernorm(struct sl_tape *t, struct sl_tensor *x,
                                const struct sl_parameter *weight, const struct sl_parameter *bias)
{
    assert(weight->cols == x->cols);
    assert(bias->cols == x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &centernorm,
                                           .out = sl_operand_take(t, x->rows, x->cols),
                                           .in = {x},
                                           .parameter = {weight, bias}});
}
