/* linear_backward.c - the gradients of linear.c: dx = dz w, dw = dz^T x and db = sum of dz's rows,
 * with dz = dy times the slope through activation and dropout. */
#include "ops/linear.h"

enum { X = SL_LINEAR_X, WEIGHT = SL_LINEAR_WEIGHT, BIAS = SL_LINEAR_BIAS };

enum { BLOCK = SL_LINEAR_ROWS, CHUNK = SL_LINEAR_COLUMNS };

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
    const struct sl_linear *a = n->args;
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

void sl_linear_backward(const struct sl_node *n)
{
    struct backward_pass p = backward_layout(n);
    p.base = sl_tape_scratch(n, p.bytes);
    if (n->out->rows == 0)
        return;
    sl_parallel_for(n->tape->pool, sl_ceil_div(n->out->rows, BLOCK), 1, backward_dz, &p);
    sl_parallel_for(n->tape->pool, p.dw_pieces + p.db_pieces + p.dx_pieces, 1, backward_pieces, &p);
}

size_t sl_linear_backward_scratch(const struct sl_node *n)
{
    return backward_layout(n).bytes;
}
