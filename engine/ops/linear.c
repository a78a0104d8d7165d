/* linear.c - y = dropout(f(x w^T + b)): the matrix product that takes most of the time; also with a
 * separate w and b for each group of rows.
 *
 * Everything is one kernel: a row block of operands times a packed matrix. Forward, B = w^T, packed
 * once per version. For dx = dz w, B = w. For dw = dz^T x, the rows are those of dz^T and B is x,
 * both packed here. Row blocks are small enough that block, packed panel and result stay in the L2
 * cache while bias, activation and rounding are applied. */
#include "base/int_math.h"
#include "base/random.h"
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { WEIGHT, BIAS };

/* A tile of the result that is computed and finished together: 32 KiB, so it is in the L1 cache
 * when bias, activation, dropout and rounding are applied. */
enum { BLOCK = 64, CHUNK = 128 };

struct linear {
    enum sl_activation activation;
    struct sl_dropout dropout;
    uint64_t random_key;
    const int32_t *origin;
    struct sl_tensor *slope; /* dy/dz through activation and dropout; kept while training */
    int blocks, column_pieces, columns; /* columns of one piece */
};

/* -- forward ------------------------------------------------------------------------------ */

/* One worker's memory: a block of x as operands, and a block of results. */
struct forward_scratch {
    char *base;
    size_t stride, x_bytes;
};

static size_t block_operand_bytes(const struct sl_node *n)
{
    const struct sl_kernels *k = n->tape->kernels;
    return BLOCK * sl_operand_stride(k, n->in[X]->cols) * sl_type_bytes(k->operand);
}

static struct forward_scratch forward_layout(const struct sl_node *n)
{
    size_t x_bytes = sl_round_up(block_operand_bytes(n), SL_ALIGN);
    size_t y_bytes = n->out->type == SL_F32 ? 0 : (size_t)BLOCK * CHUNK * sizeof(float);
    return (struct forward_scratch){.stride = x_bytes + sl_round_up(y_bytes, SL_ALIGN),
                                    .x_bytes = x_bytes};
}

struct forward_pass {
    const struct sl_node *n;
    struct forward_scratch scratch;
};

/* The rows of one block, as operands. */
static const void *block_operands(const struct sl_node *n, int first, int last, char *scratch,
                                  size_t *stride)
{
    const struct sl_tensor *x = n->in[X];
    const struct sl_kernels *k = n->tape->kernels;
    if (x->type == k->operand) {
        *stride = x->stride;
        return sl_row_any(x, first);
    }
    *stride = sl_operand_stride(k, x->cols);
    for (int r = first; r < last; r++)
        k->to_operands(scratch + (size_t)(r - first) * *stride * sl_type_bytes(k->operand),
                       sl_row(x, r), x->cols);
    return scratch;
}

/* Bias, activation, dropout and rounding of columns c0..c1 of one row, whose products are in y. */
// NOLINTNEXTLINE(readability-non-const-parameter): y is written over unless there is f.out
static void epilogue_row(const struct sl_node *n, int row, float *y, int c0, int c1)
{
    const struct linear *a = n->args;
    const struct sl_parameter *bias = n->parameter[BIAS];
    const size_t at = (size_t)c0 * sl_type_bytes(n->tape->kernels->operand);
    struct sl_epilogue f = {.products = y,
                            .bias = bias ? bias->data + c0 : NULL,
                            .activation = a->activation,
                            .dropout = a->dropout,
                            .first = c0,
                            .n = c1 - c0};
    if (n->out->type != SL_F32)
        f.out = (char *)sl_row_any(n->out, row) + at;
    if (a->slope)
        f.slope = (char *)sl_row_any(a->slope, row) + at;
    if (a->dropout.threshold)
        f.row_key = sl_dropout_row_key(n->tape, a->random_key, a->origin ? a->origin[row] : row);
    if (f.out || f.slope || f.bias || f.activation != SL_LINEAR)
        n->tape->kernels->epilogue(&f);
}

/* Columns c0..c1 of a packed matrix are a packed matrix: panels lie one after another. */
static const char *panels_from(const struct sl_node *n, const struct sl_parameter *weight, int c0)
{
    const size_t before = c0 ? n->tape->kernels->pack_bytes(weight->cols, c0) : 0;
    return (const char *)weight->packed + (weight->compact ? before / 2 : before);
}

/* Columns c0..c1 of one block of rows, from operands x. spare: a block of a chunk. */
static void forward_chunk(const struct sl_node *n, struct sl_gemm g, int row, int c0, int c1,
                          float *spare)
{
    struct sl_tensor *out = n->out;
    bool direct = out->type == SL_F32;
    g.packed = panels_from(n, n->parameter[WEIGHT], c0);
    g.compact = n->parameter[WEIGHT]->compact;
    g.n = c1 - c0;
    g.y = direct ? sl_row(out, row) + c0 : spare;
    g.y_stride = direct ? out->stride : CHUNK;
    n->tape->kernels->gemm(&g);
    for (int r = 0; r < g.m; r++)
        epilogue_row(n, row + r, g.y + (size_t)r * g.y_stride, c0, c1);
}

static void forward_piece(const struct forward_pass *pass, int piece, int worker)
{
    const struct sl_node *n = pass->n;
    const struct linear *a = n->args;
    int first = piece / a->column_pieces * BLOCK, last = sl_min(first + BLOCK, n->out->rows);
    int c0 = piece % a->column_pieces * a->columns, c1 = sl_min(c0 + a->columns, n->out->cols);
    char *scratch = pass->scratch.base + (size_t)worker * pass->scratch.stride;
    float *spare = (float *)(void *)(scratch + pass->scratch.x_bytes);
    struct sl_gemm g = {.m = last - first, .k = n->in[X]->cols, .is_far = a->blocks == 1};
    g.x = block_operands(n, first, last, scratch, &g.x_stride);
    for (int c = c0; c < c1; c += CHUNK)
        forward_chunk(n, g, first, c, sl_min(c + CHUNK, c1), spare);
}

static void forward_pieces(void *ctx, int first, int last, int worker)
{
    for (int i = first; i < last; i++)
        forward_piece(ctx, i, worker);
}

static void linear_forward(const struct sl_node *n)
{
    const struct linear *a = n->args;
    struct forward_pass pass = {.n = n, .scratch = forward_layout(n)};
    size_t workers = (size_t)sl_thread_pool_size(n->tape->pool);
    pass.scratch.base = sl_tape_scratch(n, workers * pass.scratch.stride);
    sl_parallel_for(n->tape->pool, a->blocks * a->column_pieces, 1, forward_pieces, &pass);
}

/* -- backward ----------------------------------------------------------------------------- */

/* One backward pass: dz and its transpose, which all workers share, and memory of each worker. Its
 * pieces, in this order: parts of dw (a group of rows by a chunk of columns), rows of db, blocks of
 * rows of dx. */
struct backward_pass {
    const struct sl_node *n;
    char *base;
    size_t dz_t_at, workers_at, bytes; /* dz is at 0 */
    size_t dz_stride, dz_t_stride;     /* elements */
    size_t worker_bytes, floats_at;    /* per worker: a packed chunk of x, then m floats */
    int chunks, group_rows;            /* of dw */
    int dw_pieces, db_pieces, dx_pieces;
};

/* Chunks alone keep few threads busy; with more threads the rows of dw are divided, too. */
static void divide_dw(struct backward_pass *p, int threads)
{
    int outs = p->n->out->cols, blocks = sl_ceil_div(outs, BLOCK);
    p->chunks = sl_ceil_div(p->n->in[X]->cols, CHUNK);
    int groups = sl_min(sl_ceil_div(2 * threads, p->chunks), blocks);
    p->group_rows = sl_ceil_div(blocks, groups) * BLOCK;
    p->dw_pieces = p->n->parameter[WEIGHT]->grad ? p->chunks * sl_ceil_div(outs, p->group_rows) : 0;
}

static struct backward_pass backward_layout(const struct sl_node *n)
{
    const struct sl_kernels *k = n->tape->kernels;
    const size_t element = sl_type_bytes(k->operand);
    int m = n->out->rows, outs = n->out->cols, threads = sl_thread_pool_size(n->tape->pool);
    struct backward_pass p = {.n = n,
                              .dz_stride = sl_operand_stride(k, outs),
                              .dz_t_stride = sl_operand_stride(k, m),
                              .db_pieces = n->parameter[BIAS] ? sl_ceil_div(outs, BLOCK) : 0,
                              .dx_pieces = n->in[X]->needs_grad ? sl_ceil_div(m, BLOCK) : 0};
    divide_dw(&p, threads);
    p.dz_t_at = sl_round_up((size_t)m * p.dz_stride * element, SL_ALIGN);
    p.workers_at = p.dz_t_at + sl_round_up((size_t)outs * p.dz_t_stride * element, SL_ALIGN);
    p.floats_at = sl_round_up(k->pack_bytes(m, CHUNK), SL_ALIGN);
    p.worker_bytes = p.floats_at + sl_round_up((size_t)m * sizeof(float), SL_ALIGN);
    p.bytes = p.workers_at + (size_t)threads * p.worker_bytes;
    return p;
}

static char *worker_packed(const struct backward_pass *p, int worker)
{
    return p->base + p->workers_at + (size_t)worker * p->worker_bytes;
}

static float *worker_floats(const struct backward_pass *p, int worker)
{
    return (float *)(void *)(worker_packed(p, worker) + p->floats_at);
}

static char *dz_row_at(const struct backward_pass *p, int row)
{
    return p->base + (size_t)row * p->dz_stride * sl_type_bytes(p->n->tape->kernels->operand);
}

static char *dz_t_row_at(const struct backward_pass *p, int row)
{
    const size_t element = sl_type_bytes(p->n->tape->kernels->operand);
    return p->base + p->dz_t_at + (size_t)row * p->dz_t_stride * element;
}

/* One block of rows of dz = dy * slope and of its transpose, a chunk of columns at a time, so that
 * the chunk is still in the cache when it is transposed. */
static void dz_chunk(const struct backward_pass *p, int r0, int c0)
{
    const struct sl_node *n = p->n;
    const struct linear *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const size_t element = sl_type_bytes(k->operand), at = (size_t)c0 * element;
    int r1 = sl_min(r0 + BLOCK, n->out->rows), cols = sl_min(CHUNK, n->out->cols - c0);
    for (int r = r0; r < r1; r++) {
        const float *dy = sl_grad_row(n->out, r) + c0;
        if (a->slope)
            k->multiply_to_operands(dz_row_at(p, r) + at, dy, (char *)sl_row_any(a->slope, r) + at,
                                    cols);
        else
            k->to_operands(dz_row_at(p, r) + at, dy, cols);
    }
    k->transpose(dz_t_row_at(p, c0) + (size_t)r0 * element, p->dz_t_stride, dz_row_at(p, r0) + at,
                 p->dz_stride, r1 - r0, cols, r1 == n->out->rows);
}

static void backward_dz(void *ctx, int first, int last, int worker)
{
    const struct backward_pass *p = ctx;
    (void)worker;
    for (int block = first; block < last; block++)
        for (int c = 0; c < p->n->out->cols; c += CHUNK)
            dz_chunk(p, block * BLOCK, c);
}

/* dw += dz^T x for a group of rows and a chunk of columns. The chunk of x is packed here, so that
 * it is in this thread's cache for all rows. */
static void backward_dw(const struct backward_pass *p, int piece, int worker)
{
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_parameter *weight = n->parameter[WEIGHT];
    const struct sl_tensor *x = n->in[X];
    int c0 = piece % p->chunks * CHUNK, cols = sl_min(CHUNK, x->cols - c0);
    int first = piece / p->chunks * p->group_rows,
        rows = sl_min(p->group_rows, weight->rows - first);
    char *packed = worker_packed(p, worker);
    k->pack(packed, (char *)x->data + (size_t)c0 * sl_type_bytes(x->type), x->type, x->stride,
            false, x->rows, cols, 0, cols);
    struct sl_gemm g = {.x = dz_t_row_at(p, first),
                        .x_stride = p->dz_t_stride,
                        .packed = packed,
                        .y = weight->grad + (size_t)first * (size_t)weight->cols + c0,
                        .y_stride = (size_t)weight->cols,
                        .m = rows,
                        .n = cols,
                        .k = x->rows,
                        .accumulate = true};
    k->gemm(&g);
}

static void backward_db(const struct backward_pass *p, int block, int worker)
{
    const struct sl_node *n = p->n;
    float *spare = worker_floats(p, worker);
    int m = n->out->rows, last = sl_min((block + 1) * BLOCK, n->out->cols);
    for (int j = block * BLOCK; j < last; j++) {
        n->tape->kernels->from_operands(spare, dz_t_row_at(p, j), m);
        n->parameter[BIAS]->grad[j] += n->tape->kernels->sum(spare, m);
    }
}

static void backward_dx(const struct backward_pass *p, int block)
{
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_tensor *x = n->in[X];
    int first = block * BLOCK, last = sl_min(first + BLOCK, x->rows);
    struct sl_gemm g = {.x = dz_row_at(p, first),
                        .x_stride = p->dz_stride,
                        .packed = n->parameter[WEIGHT]->packed_back,
                        .y = sl_grad_row(x, first),
                        .y_stride = (size_t)x->cols,
                        .m = last - first,
                        .n = x->cols,
                        .k = n->out->cols,
                        .accumulate = !n->overwrite[X]};
    k->gemm(&g);
}

static void backward_pieces(void *ctx, int first, int last, int worker)
{
    const struct backward_pass *p = ctx;
    for (int i = first; i < last; i++) {
        if (i < p->dw_pieces)
            backward_dw(p, i, worker);
        else if (i < p->dw_pieces + p->db_pieces)
            backward_db(p, i - p->dw_pieces, worker);
        else
            backward_dx(p, i - p->dw_pieces - p->db_pieces);
    }
}

static void linear_backward(const struct sl_node *n)
{
    struct backward_pass p = backward_layout(n);
    p.base = sl_tape_scratch(n, p.bytes);
    if (n->out->rows == 0)
        return;
    sl_parallel_for(n->tape->pool, sl_ceil_div(n->out->rows, BLOCK), 1, backward_dz, &p);
    sl_parallel_for(n->tape->pool, p.dw_pieces + p.db_pieces + p.dx_pieces, 1, backward_pieces, &p);
}

static size_t linear_scratch(const struct sl_node *n, bool backward)
{
    if (backward)
        return backward_layout(n).bytes;
    return (size_t)sl_thread_pool_size(n->tape->pool) * forward_layout(n).stride;
}

static const struct sl_op linear = {.name = "linear",
                                    .scratch = linear_scratch,
                                    .forward = linear_forward,
                                    .backward = linear_backward};

/* Few rows cannot keep all threads busy: then columns are divided as well. */
static void divide(struct linear *a, int rows, int cols, int threads)
{
    a->blocks = sl_ceil_div(rows, BLOCK);
    bool enough = threads == 1 || a->blocks == 0 || a->blocks >= 2 * threads;
    int wanted = enough ? 1 : sl_ceil_div(4 * threads, a->blocks);
    int panels = sl_ceil_div(cols, SL_PANEL);
    a->columns = sl_ceil_div(panels, sl_min(wanted, sl_ceil_div(panels, 2))) * SL_PANEL;
    a->column_pieces = sl_ceil_div(cols, a->columns);
}

static struct sl_tensor *result_take(struct sl_tape *t, int rows, int cols, bool operand)
{
    return operand ? sl_operand_take(t, rows, cols) : sl_tensor_take(t, rows, cols);
}

static struct linear linear_of(struct sl_tape *t, const struct sl_tensor *x,
                               struct sl_linear_args args)
{
    struct linear a = {.activation = args.activation, .origin = args.origin};
    assert(args.weight->cols == x->cols);
    assert(args.weight->product);
    assert(!args.bias || args.bias->cols == args.weight->rows);
    if (t->training && args.dropout > 0.0f) {
        a.dropout = sl_dropout_of(args.dropout);
        a.random_key = sl_tape_random(t);
    }
    if (t->training && (args.activation != SL_LINEAR || a.dropout.threshold))
        a.slope = sl_operand_take(t, x->rows, args.weight->rows);
    divide(&a, x->rows, args.weight->rows, sl_thread_pool_size(t->pool));
    return a;
}

struct sl_tensor *sl_linear(struct sl_tape *t, struct sl_tensor *x, struct sl_linear_args args)
{
    struct linear *a = sl_tape_struct(t, 1, sizeof *a);
    struct sl_tensor *out = result_take(t, x->rows, args.weight->rows, args.operand);
    *a = linear_of(t, x, args);
    return sl_tape_run(t, (struct sl_node){.op = &linear,
                                           .out = out,
                                           .in = {x},
                                           .parameter = {args.weight, args.bias},
                                           .args = a});
}

/* -- groups of rows: the same for each group, one after another ---------------- */

struct linear_groups {
    struct sl_groups groups;
    struct linear all; /* as if they were one group */
};

/* A group as a node of its own. */
struct part {
    struct sl_node node;
    struct sl_tensor x, out, slope;
    struct linear args;
};

static struct sl_tensor part_of_rows(const struct sl_tensor *x, int first, int rows)
{
    struct sl_tensor part = *x;
    part.data = sl_row_any(x, first);
    part.grad = x->grad ? sl_grad_row(x, first) : NULL;
    part.rows = rows;
    return part;
}

static void part_init(struct part *p, const struct sl_node *n, int group)
{
    const struct linear_groups *a = n->args;
    int first = a->groups.first[group], rows = a->groups.first[group + 1] - first;
    p->node = *n;
    p->args = a->all;
    p->x = part_of_rows(n->in[X], first, rows);
    p->out = part_of_rows(n->out, first, rows);
    p->node.in[X] = &p->x;
    p->node.out = &p->out;
    p->node.args = &p->args;
    p->node.parameter[WEIGHT] = a->groups.each[group].weight;
    p->node.parameter[BIAS] = a->groups.each[group].bias;
    p->args.origin = a->all.origin ? a->all.origin + first : NULL;
    /* A row in several groups has a different dropout mask in each. */
    p->args.random_key = sl_random_bits(a->all.random_key, (uint64_t)group);
    if (a->all.slope) {
        p->slope = part_of_rows(a->all.slope, first, rows);
        p->args.slope = &p->slope;
    }
    divide(&p->args, rows, n->out->cols, sl_thread_pool_size(n->tape->pool));
}

static void each_group(const struct sl_node *n, void (*run)(const struct sl_node *n))
{
    const struct linear_groups *a = n->args;
    assert(a->groups.first[a->groups.count] == n->out->rows);
    for (int g = 0; g < a->groups.count; g++) {
        size_t mark = sl_arena_mark(&n->tape->arena);
        struct part part;
        if (a->groups.first[g] == a->groups.first[g + 1])
            continue;
        part_init(&part, n, g);
        run(&part.node);
        sl_arena_rewind(&n->tape->arena, mark);
    }
}

static void groups_forward(const struct sl_node *n)
{
    each_group(n, linear_forward);
}

static void groups_backward(const struct sl_node *n)
{
    each_group(n, linear_backward);
}

/* Most scratch memory is taken when all rows are in one group. */
static const struct sl_op linear_groups = {.name = "linear_groups",
                                           .scratch = linear_scratch,
                                           .forward = groups_forward,
                                           .backward = groups_backward};

struct sl_tensor *sl_linear_groups(struct sl_tape *t, struct sl_tensor *x, struct sl_groups groups,
                                   struct sl_linear_args args)
{
    args.weight = groups.each[0].weight;
    args.bias = groups.each[0].bias;
    struct linear_groups *a = sl_tape_struct(t, 1, sizeof *a);
    struct sl_tensor *out = result_take(t, x->rows, args.weight->rows, args.operand);
    *a = (struct linear_groups){.groups = groups, .all = linear_of(t, x, args)};
    return sl_tape_run(t, (struct sl_node){.op = &linear_groups,
                                           .out = out,
                                           .in = {x},
                                           .parameter = {args.weight, args.bias},
                                           .args = a});
}
