/* dropout.c - dropout, and the thresholds and keys that ops with dropout share. */
#include "base/random.h"
#include "ops/ops.h"

struct sl_dropout sl_dropout_of(float probability)
{
    assert(probability >= 0.0f);
    assert(probability < 1.0f);
    uint32_t threshold = (uint32_t)(probability * 65536.0f + 0.5f);
    return (struct sl_dropout){threshold, 65536.0f / (65536.0f - (float)threshold)};
}

uint32_t sl_dropout_row_key(const struct sl_tape *t, uint64_t key, int row)
{
    return (uint32_t)(sl_random_bits(key, (uint64_t)t->batch->row_base + (uint64_t)row) >> 32);
}

uint32_t sl_dropout_head_key(uint64_t random_key, int row, int head, int heads)
{
    uint64_t place = (uint64_t)row * (uint64_t)heads + (uint64_t)head;
    return (uint32_t)(sl_random_bits(random_key, place) >> 32);
}

enum { X };

enum { ROWS = 64 };

struct drop {
    struct sl_dropout dropout;
    uint64_t random_key;
};

static void dropout_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct drop *a = n->args;
    (void)worker;
    for (int r = first; r < last; r++)
        n->tape->kernels->dropout(sl_row(n->out, r), sl_row(n->in[X], r), a->dropout,
                                  sl_dropout_row_key(n->tape, a->random_key, r), 0, n->out->cols);
}

static void drop_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, dropout_forward_rows);
}

static void dropout_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct drop *a = n->args;
    (void)worker;
    for (int r = first; r < last; r++)
        n->tape->kernels->dropout(sl_grad_row(n->in[X], r), sl_grad_row(n->out, r), a->dropout,
                                  sl_dropout_row_key(n->tape, a->random_key, r), 0, n->out->cols);
}

static void drop_backward(const struct sl_node *n)
{
    assert(n->overwrite[X]);
    sl_node_parallel(n, n->out->rows, ROWS, dropout_backward_rows);
}

static const struct sl_op drop = {.name = "dropout",
                                  .forward = drop_forward,
                                  .backward = drop_backward};

struct sl_tensor *sl_dropout_apply(struct sl_tape *t, struct sl_tensor *x, float probability)
{
    if (!t->training || probability <= 0.0f)
        return x;
    assert(x->rows == t->batch->rows);
    struct drop *a = sl_tape_struct(t, 1, sizeof *a);
    *a = (struct drop){sl_dropout_of(probability), sl_tape_random(t)};
    struct sl_tensor *out = sl_tensor_take(t, x->rows, x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &drop, .out = out, .in = {x}, .args = a});
}
