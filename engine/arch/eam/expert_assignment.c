/* expert_assignment.c - rows sent to the few of many experts that have the largest shares of
 * them, and what
 * comes back. Shazeer et al. 2017, section 2.1; one expert for each: Fedus et al. 2021. */
#include "arch/eam/eam.h"

#include <string.h>

enum { X, SHARES };

enum { ROWS = 64 };

/* -- the choice, a constant as far as gradients go -------------------------------------------- */

/* Fewer than `used` experts have a larger share, or the same and a lower number. */
static bool is_among_first(const float *shares, int experts, int expert, int used)
{
    int before = 0;
    for (int e = 0; e < experts; e++)
        before += shares[e] > shares[expert] || (e < expert && shares[e] == shares[expert]);
    return before < used;
}

static void choose(struct sl_expert_assignment *routes, const struct sl_tensor *shares, int row)
{
    int32_t *chosen = routes->expert + (size_t)row * (size_t)routes->used;
    int count = 0;
    for (int e = 0; e < routes->experts && count < routes->used; e++)
        if (is_among_first(sl_row(shares, row), routes->experts, e, routes->used))
            chosen[count++] = e;
    assert(count == routes->used); /* comparisons with NaN count nobody out */
}

/* Places expert by expert, and for each in the order of rows. */
static void number_places(struct sl_expert_assignment *routes, const int32_t *origin)
{
    int count = routes->rows * routes->used;
    for (int i = 0; i < count; i++)
        routes->first[routes->expert[i] + 1]++;
    for (int e = 0; e < routes->experts; e++)
        routes->first[e + 1] += routes->first[e];
    for (int i = 0; i < count; i++) {
        int row = i / routes->used, place = routes->first[routes->expert[i]]++;
        routes->place[i] = place;
        routes->row[place] = row;
        routes->origin[place] = origin ? origin[row] : row;
    }
    for (int e = routes->experts; e > 0; e--)
        routes->first[e] = routes->first[e - 1];
    routes->first[0] = 0;
}

const struct sl_expert_assignment *sl_assign_experts(struct sl_tape *t,
                                                     const struct sl_tensor *shares, int used,
                                                     const int32_t *origin)
{
    assert(used >= 1);
    assert(used <= shares->cols);
    struct sl_expert_assignment *routes = sl_tape_struct(t, 1, sizeof *routes);
    size_t count = (size_t)shares->rows * (size_t)used;
    *routes =
        (struct sl_expert_assignment){.rows = shares->rows, .used = used, .experts = shares->cols};
    routes->first = sl_tape_struct(t, (size_t)shares->cols + 1, sizeof *routes->first);
    routes->expert = sl_tape_take(t, count, sizeof *routes->expert);
    routes->place = sl_tape_take(t, count, sizeof *routes->place);
    routes->row = sl_tape_take(t, count, sizeof *routes->row);
    routes->origin = sl_tape_take(t, count, sizeof *routes->origin);
    if (sl_tape_is_dry(t))
        return routes;
    for (int r = 0; r < routes->rows; r++)
        choose(routes, shares, r);
    number_places(routes, origin);
    return routes;
}

/* -- shares of the chosen --------------------------------------------------------------------- */

static const int32_t *chosen_of(const struct sl_expert_assignment *routes, int row)
{
    return routes->expert + (size_t)row * (size_t)routes->used;
}

/* What the chosen shares are divided by: their sum, or 1 when there is but one: divided by itself
 * it would be 1 whatever the gate says, and the gate would never learn. */
static float total_of(const struct sl_expert_assignment *routes, const float *shares, int row)
{
    float total = 0.0f;
    for (int j = 0; j < routes->used; j++)
        total += shares[chosen_of(routes, row)[j]];
    return routes->used == 1 ? 1.0f : total;
}

static void chosen_forward(const struct sl_node *n)
{
    const struct sl_expert_assignment *routes = n->args;
    for (int r = 0; r < n->out->rows; r++) {
        const float *x = sl_row(n->in[X], r);
        float *y = sl_row(n->out, r), total = total_of(routes, x, r);
        memset(y, 0, (size_t)n->out->cols * sizeof *y);
        for (int j = 0; j < routes->used; j++) {
            int e = chosen_of(routes, r)[j];
            y[e] = x[e] / total;
        }
    }
}

/* Over the chosen: dx = (dy - <dy, y>) / sum x, or for one alone dx = dy. */
static void chosen_backward(const struct sl_node *n)
{
    const struct sl_expert_assignment *routes = n->args;
    size_t bytes = (size_t)n->out->cols * sizeof(float);
    for (int r = 0; r < n->out->rows; r++) {
        const float *y = sl_row(n->out, r), *dy = sl_grad_row(n->out, r);
        float *dx = sl_grad_row(n->in[X], r), total = total_of(routes, sl_row(n->in[X], r), r);
        float mean = routes->used == 1 ? 0.0f : n->tape->kernels->dot(dy, y, n->out->cols);
        if (n->overwrite[X])
            memset(dx, 0, bytes);
        for (int j = 0; j < routes->used; j++) {
            int e = chosen_of(routes, r)[j];
            dx[e] += (dy[e] - mean) / total;
        }
    }
}

static const struct sl_op chosen = {.name = "chosen_shares",
                                    .forward = chosen_forward,
                                    .backward = chosen_backward};

struct sl_tensor *sl_chosen_gates(struct sl_tape *t, struct sl_tensor *shares,
                                  const struct sl_expert_assignment *routes)
{
    assert(shares->rows == routes->rows);
    assert(shares->cols == routes->experts);
    struct sl_tensor *out = sl_tensor_take(t, shares->rows, shares->cols);
    return sl_tape_run(t,
                       (struct sl_node){.op = &chosen, .out = out, .in = {shares}, .args = routes});
}

/* -- there ------------------------------------------------------------------------------------ */

static void dispatch_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_expert_assignment *routes = n->args;
    const size_t bytes = n->out->stride * sl_type_bytes(n->out->type);
    (void)worker;
    for (int place = first; place < last; place++)
        memcpy(sl_row_any(n->out, place), sl_row_any(n->in[X], routes->row[place]), bytes);
}

static void dispatch_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, dispatch_rows);
}

static void return_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_expert_assignment *routes = n->args;
    (void)worker;
    for (int r = first; r < last; r++) {
        const int32_t *places = routes->place + (size_t)r * (size_t)routes->used;
        float *dx = sl_grad_row(n->in[X], r);
        if (n->overwrite[X])
            memset(dx, 0, (size_t)n->out->cols * sizeof *dx);
        for (int j = 0; j < routes->used; j++)
            n->tape->kernels->axpy(dx, 1.0f, sl_grad_row(n->out, places[j]), n->out->cols);
    }
}

static void dispatch_backward(const struct sl_node *n)
{
    sl_node_parallel(n, n->in[X]->rows, ROWS, return_rows);
}

static const struct sl_op dispatch = {.name = "dispatch",
                                      .forward = dispatch_forward,
                                      .backward = dispatch_backward};

struct sl_tensor *sl_dispatch(struct sl_tape *t, struct sl_tensor *x,
                              const struct sl_expert_assignment *routes)
{
    assert(x->rows == routes->rows);
    int places = routes->rows * routes->used;
    struct sl_tensor *out = x->type == SL_F32 ? sl_tensor_take(t, places, x->cols)
                                              : sl_operand_take(t, places, x->cols);
    assert(out->stride == x->stride);
    return sl_tape_run(t, (struct sl_node){.op = &dispatch, .out = out, .in = {x}, .args = routes});
}

/* -- and back --------------------------------------------------------------------------------- */

static void combine_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_expert_assignment *routes = n->args;
    (void)worker;
    for (int r = first; r < last; r++) {
        const int32_t *places = routes->place + (size_t)r * (size_t)routes->used;
        float *y = sl_row(n->out, r);
        memset(y, 0, (size_t)n->out->cols * sizeof *y);
        for (int j = 0; j < routes->used; j++) {
            float share = sl_row(n->in[SHARES], r)[chosen_of(routes, r)[j]];
            n->tape->kernels->axpy(y, share, sl_row(n->in[X], places[j]), n->out->cols);
        }
    }
}

static void combine_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, combine_rows);
}

/* dx_place = share dy,  dshare = <dy, x_place>. */
static void divide_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_expert_assignment *routes = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_tensor *x = n->in[X], *shares = n->in[SHARES];
    (void)worker;
    for (int r = first; r < last; r++) {
        const int32_t *places = routes->place + (size_t)r * (size_t)routes->used;
        const float *dy = sl_grad_row(n->out, r);
        float *dshares = sl_grad_row(shares, r);
        if (n->overwrite[SHARES])
            memset(dshares, 0, (size_t)shares->cols * sizeof *dshares);
        for (int j = 0; j < routes->used; j++) {
            int e = chosen_of(routes, r)[j];
            dshares[e] += k->dot(dy, sl_row(x, places[j]), x->cols);
            k->scale(sl_grad_row(x, places[j]), sl_row(shares, r)[e], dy, x->cols);
        }
    }
}

static void combine_backward(const struct sl_node *n)
{
    assert(n->overwrite[X]);
    sl_node_parallel(n, n->out->rows, ROWS, divide_rows);
}

static const struct sl_op combine = {.name = "combine",
                                     .forward = combine_forward,
                                     .backward = combine_backward};

struct sl_tensor *sl_combine(struct sl_tape *t, struct sl_tensor *x, struct sl_tensor *shares,
                             const struct sl_expert_assignment *routes)
{
    assert(x->rows == routes->rows * routes->used);
    assert(shares->rows == routes->rows);
    struct sl_tensor *out = sl_tensor_take(t, routes->rows, x->cols);
    return sl_tape_run(
        t, (struct sl_node){.op = &combine, .out = out, .in = {x, shares}, .args = routes});
}

/* -- the price of imbalance ------------------------------------------------------------------- */

struct balance {
    const struct sl_expert_assignment *routes;
    double weight; /* of one row's share, before the expert's load */
};

static double load_of(const struct sl_expert_assignment *routes, int expert)
{
    int count = routes->first[expert + 1] - routes->first[expert];
    return (double)count / (double)routes->rows;
}

static void balance_forward(const struct sl_node *n)
{
    const struct balance *a = n->args;
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++)
        for (int e = 0; e < n->in[X]->cols; e++)
            sum += load_of(a->routes, e) * (double)sl_row(n->in[X], r)[e];
    n->tape->stats.aux_loss += sum * a->weight;
}

static void balance_backward(const struct sl_node *n)
{
    const struct balance *a = n->args;
    for (int r = 0; r < n->in[X]->rows; r++) {
        float *dx = sl_grad_row(n->in[X], r);
        for (int e = 0; e < n->in[X]->cols; e++)
            dx[e] = (n->overwrite[X] ? 0.0f : dx[e]) + (float)(a->weight * load_of(a->routes, e));
    }
}

static const struct sl_op balance = {.name = "balance",
                                     .forward = balance_forward,
                                     .backward = balance_backward};

void sl_load_balancing_loss(struct sl_tape *t, struct sl_tensor *shares,
                            const struct sl_expert_assignment *routes, float weight)
{
    assert(shares->rows == routes->rows);
    struct balance *a = sl_tape_struct(t, 1, sizeof *a);
    double part = (double)t->batch->rows * (double)t->batch->row_scale;
    a->routes = routes;
    a->weight = (double)weight * part * routes->experts / routes->rows;
    (void)sl_tape_run(t, (struct sl_node){.op = &balance, .in = {shares}, .args = a});
}
