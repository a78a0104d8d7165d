/* interpolate.c - h with rows h_{rows_i} + gate_i (y_i - h_{rows_i}): a gate that scales the whole
 * update of a block.
 *
 * Training: the result is a new tensor; h takes over its gradient without a copy. Serving: h is
 * updated in place, so a skipped row costs nothing. */
#include "ops/ops.h"
#include "ops/stream_rows.h"

#include <string.h>

enum { H, Y, GATE };

/* A hard gate replaces the row to the bit. */
static void forward_row(const struct sl_node *n, int i)
{
    const int row = sl_rows_at(n->args, i);
    float *out = sl_row(n->out, row);
    const float *h = sl_row(n->in[H], row), *y = sl_row(n->in[Y], i);
    const float gate = n->in[GATE] ? *sl_row(n->in[GATE], i) : 1.0f;
    const bool replaces = gate >= 1.0f && gate <= 1.0f;
    for (int c = 0; c < n->out->cols; c++)
        out[c] = replaces ? y[c] : h[c] + gate * (y[c] - h[c]);
}

static void interpolate_forward(const struct sl_node *n)
{
    if (n->args)
        sl_stream_copy(n);
    sl_node_rows(n, n->in[Y]->rows, forward_row);
}

/* dy = gate dout; dgate = <dout, y - h>; of dh, -gate dout is left to add. */
static void backward_row(const struct sl_node *n, int i)
{
    const int row = sl_rows_at(n->args, i), cols = n->out->cols;
    const float gate = n->in[GATE] ? *sl_row(n->in[GATE], i) : 1.0f;
    const float *h = sl_row(n->in[H], row), *y = sl_row(n->in[Y], i);
    const float *dout = sl_grad_row(n->out, row);
    float *dh = sl_grad_row(n->in[H], row), *dy = sl_grad_row(n->in[Y], i), dgate = 0.0f;
    for (int c = 0; c < cols; c++) {
        const float d = dout[c];
        dgate += d * (y[c] - h[c]);
        dy[c] = gate * d + (n->overwrite[Y] ? 0.0f : dy[c]);
        dh[c] -= gate * d;
    }
    if (n->in[GATE])
        *sl_grad_row(n->in[GATE], i) =
            dgate + (n->overwrite[GATE] ? 0.0f : *sl_grad_row(n->in[GATE], i));
}

static void interpolate_backward(const struct sl_node *n)
{
    sl_stream_pass_gradient(n);
    sl_node_rows(n, n->in[Y]->rows, backward_row);
}

static const struct sl_op interpolate = {.name = "interpolate",
                                         .forward = interpolate_forward,
                                         .backward = interpolate_backward,
                                         .passes = 1 + H};

struct sl_tensor *sl_interpolate(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *y,
                                 struct sl_interpolate_args args)
{
    assert(y->rows == (args.rows ? args.rows->count : h->rows));
    assert(y->cols == h->cols);
    assert(!args.gate || args.gate->rows == y->rows);
    struct sl_tensor *out = t->training ? sl_tensor_take(t, h->rows, h->cols) : h;
    return sl_tape_run(
        t, (struct sl_node){
               .op = &interpolate, .out = out, .in = {h, y, args.gate}, .args = args.rows});
}
