/* centernorm.c - y = weight c (x - mean) + bias with c = sqrt(d / (d - 1)): removes the mean and
 * keeps the scale. Epsilon, section 3.2. */
#include "arch/epsilon/epsilon.h"
#include "base/int_math.h"

#include <math.h>
#include <string.h>

enum { X };

enum { GAIN, SHIFT };

enum { BLOCK = 64 }; /* rows whose gradients of weight and bias are summed together */

static float scale_of(int cols)
{
    return cols > 1 ? sqrtf((float)cols / (float)(cols - 1)) : 1.0f;
}

static float mean_of(const struct sl_node *n, const float *x)
{
    return n->tape->kernels->sum(x, n->out->cols) / (float)n->out->cols;
}

static void centernorm_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const float *weight = n->parameter[GAIN]->data, *bias = n->parameter[SHIFT]->data;
    int cols = n->out->cols;
    (void)worker;
    for (int r = first; r < last; r++)
        n->tape->kernels->centernorm(sl_row_any(n->out, r), sl_row(n->in[X], r), weight, bias,
                                     scale_of(cols), cols);
}

static void centernorm_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, BLOCK, centernorm_forward_rows);
}

/* Scratch memory of backward. */
struct centernorm_ctx {
    const struct sl_node *n;
    float *workers; /* a row for each */
    float *partial; /* per block: the gradients of weight, then of bias */
};

static int blocks_of(const struct sl_node *n)
{
    return sl_ceil_div(n->out->rows, BLOCK);
}

static size_t centernorm_scratch(const struct sl_node *n, bool backward)
{
    size_t rows = (size_t)sl_thread_pool_size(n->tape->pool) + 2 * (size_t)blocks_of(n);
    return backward ? rows * (size_t)n->out->cols * sizeof(float) : 0;
}

/* With g = weight dy: dx = c (g - mean(g)), dweight += dy c (x - mean), dbias += dy. */
static void backward_row(const struct sl_node *n, int r, float *g, float *dgain)
{
    const float *weight = n->parameter[GAIN]->data, *x = sl_row(n->in[X], r);
    const float *dy = sl_grad_row(n->out, r);
    int cols = n->out->cols;
    float *dx = sl_grad_row(n->in[X], r), *dshift = dgain + cols;
    float c = scale_of(cols), mean = mean_of(n, x);
    for (int i = 0; i < cols; i++) {
        g[i] = weight[i] * dy[i];
        dgain[i] += dy[i] * (c * (x[i] - mean));
        dshift[i] += dy[i];
    }
    float middle = mean_of(n, g);
    for (int i = 0; i < cols; i++)
        dx[i] = (n->overwrite[X] ? 0.0f : dx[i]) + c * (g[i] - middle);
}

static void backward_block(void *ctx, int first, int last, int worker)
{
    const struct centernorm_ctx *p = ctx;
    size_t cols = (size_t)p->n->out->cols;
    float *dgain = p->partial + (size_t)(first / BLOCK) * 2 * cols;
    memset(dgain, 0, 2 * cols * sizeof *dgain);
    for (int r = first; r < last; r++)
        backward_row(p->n, r, p->workers + (size_t)worker * cols, dgain);
}

/* Blocks are summed in order, independent of the thread that computed them. */
static void centernorm_backward(const struct sl_node *n)
{
    struct centernorm_ctx p = {.n = n, .workers = sl_tape_scratch(n, centernorm_scratch(n, true))};
    int cols = n->out->cols;
    p.partial = p.workers + (size_t)sl_thread_pool_size(n->tape->pool) * (size_t)cols;
    sl_parallel_for(n->tape->pool, n->out->rows, BLOCK, backward_block, &p);
    for (int b = 0; b < blocks_of(n); b++) {
        const float *partial = p.partial + (size_t)b * 2 * (size_t)cols;
        n->tape->kernels->axpy(n->parameter[GAIN]->grad, 1.0f, partial, cols);
        n->tape->kernels->axpy(n->parameter[SHIFT]->grad, 1.0f, partial + cols, cols);
    }
}

static const struct sl_op centernorm = {.name = "centernorm",
                                        .scratch = centernorm_scratch,
                                        .forward = centernorm_forward,
                                        .backward = centernorm_backward};

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
