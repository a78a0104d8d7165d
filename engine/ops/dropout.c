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

uint32_t sl_dropout_row_key(const struct sl_view *view, uint64_t key, int row)
{
    return (uint32_t)(sl_random_bits(key, (uint64_t)view->batch->row_base + (uint64_t)row) >> 32);
}

uint32_t sl_dropout_head_key(uint64_t random_key, int row, int head, int heads)
{
    uint64_t place = (uint64_t)row * (uint64_t)heads + (uint64_t)head;
    return (uint32_t)(sl_random_bits(random_key, place) >> 32);
}

enum { X };

struct drop {
    struct sl_dropout dropout;
    uint64_t random_key;
};

static void forward_row(const struct sl_node *n, int row)
{
    const struct drop *a = n->args;
    n->tape->kernels->dropout(sl_row(n->out, row), sl_row(n->in[X], row), a->dropout,
                              sl_dropout_row_key(n->view, a->random_key, row), 0, n->out->cols);
}

static void backward_row(const struct sl_node *n, int row)
{
    const struct drop *a = n->args;
    assert(n->overwrite[X]);
    n->tape->kernels->dropout(sl_grad_row(n->in[X], row), sl_grad_row(n->out, row), a->dropout,
                              sl_dropout_row_key(n->view, a->random_key, row), 0, n->out->cols);
}

static const struct sl_op drop = {.name = "dropout",
                                  .forward_row = forward_row,
                                  .backward_row = backward_row,
                                  .grain = 64};

struct sl_tensor *sl_dropout_apply(struct sl_tape *t, struct sl_tensor *x, float probability)
{
    if (!t->training || probability <= 0.0f)
        return x;
    assert(x->rows == t->view->batch->rows);
    struct drop *a = sl_tape_struct(t, 1, sizeof *a);
    *a = (struct drop){sl_dropout_of(probability), sl_tape_random(t)};
    struct sl_tensor *out = sl_tensor_take(t, x->rows, x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &drop, .out = out, .in = {x}, .args = a});
}
