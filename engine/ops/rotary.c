/* rotary.c - rotary positions: heads are rotated by angles that grow with the position (Su et al.
 * 2021). */
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { ROWS = 16 };

struct rotary_ctx {
    const struct sl_node *n;
    float *workers; /* a row for each */
};

static struct sl_rotation rotation_of(const struct sl_node *n, int i, bool back)
{
    const struct sl_rotary_args *a = n->args;
    const int position = n->tape->row_position[a->rows ? a->rows->index[i] : i];
    assert(position < a->table->rows);
    return (struct sl_rotation){.waves = a->table->data + (size_t)position * (size_t)a->table->cols,
                                .half = a->table->cols / 2,
                                .head_dim = a->head_dim,
                                .heads = a->heads,
                                .back = back};
}

/* y = x rotated. */
static void rotate_row(const struct sl_node *n, int i, bool back, float *y, const float *x)
{
    const struct sl_rotary_args *a = n->args;
    const size_t rotated = (size_t)(a->heads * a->head_dim);
    const struct sl_rotation r = rotation_of(n, i, back);
    n->tape->kernels->rotate(y, x, &r);
    memcpy(y + rotated, x + rotated, ((size_t)n->out->cols - rotated) * sizeof *y);
}

static void forward_rows(void *ctx, int first, int last, int worker)
{
    const struct rotary_ctx *p = ctx;
    const struct sl_node *n = p->n;
    float *spare = p->workers + (size_t)worker * (size_t)n->out->cols;
    for (int i = first; i < last; i++) {
        rotate_row(n, i, false, spare, sl_row(n->in[X], i));
        n->tape->kernels->to_operands(sl_row_any(n->out, i), spare, n->out->cols);
    }
}

static void backward_rows(void *ctx, int first, int last, int worker)
{
    const struct rotary_ctx *p = ctx;
    const struct sl_node *n = p->n;
    float *spare = p->workers + (size_t)worker * (size_t)n->out->cols;
    for (int i = first; i < last; i++) {
        float *dx = sl_grad_row(n->in[X], i);
        rotate_row(n, i, true, n->overwrite[X] ? dx : spare, sl_grad_row(n->out, i));
        if (!n->overwrite[X])
            n->tape->kernels->axpy(dx, 1.0f, spare, n->out->cols);
    }
}

static size_t rotary_scratch(const struct sl_node *n, bool backward)
{
    (void)backward;
    return (size_t)sl_thread_pool_size(n->tape->pool) * (size_t)n->out->cols * sizeof(float);
}

static void rotary_forward(const struct sl_node *n)
{
    struct rotary_ctx p = {.n = n, .workers = sl_tape_scratch(n, rotary_scratch(n, false))};
    sl_parallel_for(n->tape->pool, n->out->rows, ROWS, forward_rows, &p);
}

static void rotary_backward(const struct sl_node *n)
{
    struct rotary_ctx p = {.n = n, .workers = sl_tape_scratch(n, rotary_scratch(n, true))};
    sl_parallel_for(n->tape->pool, n->out->rows, ROWS, backward_rows, &p);
}

static const struct sl_op rotary = {.name = "rotary",
                                    .scratch = rotary_scratch,
                                    .forward = rotary_forward,
                                    .backward = rotary_backward};

struct sl_tensor *sl_rotary(struct sl_tape *t, struct sl_tensor *x, struct sl_rotary_args args)
{
    struct sl_rotary_args *kept = sl_tape_struct(t, 1, sizeof *kept);
    *kept = args;
    assert(x->rows == (args.rows ? args.rows->count : t->batch->rows));
    assert(args.table->cols <= args.head_dim);
    assert(args.heads * args.head_dim <= x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &rotary,
                                           .out = sl_operand_take(t, x->rows, x->cols),
                                           .in = {x},
                                           .args = kept});
}
