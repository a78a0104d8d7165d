/* expert_assignment.c - top-k routing: rows are sent to the experts with their largest gate
 * weights, and the results are summed. Shazeer et al. 2017, section 2.1; one expert per row: Fedus
 * et al. 2021. */
#include "arch/eam/eam.h"

#include <string.h>

enum { X, GATE_WEIGHTS };

enum { GRAIN = 64 };

/* -- the choice, which has no gradient -------------------------------------------- */

/* Whether fewer than `top_k` experts have a larger gate weight, or an equal one and a lower
 * number. */
static bool is_in_top_k(const float *gate_weights, int experts, int expert, int top_k)
{
    int before = 0;
    for (int e = 0; e < experts; e++)
        before += gate_weights[e] > gate_weights[expert] ||
                  (e < expert && gate_weights[e] == gate_weights[expert]);
    return before < top_k;
}

static void choose_top_k(struct sl_expert_assignment *assignment,
                         const struct sl_tensor *gate_weights, int row)
{
    int32_t *chosen = assignment->expert + (size_t)row * (size_t)assignment->top_k;
    int count = 0;
    for (int e = 0; e < assignment->experts && count < assignment->top_k; e++)
        if (is_in_top_k(sl_row(gate_weights, row), assignment->experts, e, assignment->top_k))
            chosen[count++] = e;
    assert(count == assignment->top_k); /* comparisons with NaN exclude nothing */
}

/* Numbers the places expert by expert, in the order of rows. */
static void number_slots(struct sl_expert_assignment *assignment, const int32_t *origin)
{
    int count = assignment->rows * assignment->top_k;
    for (int i = 0; i < count; i++)
        assignment->first[assignment->expert[i] + 1]++;
    for (int e = 0; e < assignment->experts; e++)
        assignment->first[e + 1] += assignment->first[e];
    for (int i = 0; i < count; i++) {
        int row = i / assignment->top_k, slot = assignment->first[assignment->expert[i]]++;
        assignment->slot[i] = slot;
        assignment->row[slot] = row;
        assignment->origin[slot] = origin ? origin[row] : row;
    }
    for (int e = assignment->experts; e > 0; e--)
        assignment->first[e] = assignment->first[e - 1];
    assignment->first[0] = 0;
}

const struct sl_expert_assignment *sl_assign_experts(struct sl_tape *t,
                                                     const struct sl_tensor *gate_weights,
                                                     int top_k, const int32_t *origin)
{
    assert(top_k >= 1);
    assert(top_k <= gate_weights->cols);
    struct sl_expert_assignment *assignment = sl_tape_struct(t, 1, sizeof *assignment);
    size_t count = (size_t)gate_weights->rows * (size_t)top_k;
    *assignment = (struct sl_expert_assignment){
        .rows = gate_weights->rows, .top_k = top_k, .experts = gate_weights->cols};
    assignment->first =
        sl_tape_struct(t, (size_t)gate_weights->cols + 1, sizeof *assignment->first);
    assignment->expert = sl_tape_take(t, count, sizeof *assignment->expert);
    assignment->slot = sl_tape_take(t, count, sizeof *assignment->slot);
    assignment->row = sl_tape_take(t, count, sizeof *assignment->row);
    assignment->origin = sl_tape_take(t, count, sizeof *assignment->origin);
    if (sl_tape_is_dry(t))
        return assignment;
    for (int r = 0; r < assignment->rows; r++)
        choose_top_k(assignment, gate_weights, r);
    number_slots(assignment, origin);
    return assignment;
}

/* -- gate weights of the chosen experts -------------------------------------------------------- */

static const int32_t *chosen_of(const struct sl_expert_assignment *assignment, int row)
{
    return assignment->expert + (size_t)row * (size_t)assignment->top_k;
}

/* The chosen gate weights are divided by their sum, or by 1 when there is only one: divided by
 * itself it would always be 1, and the gate would not learn. */
static float total_of(const struct sl_expert_assignment *assignment, const float *gate_weights,
                      int row)
{
    float total = 0.0f;
    for (int j = 0; j < assignment->top_k; j++)
        total += gate_weights[chosen_of(assignment, row)[j]];
    return assignment->top_k == 1 ? 1.0f : total;
}

static void topk_gates_forward(const struct sl_node *n)
{
    const struct sl_expert_assignment *assignment = n->args;
    for (int r = 0; r < n->out->rows; r++) {
        const float *x = sl_row(n->in[X], r);
        float *y = sl_row(n->out, r), total = total_of(assignment, x, r);
        memset(y, 0, (size_t)n->out->cols * sizeof *y);
        for (int j = 0; j < assignment->top_k; j++) {
            int e = chosen_of(assignment, r)[j];
            y[e] = x[e] / total;
        }
    }
}

/* Over the chosen: dx = (dy - <dy, y>) / sum x, or for one alone dx = dy. */
static void topk_gates_backward(const struct sl_node *n)
{
    const struct sl_expert_assignment *assignment = n->args;
    size_t bytes = (size_t)n->out->cols * sizeof(float);
    for (int r = 0; r < n->out->rows; r++) {
        const float *y = sl_row(n->out, r), *dy = sl_grad_row(n->out, r);
        float *dx = sl_grad_row(n->in[X], r), total = total_of(assignment, sl_row(n->in[X], r), r);
        float mean = assignment->top_k == 1 ? 0.0f : n->tape->kernels->dot(dy, y, n->out->cols);
        if (n->overwrite[X])
            memset(dx, 0, bytes);
        for (int j = 0; j < assignment->top_k; j++) {
            int e = chosen_of(assignment, r)[j];
            dx[e] += (dy[e] - mean) / total;
        }
    }
}

static const struct sl_op topk_gates = {.name = "topk_gates",
                                        .forward = topk_gates_forward,
                                        .backward = topk_gates_backward};

struct sl_tensor *sl_topk_gates(struct sl_tape *t, struct sl_tensor *gate_weights,
                                const struct sl_expert_assignment *assignment)
{
    assert(gate_weights->rows == assignment->rows);
    assert(gate_weights->cols == assignment->experts);
    struct sl_tensor *out = sl_tensor_take(t, gate_weights->rows, gate_weights->cols);
    return sl_tape_run(
        t,
        (struct sl_node){.op = &topk_gates, .out = out, .in = {gate_weights}, .args = assignment});
}

/* -- rows to experts ----------------------------------------------------------------- */

/* The slots of a row at its experts. */
static const int32_t *slots_of(const struct sl_expert_assignment *assignment, int row)
{
    return assignment->slot + (size_t)row * (size_t)assignment->top_k;
}

static void dispatch_forward_row(const struct sl_node *n, int slot)
{
    const struct sl_expert_assignment *assignment = n->args;
    memcpy(sl_row_any(n->out, slot), sl_row_any(n->in[X], assignment->row[slot]),
           n->out->stride * sl_type_bytes(n->out->type));
}

static void dispatch_backward_row(const struct sl_node *n, int row)
{
    const struct sl_expert_assignment *assignment = n->args;
    const int32_t *slots = slots_of(assignment, row);
    float *dx = sl_grad_row(n->in[X], row);
    if (n->overwrite[X])
        memset(dx, 0, (size_t)n->out->cols * sizeof *dx);
    for (int j = 0; j < assignment->top_k; j++)
        n->tape->kernels->axpy(dx, 1.0f, sl_grad_row(n->out, slots[j]), n->out->cols);
}

static void dispatch_backward(const struct sl_node *n)
{
    sl_node_rows(n, n->in[X]->rows, dispatch_backward_row);
}

static const struct sl_op dispatch = {.name = "dispatch_to_experts",
                                      .forward_row = dispatch_forward_row,
                                      .backward = dispatch_backward,
                                      .grain = GRAIN};

struct sl_tensor *sl_dispatch_to_experts(struct sl_tape *t, struct sl_tensor *x,
                                         const struct sl_expert_assignment *assignment)
{
    assert(x->rows == assignment->rows);
    int slots = assignment->rows * assignment->top_k;
    struct sl_tensor *out =
        x->type == SL_F32 ? sl_tensor_take(t, slots, x->cols) : sl_operand_take(t, slots, x->cols);
    assert(out->stride == x->stride);
    return sl_tape_run(
        t, (struct sl_node){.op = &dispatch, .out = out, .in = {x}, .args = assignment});
}

/* -- experts to rows ----------------------------------------------------------------- */

static void combine_forward_row(const struct sl_node *n, int row)
{
    const struct sl_expert_assignment *assignment = n->args;
    const int32_t *slots = slots_of(assignment, row), *chosen = chosen_of(assignment, row);
    float *y = sl_row(n->out, row);
    memset(y, 0, (size_t)n->out->cols * sizeof *y);
    for (int j = 0; j < assignment->top_k; j++) {
        float gate_weight = sl_row(n->in[GATE_WEIGHTS], row)[chosen[j]];
        n->tape->kernels->axpy(y, gate_weight, sl_row(n->in[X], slots[j]), n->out->cols);
    }
}

/* dx_slot = gate dy,  dgate = <dy, x_slot>. */
static void combine_backward_row(const struct sl_node *n, int row)
{
    const struct sl_expert_assignment *assignment = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_tensor *x = n->in[X], *gate_weights = n->in[GATE_WEIGHTS];
    const int32_t *slots = slots_of(assignment, row), *chosen = chosen_of(assignment, row);
    const float *dy = sl_grad_row(n->out, row);
    float *dgate_weights = sl_grad_row(gate_weights, row);
    assert(n->overwrite[X]);
    if (n->overwrite[GATE_WEIGHTS])
        memset(dgate_weights, 0, (size_t)gate_weights->cols * sizeof *dgate_weights);
    for (int j = 0; j < assignment->top_k; j++) {
        int e = chosen[j];
        dgate_weights[e] += k->dot(dy, sl_row(x, slots[j]), x->cols);
        k->scale(sl_grad_row(x, slots[j]), sl_row(gate_weights, row)[e], dy, x->cols);
    }
}

static const struct sl_op combine = {.name = "combine_experts",
                                     .forward_row = combine_forward_row,
                                     .backward_row = combine_backward_row,
                                     .grain = GRAIN};

struct sl_tensor *sl_combine_experts(struct sl_tape *t, struct sl_tensor *x,
                                     struct sl_tensor *gate_weights,
                                     const struct sl_expert_assignment *assignment)
{
    assert(x->rows == assignment->rows * assignment->top_k);
    assert(gate_weights->rows == assignment->rows);
    struct sl_tensor *out = sl_tensor_take(t, assignment->rows, x->cols);
    return sl_tape_run(
        t,
        (struct sl_node){.op = &combine, .out = out, .in = {x, gate_weights}, .args = assignment});
}

/* -- the load-balancing loss ---------------------------------------------------------------- */

struct balance {
    const struct sl_expert_assignment *assignment;
    double weight; /* of one row's gate weight, before the expert's load */
};

static double load_of(const struct sl_expert_assignment *assignment, int expert)
{
    int count = assignment->first[expert + 1] - assignment->first[expert];
    return (double)count / (double)assignment->rows;
}

static void load_balancing_forward(const struct sl_node *n)
{
    const struct balance *a = n->args;
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++)
        for (int e = 0; e < n->in[X]->cols; e++)
            sum += load_of(a->assignment, e) * (double)sl_row(n->in[X], r)[e];
    n->tape->stats.aux_loss += sum * a->weight;
}

static void load_balancing_backward(const struct sl_node *n)
{
    const struct balance *a = n->args;
    for (int r = 0; r < n->in[X]->rows; r++) {
        float *dx = sl_grad_row(n->in[X], r);
        for (int e = 0; e < n->in[X]->cols; e++)
            dx[e] =
                (n->overwrite[X] ? 0.0f : dx[e]) + (float)(a->weight * load_of(a->assignment, e));
    }
}

static const struct sl_op balance = {.name = "load_balancing_loss",
                                     .forward = load_balancing_forward,
                                     .backward = load_balancing_backward};

void sl_load_balancing_loss(struct sl_tape *t, struct sl_tensor *gate_weights,
                            const struct sl_expert_assignment *assignment, float weight)
{
    assert(gate_weights->rows == assignment->rows);
    struct balance *a = sl_tape_struct(t, 1, sizeof *a);
    double part = (double)t->view->batch->rows * (double)t->view->batch->row_scale;
    a->assignment = assignment;
    a->weight = (double)weight * part * assignment->experts / assignment->rows;
    (void)sl_tape_run(t, (struct sl_node){.op = &balance, .in = {gate_weights}, .args = a});
}
