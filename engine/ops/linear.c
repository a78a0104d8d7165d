/* linear.c - y = dropout(f(x w^T + b)): the matrix product that takes most of the time; also with a
 * separate w and b for each group of rows, and added to the residual stream.
 *
 * Everything is one kernel: a row block of operands times a packed matrix. Forward, B = w^T, packed
 * once per version. For dx = dz w, B = w. For dw = dz^T x, the rows are those of dz^T and B is x,
 * both packed here. Row blocks are small enough that block, packed panel and result stay in the L2
 * cache while bias, activation and rounding are applied. */
#include "ops/linear.h"

#include "base/random.h"

#include <string.h>

enum { X = SL_LINEAR_X, WEIGHT = SL_LINEAR_WEIGHT, BIAS = SL_LINEAR_BIAS };

enum { BLOCK = SL_LINEAR_ROWS, CHUNK = SL_LINEAR_COLUMNS };

/* Rows for which another thread is worth waking to quantize them; and rows that kernels compute
 * together at best, so blocks have a multiple of them. */
enum { QUANTIZED = 16, GRANULE = 32 };

_Static_assert(BLOCK % GRANULE == 0, "so even blocks have at most BLOCK rows");

/* -- blocks of rows ----------------------------------------------------------------------- */

/* As even as granules allow: so threads that have the same number of blocks finish together. */
static int block_begin(const struct sl_linear *a, int rows, int block)
{
    const int64_t granules = sl_ceil_div(rows, GRANULE);
    return sl_min((int)(granules * block / a->blocks) * GRANULE, rows);
}

/* The block that has a row. */
static int block_of(const struct sl_linear *a, int rows, int row)
{
    const int64_t granules = sl_ceil_div(rows, GRANULE);
    return (int)(((int64_t)(row / GRANULE + 1) * a->blocks - 1) / granules);
}

/* -- forward ------------------------------------------------------------------------------ */

/* One worker's memory: a block of x, as operands or as int8 and their groups, and a block of
 * results. Before that of all workers: blocks of x as int8, if several workers read each. */
struct forward_scratch {
    char *shared, *base;
    size_t shared_bytes, stride, x_bytes;
};

/* Products become results where they are. */
static bool is_direct(const struct sl_node *n)
{
    const struct sl_linear *a = n->args;
    return n->out->type == SL_F32 && !a->adds;
}

/* Not a multiple of 1 KiB, as sl_operand_stride. */
static size_t int8_stride(const struct sl_node *n)
{
    const size_t padded = sl_round_up((size_t)n->in[X]->cols, SL_INT8_STEP);
    return padded % 1024 == 0 ? padded + SL_INT8_STEP : padded;
}

/* Of a row as int8. */
static int groups_of(const struct sl_node *n)
{
    return sl_int8_groups(n->in[X]->cols, n->tape->kernels->int8_group);
}

static size_t block_operand_bytes(const struct sl_node *n)
{
    const struct sl_kernels *k = n->tape->kernels;
    if (n->parameter[WEIGHT]->int8)
        return BLOCK * (int8_stride(n) + (size_t)groups_of(n) * sizeof(struct sl_int8_group));
    return BLOCK * sl_operand_stride(k, n->in[X]->cols) * sl_type_bytes(k->operand);
}

static struct forward_scratch forward_layout(const struct sl_node *n)
{
    size_t x_bytes = sl_round_up(block_operand_bytes(n), SL_ALIGN);
    size_t y_bytes = is_direct(n) ? 0 : (size_t)BLOCK * CHUNK * sizeof(float);
    /* Columns are only divided among workers if there are fewer blocks than this. */
    int blocks = sl_min(sl_ceil_div(n->in[X]->rows, BLOCK), 2 * sl_thread_pool_size(n->tape->pool));
    return (struct forward_scratch){.shared_bytes =
                                        n->parameter[WEIGHT]->int8 ? (size_t)blocks * x_bytes : 0,
                                    .stride = x_bytes + sl_round_up(y_bytes, SL_ALIGN),
                                    .x_bytes = x_bytes};
}

static size_t forward_bytes(const struct sl_node *n)
{
    const struct forward_scratch layout = forward_layout(n);
    return layout.shared_bytes + (size_t)sl_thread_pool_size(n->tape->pool) * layout.stride;
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

/* Behind the rows of a block as int8. */
static struct sl_int8_group *groups_at(const struct sl_node *n, char *memory)
{
    return (struct sl_int8_group *)(void *)(memory + BLOCK * int8_stride(n));
}

/* A row of the batch as row `at` of a block. */
static void quantize(const struct sl_node *n, int row, int at, char *memory)
{
    const struct sl_tensor *x = n->in[X];
    int8_t *to = (int8_t *)memory;
    const struct sl_kernels *k = n->tape->kernels;
    struct sl_int8_group *groups = groups_at(n, memory);
    k->quantize(to + (size_t)at * int8_stride(n), groups + (size_t)at * (size_t)groups_of(n),
                sl_row_any(x, row), x->type, x->cols, k->int8_group);
}

static char *shared_block(const struct forward_pass *pass, int block)
{
    return pass->scratch.shared + (size_t)block * pass->scratch.x_bytes;
}

static void quantize_shared(void *ctx, int first, int last, int worker)
{
    const struct forward_pass *pass = ctx;
    const struct sl_linear *a = pass->n->args;
    const int rows = pass->n->in[X]->rows;
    (void)worker;
    for (int row = first; row < last; row++) {
        const int block = block_of(a, rows, row);
        quantize(pass->n, row, row - block_begin(a, rows, block), shared_block(pass, block));
    }
}

/* Bias, activation, dropout and rounding of columns c0..c1 of one row, whose products are in y. */
// NOLINTNEXTLINE(readability-non-const-parameter): y is written over unless there is f.out
static void epilogue_row(const struct sl_node *n, int row, float *y, int c0, int c1)
{
    const struct sl_linear *a = n->args;
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
        f.row_key = sl_dropout_row_key(n->view, a->random_key, a->origin ? a->origin[row] : row);
    if (f.out || f.slope || f.bias || f.activation != SL_LINEAR)
        n->tape->kernels->epilogue(&f);
}

/* Columns c0..c1 of a packed matrix are a packed matrix: panels lie one after another. */
static const char *panels_from(const struct sl_node *n, const struct sl_parameter *weight, int c0)
{
    const size_t before = c0 ? n->tape->kernels->pack_bytes(weight->cols, c0) : 0;
    if (weight->int8)
        return (const char *)weight->packed +
               sl_int8_bytes(weight->cols, c0, n->tape->kernels->int8_group);
    return (const char *)weight->packed + (weight->compact ? before / 2 : before);
}

/* The products of a block of rows. */
static void multiply(const struct sl_node *n, struct sl_gemm *g, int c0, int c1, float *y,
                     size_t y_stride)
{
    const struct sl_parameter *weight = n->parameter[WEIGHT];
    const struct sl_kernels *k = n->tape->kernels;
    g->packed = panels_from(n, weight, c0);
    g->compact = weight->compact;
    g->n = c1 - c0;
    g->y = y;
    g->y_stride = y_stride;
    if (weight->int8)
        k->int8_gemm(g);
    else
        k->gemm(g);
}

/* Adds a row of results to the residual stream. */
static void add_row(const struct sl_node *n, int row, const float *y, int c0, int c1)
{
    const struct sl_residual_rows *to = ((const struct sl_linear *)n->args)->adds;
    const float factor = to->gates ? to->scale * to->gates[row] : to->scale;
    n->tape->kernels->axpy(sl_row(n->out, to->rows ? to->rows[row] : row) + c0, factor, y, c1 - c0);
}

/* Columns c0..c1 of the block whose first row is `row`. spare: a block of a chunk. */
static void forward_chunk(const struct sl_node *n, struct sl_gemm *g, int row, int c0, int c1,
                          float *spare)
{
    const struct sl_linear *a = n->args;
    const bool direct = is_direct(n);
    const int rows = g->m;
    const size_t stride = direct ? n->out->stride : CHUNK;
    float *y = direct ? sl_row(n->out, row) + c0 : spare;
    multiply(n, g, c0, c1, y, stride);
    for (int r = 0; r < rows; r++, y += stride) {
        epilogue_row(n, row + r, y, c0, c1);
        if (a->adds)
            add_row(n, row + r, y, c0, c1);
    }
}

/* Whether the matrix product writes results, not sums. */
static bool is_fused(const struct sl_node *n)
{
    const struct sl_linear *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const bool can = n->parameter[WEIGHT]->int8 ? k->int8_fuses_epilogue : k->fuses_epilogue;
    return can && !a->slope && !a->dropout.threshold;
}

/* The same, all by the matrix product. */
static void forward_fused(const struct sl_node *n, struct sl_gemm *g, int row, int c0, int c1)
{
    const struct sl_linear *a = n->args;
    const struct sl_parameter *bias = n->parameter[BIAS];
    const struct sl_tensor *out = n->out;
    struct sl_gemm_epilogue e = {.bias = bias ? bias->data + c0 : NULL,
                                 .activation = a->activation};
    g->epilogue = &e;
    if (out->type != SL_F32) {
        e.out = sl_columns(out, row, c0);
        e.out_stride = out->stride;
        multiply(n, g, c0, c1, NULL, 0);
        return;
    }
    g->accumulate = a->adds;
    if (a->adds) {
        e.scale = a->adds->scale;
        e.rows = a->adds->rows ? a->adds->rows + row : NULL;
        e.gates = a->adds->gates ? a->adds->gates + row : NULL;
    }
    const int first = a->adds && a->adds->rows ? 0 : row;
    multiply(n, g, c0, c1, sl_row(out, first) + c0, out->stride);
}

static void forward_piece(const struct forward_pass *pass, int piece, int worker)
{
    const struct sl_node *n = pass->n;
    const struct sl_linear *a = n->args;
    const int block = piece / a->column_pieces, rows = n->in[X]->rows;
    const int first = block_begin(a, rows, block), last = block_begin(a, rows, block + 1);
    int c0 = piece % a->column_pieces * a->columns, c1 = sl_min(c0 + a->columns, n->out->cols);
    char *scratch = pass->scratch.base + (size_t)worker * pass->scratch.stride;
    float *spare = (float *)(void *)(scratch + pass->scratch.x_bytes);
    struct sl_gemm g = {.m = last - first, .k = n->in[X]->cols, .is_far = a->blocks == 1};
    if (n->parameter[WEIGHT]->int8) {
        const bool shared = a->column_pieces > 1;
        char *memory = shared ? shared_block(pass, block) : scratch;
        for (int row = first; !shared && row < last; row++)
            quantize(n, row, row - first, memory);
        g.x = memory;
        g.x_stride = int8_stride(n);
        g.int8_groups = groups_at(n, memory);
        g.int8_group = n->tape->kernels->int8_group;
    } else {
        g.x = block_operands(n, first, last, scratch, &g.x_stride);
    }
    if (is_fused(n))
        forward_fused(n, &g, first, c0, c1);
    for (int c = c0; !is_fused(n) && c < c1; c += CHUNK)
        forward_chunk(n, &g, first, c, sl_min(c + CHUNK, c1), spare);
}

static void forward_pieces(void *ctx, int first, int last, int worker)
{
    for (int i = first; i < last; i++)
        forward_piece(ctx, i, worker);
}

static void linear_forward(const struct sl_node *n)
{
    const struct sl_linear *a = n->args;
    struct forward_pass pass = {.n = n, .scratch = forward_layout(n)};
    pass.scratch.shared = sl_tape_scratch(n, forward_bytes(n));
    pass.scratch.base = pass.scratch.shared + pass.scratch.shared_bytes;
    if (n->parameter[WEIGHT]->int8 && a->column_pieces > 1)
        sl_parallel_for(n->tape->pool, n->in[X]->rows, QUANTIZED, quantize_shared, &pass);
    sl_parallel_for(n->tape->pool, a->blocks * a->column_pieces, 1, forward_pieces, &pass);
}

/* -- the op -------------------------------------------------------------------------------- */

static size_t linear_scratch(const struct sl_node *n, bool backward)
{
    if (backward)
        return sl_linear_backward_scratch(n);
    return forward_bytes(n);
}

static const struct sl_op linear = {.name = "linear",
                                    .scratch = linear_scratch,
                                    .forward = linear_forward,
                                    .backward = sl_linear_backward};

/* All threads have the same number of blocks. Few rows cannot keep them busy: then columns are
 * divided as well. */
static void divide(struct sl_linear *a, int rows, int cols, int threads)
{
    a->blocks = sl_ceil_div(rows, BLOCK);
    if (a->blocks > threads)
        a->blocks = sl_ceil_div(a->blocks, threads) * threads;
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

static struct sl_linear linear_of(struct sl_tape *t, const struct sl_tensor *x,
                                  struct sl_linear_args args)
{
    struct sl_linear a = {.activation = args.activation, .origin = args.origin};
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

static struct sl_tensor *run_linear(struct sl_tape *t, struct sl_tensor *out, struct sl_tensor *x,
                                    struct sl_linear_args args, struct sl_residual_rows *adds)
{
    struct sl_linear *a = sl_tape_struct(t, 1, sizeof *a);
    *a = linear_of(t, x, args);
    a->adds = adds;
    return sl_tape_run(t, (struct sl_node){.op = &linear,
                                           .out = out,
                                           .in = {x},
                                           .parameter = {args.weight, args.bias},
                                           .args = a});
}

struct sl_tensor *sl_linear(struct sl_tape *t, struct sl_tensor *x, struct sl_linear_args args)
{
    return run_linear(t, result_take(t, x->rows, args.weight->rows, args.operand), x, args, NULL);
}

struct sl_tensor *sl_linear_residual(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *x,
                                     struct sl_linear_args args, struct sl_residual_args update)
{
    if (t->training)
        return sl_residual(t, h, sl_linear(t, x, args), update);
    assert(args.weight->rows == h->cols);
    assert(x->rows == (update.rows ? update.rows->count : h->rows));
    struct sl_residual_rows *adds = sl_tape_struct(t, 1, sizeof *adds);
    *adds = (struct sl_residual_rows){.rows = update.rows ? update.rows->index : NULL,
                                      .gates = update.gate ? update.gate->data : NULL,
                                      .scale = update.scale > 0.0f ? update.scale : 1.0f};
    assert(!update.gate || (update.gate->rows == x->rows && update.gate->stride == 1));
    return run_linear(t, h, x, args, adds);
}

/* -- groups of rows: the same for each group, one after another ---------------- */

struct linear_groups {
    struct sl_groups groups;
    struct sl_linear all; /* as if they were one group */
};

/* A group as a node of its own. */
struct part {
    struct sl_node node;
    struct sl_tensor x, out, slope;
    struct sl_linear args;
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
    each_group(n, sl_linear_backward);
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
