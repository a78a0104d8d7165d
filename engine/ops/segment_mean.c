/* segment_mean.c - y_s = mean of x over the rows of segment s: pooling of sequences, or of
 * windows. */
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { CHUNK = 128 }; /* values converted to fp32 at a time */

static float share_of(const struct sl_segments *segments, int s)
{
    return 1.0f / (float)(segments->first[s + 1] - segments->first[s]);
}

/* y += x_r. */
static void add_row(const struct sl_node *n, float *y, int r)
{
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_tensor *x = n->in[X];
    if (x->type == SL_F32) {
        k->axpy(y, 1.0f, sl_row(x, r), x->cols);
        return;
    }
    const char *row = sl_row_any(x, r);
    for (int c = 0; c < x->cols; c += CHUNK) {
        float wide[CHUNK];
        int count = x->cols - c < CHUNK ? x->cols - c : CHUNK;
        k->from_operands(wide, row + (size_t)c * sl_type_bytes(x->type), count);
        k->axpy(y + c, 1.0f, wide, count);
    }
}

static void forward_segment(const struct sl_node *n, int s)
{
    const struct sl_segments *segments = n->args;
    float *y = sl_row(n->out, s);
    memset(y, 0, (size_t)n->out->cols * sizeof *y);
    for (int r = segments->first[s]; r < segments->first[s + 1]; r++)
        add_row(n, y, r);
    n->tape->kernels->scale(y, share_of(segments, s), y, n->out->cols);
}

/* dx_r = dy_s / rows of s, for every row r of s. */
static void backward_segment(const struct sl_node *n, int s)
{
    const struct sl_segments *segments = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const float *dy = sl_grad_row(n->out, s);
    for (int r = segments->first[s]; r < segments->first[s + 1]; r++) {
        float *dx = sl_grad_row(n->in[X], r);
        if (n->overwrite[X])
            k->scale(dx, share_of(segments, s), dy, n->out->cols);
        else
            k->axpy(dx, share_of(segments, s), dy, n->out->cols);
    }
}

static const struct sl_op mean = {.name = "segment_mean",
                                  .forward_row = forward_segment,
                                  .backward_row = backward_segment,
                                  .grain = 1};

/* First rows of the batch's sequences, then its end. */
static struct sl_segments sequences_of(struct sl_tape *t)
{
    int32_t *first = sl_tape_struct(t, (size_t)t->view->batch->count + 1, sizeof *first);
    for (int s = 0; s < t->view->batch->count; s++)
        first[s] = t->view->batch->sequences[s].first;
    first[t->view->batch->count] = t->view->batch->rows;
    return (struct sl_segments){first, t->view->batch->count};
}

struct sl_tensor *sl_segment_mean(struct sl_tape *t, struct sl_tensor *x,
                                  const struct sl_segments *segments)
{
    struct sl_segments *a = sl_tape_struct(t, 1, sizeof *a);
    *a = segments ? *segments : sequences_of(t);
    assert(a->first[0] == 0);
    assert(a->first[a->count] == x->rows);
    return sl_tape_run(
        t, (struct sl_node){
               .op = &mean, .out = sl_tensor_take(t, a->count, x->cols), .in = {x}, .args = a});
}
