/* tape.c - runs operations, records them while training, and computes gradients. */
#include "autograd/tape.h"

#include "base/int_math.h"
#include "base/random.h"

#include <string.h>

/* Address space for structs and lists of rows. Their number depends on the texts, so no dry run can
 * give it. Untouched pages cost nothing. */
enum { STRUCT_BYTES = 1 << 22, NODES_MAX = 16384 };

bool sl_tape_init(struct sl_tape *t, const struct sl_kernels *kernels, struct sl_thread_pool *pool,
                  size_t arena_bytes, struct sl_err *err)
{
    *t = (struct sl_tape){.kernels = kernels, .pool = pool};
    if (!sl_arena_init_growing(&t->structs, STRUCT_BYTES, err))
        return sl_wrap(err, "tape");
    if (arena_bytes == 0) {
        sl_arena_dry(&t->arena);
        return true;
    }
    if (sl_arena_init(&t->arena, arena_bytes, err))
        return true;
    sl_tape_release(t);
    return sl_wrap(err, "tape");
}

void sl_tape_release(struct sl_tape *t)
{
    sl_arena_release(&t->arena);
    sl_arena_release(&t->structs);
}

const struct sl_view *sl_tape_view(struct sl_tape *t, const struct sl_batch *batch)
{
    struct sl_view *view = sl_tape_struct(t, 1, sizeof *view);
    view->batch = batch;
    view->row_position = sl_tape_struct(t, (size_t)batch->rows, sizeof *view->row_position);
    view->row_sequence = sl_tape_struct(t, (size_t)batch->rows, sizeof *view->row_sequence);
    int row = 0;
    for (int s = 0; s < batch->count; s++) {
        const struct sl_sequence *sequence = &batch->sequences[s];
        assert(sequence->first == row);
        assert(sequence->rows > 0);
        for (int i = 0; i < sequence->rows; i++, row++) {
            view->row_position[row] = sequence->position + i;
            view->row_sequence[row] = s;
        }
    }
    assert(row == batch->rows);
    return view;
}

void sl_tape_begin(struct sl_tape *t, const struct sl_batch *batch, bool training)
{
    assert(training || t->policy);
    sl_arena_rewind(&t->arena, 0);
    sl_arena_rewind(&t->structs, 0);
    t->training = training;
    t->stats = (struct sl_forward_stats){.layers_used = t->stats.layers_used,
                                         .routing = t->stats.routing,
                                         .routing_parts = t->stats.routing_parts};
    t->random_site = 0;
    t->count = 0;
    t->spare_count = 0;
    t->nodes = training ? sl_arena_take(&t->structs, NODES_MAX, sizeof *t->nodes) : NULL;
    t->view = sl_tape_view(t, batch);
}

static struct sl_tensor *tensor_take(struct sl_tape *t, int rows, int cols, enum sl_type type,
                                     size_t stride)
{
    assert(rows >= 0);
    assert(cols > 0);
    struct sl_tensor *x = sl_tape_struct(t, 1, sizeof *x);
    *x = (struct sl_tensor){
        .data =
            sl_arena_take(&t->arena, sl_size_product((size_t)rows, stride), sl_type_bytes(type)),
        .stride = stride,
        .rows = rows,
        .cols = cols,
        .type = type,
        .needs_grad = t->training,
    };
    return x;
}

struct sl_tensor *sl_tensor_take(struct sl_tape *t, int rows, int cols)
{
    return tensor_take(t, rows, cols, SL_F32, (size_t)cols);
}

struct sl_tensor *sl_operand_take(struct sl_tape *t, int rows, int cols)
{
    return tensor_take(t, rows, cols, t->kernels->operand, sl_operand_stride(t->kernels, cols));
}

void *sl_tape_take(struct sl_tape *t, size_t count, size_t size)
{
    return sl_arena_take(&t->arena, count, size);
}

void *sl_tape_struct(struct sl_tape *t, size_t count, size_t size)
{
    void *p = sl_arena_take(&t->structs, count, size);
    memset(p, 0, sl_size_product(count, size));
    return p;
}

void *sl_tape_scratch(const struct sl_node *n, size_t bytes)
{
    return sl_arena_take(&n->tape->arena, bytes, 1);
}

void sl_node_parallel(const struct sl_node *n, int count, int grain,
                      void (*f)(void *ctx, int first, int last, int worker))
{
    struct sl_node copy = *n;
    sl_parallel_for(n->tape->pool, count, grain, f, &copy);
}

/* ---- passes over rows ------------------------------------------------------------------------ */

enum { GRAIN = 16, BLOCK = 64 }; /* BLOCK: rows that are summed together */

struct row_pass {
    const struct sl_node *n;
    sl_row_pass *pass;
    char *spare; /* of all threads */
    float *sums; /* of all blocks, or NULL */
    size_t spare_bytes, sum_floats;
};

/* Of a thread. */
static size_t spare_bytes(const struct sl_node *n)
{
    if (n->op->spare_bytes)
        return sl_round_up(n->op->spare_bytes(n, n->is_backward), SL_ALIGN);
    return n->op->spare_rows ? (size_t)n->op->spare_rows * (size_t)n->in[0]->cols * sizeof(float)
                             : 0;
}

static size_t sum_floats(const struct sl_node *n)
{
    size_t floats = 0;
    for (int i = 0; i < SL_NODE_PARAMETERS; i++)
        floats += n->parameter[i] ? (size_t)n->in[0]->cols : 0;
    return floats;
}

static bool has_sums(const struct sl_node *n)
{
    return n->op->sums && n->is_backward;
}

static void take_row_scratch(struct row_pass *p, int count)
{
    const struct sl_node *n = p->n;
    const size_t threads = (size_t)sl_thread_pool_size(n->tape->pool);
    p->spare_bytes = spare_bytes(n);
    p->spare = sl_tape_scratch(n, threads * p->spare_bytes);
    if (!has_sums(n))
        return;
    p->sum_floats = sum_floats(n);
    p->sums = sl_tape_scratch(n, (size_t)sl_ceil_div(count, BLOCK) * p->sum_floats * sizeof(float));
}

static void pass_rows(void *ctx, int first, int last, int worker)
{
    const struct row_pass *p = ctx;
    struct sl_node n = *p->n;
    n.spare = p->spare + (size_t)worker * p->spare_bytes;
    if (p->sums) {
        n.sums = p->sums + (size_t)(first / BLOCK) * p->sum_floats;
        memset(n.sums, 0, p->sum_floats * sizeof *n.sums);
    }
    for (int row = first; row < last; row++)
        p->pass(&n, row);
}

static void add_sums(const struct sl_node *n, const float *sums, int blocks)
{
    const int cols = n->in[0]->cols;
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < SL_NODE_PARAMETERS; i++)
            if (n->parameter[i]) {
                n->tape->kernels->axpy(n->parameter[i]->grad, 1.0f, sums, cols);
                sums += cols;
            }
}

void sl_node_rows(const struct sl_node *n, int count, sl_row_pass *pass)
{
    const int grain = n->op->grain ? n->op->grain : GRAIN;
    const size_t mark = sl_arena_mark(&n->tape->arena);
    struct row_pass p = {.n = n, .pass = pass};
    take_row_scratch(&p, count);
    sl_parallel_for(n->tape->pool, count, has_sums(n) ? BLOCK : grain, pass_rows, &p);
    if (has_sums(n))
        add_sums(n, p.sums, sl_ceil_div(count, BLOCK));
    sl_arena_rewind(&n->tape->arena, mark);
}

/* Those of a direction that is nothing else. */
static int rows_of(const struct sl_node *n)
{
    return n->out ? n->out->rows : n->in[0]->rows;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void count_scratch(const struct sl_node *n)
{
    struct row_pass counted = {.n = n};
    (void)sl_tape_scratch(n, n->op->scratch ? n->op->scratch(n, n->is_backward) : 0);
    take_row_scratch(&counted, rows_of(n));
}

/* Runs one direction with scratch memory around it; a dry run only counts the scratch. */
static void run(const struct sl_node *n)
{
    struct sl_tape *t = n->tape;
    const struct sl_op *op = n->op;
    void (*all)(const struct sl_node *n) = n->is_backward ? op->backward : op->forward;
    size_t mark = sl_arena_mark(&t->arena);
    if (sl_tape_is_dry(t))
        count_scratch(n);
    else if (all)
        all(n);
    else
        sl_node_rows(n, rows_of(n), n->is_backward ? op->backward_row : op->forward_row);
    sl_arena_rewind(&t->arena, mark);
}

struct sl_tensor *sl_tape_run(struct sl_tape *t, struct sl_node node)
{
    node.tape = t;
    node.view = t->view;
    run(&node);
    if (t->training) {
        assert(t->count < NODES_MAX);
        t->nodes[t->count++] = node;
    }
    return node.out;
}

/* Memory for a gradient. Reuses one that was freed, which is still in the CPU's cache. */
static float *gradient_take(struct sl_tape *t, size_t floats)
{
    for (int i = t->spare_count - 1; i >= 0; i--) {
        if (t->spare[i].floats != floats)
            continue;
        float *data = t->spare[i].data;
        t->spare[i] = t->spare[--t->spare_count];
        return data;
    }
    return sl_arena_take(&t->arena, floats, sizeof(float));
}

static size_t gradient_floats(const struct sl_tensor *x)
{
    return sl_size_product((size_t)x->rows, (size_t)x->cols);
}

static void gradient_give_back(struct sl_tape *t, struct sl_tensor *x)
{
    const int room = (int)(sizeof t->spare / sizeof t->spare[0]);
    if (t->spare_count < room) {
        t->spare[t->spare_count].floats = gradient_floats(x);
        t->spare[t->spare_count++].data = x->grad;
    }
    x->grad = NULL;
}

static void open_gradients(struct sl_node *n)
{
    struct sl_tape *t = n->tape;
    for (int i = 0; i < SL_NODE_INPUTS; i++) {
        struct sl_tensor *x = n->in[i];
        n->overwrite[i] = x && x->needs_grad && !x->grad;
        if (!n->overwrite[i])
            continue;
        if (n->op->passes == i + 1) {
            assert(x->rows == n->out->rows);
            assert(x->cols == n->out->cols);
            x->grad = n->out->grad;
            continue;
        }
        x->grad = gradient_take(t, gradient_floats(x));
        if (sl_tape_is_dry(t))
            x->grad = &t->dry_gradient;
    }
}

void sl_tape_backward(struct sl_tape *t)
{
    assert(t->training);
    for (int i = t->count - 1; i >= 0; i--) {
        struct sl_node *n = &t->nodes[i];
        if (n->out && !n->out->grad)
            continue; /* the loss does not depend on it */
        open_gradients(n);
        n->is_backward = true;
        run(n);
        bool passed = n->op->passes && n->in[n->op->passes - 1]->grad == n->out->grad;
        if (n->out && !passed)
            gradient_give_back(t, n->out);
    }
}

size_t sl_tape_mark(const struct sl_tape *t)
{
    return sl_arena_mark(&t->arena);
}

void sl_tape_forget(struct sl_tape *t, size_t mark)
{
    if (!t->training)
        sl_arena_rewind(&t->arena, mark);
}

uint64_t sl_tape_random(struct sl_tape *t)
{
    return sl_random_bits(t->random_key, t->random_site++);
}

void sl_forward_stats_add(struct sl_forward_stats *sum, const struct sl_forward_stats *pass)
{
    sum->loss += pass->loss;
    sum->aux_loss += pass->aux_loss;
    sum->gate_sum += pass->gate_sum;
    sum->gate_count += pass->gate_count;
    sum->active_sum += pass->active_sum;
    sum->active_count += pass->active_count;
    sum->depth_sum += pass->depth_sum;
    sum->depth_count += pass->depth_count;
    sum->first_depth += pass->first_depth;
}

void sl_stats_add_layer(struct sl_tape *t, const struct sl_rows *rows)
{
    int32_t *used = t->stats.layers_used;
    if (!used || sl_tape_is_dry(t))
        return;
    const int32_t *origin = t->view->origin;
    int count = rows ? rows->count : t->view->batch->rows;
    for (int i = 0; i < count; i++) {
        const int row = sl_rows_at(rows, i);
        used[origin ? origin[row] : row]++;
    }
}

void sl_stats_set_routing(struct sl_tape *t, int row, int part, float weight)
{
    const struct sl_forward_stats *stats = &t->stats;
    assert(stats->routing);
    size_t at = (size_t)(t->view->origin ? t->view->origin[row] : row);
    stats->routing[at * (size_t)stats->routing_parts + (size_t)part] = weight;
}
