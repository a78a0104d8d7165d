/* batch_runner.c - cuts batches into pieces and runs them on threads. */
#include "infer/batch_runner.h"

#include "base/int_math.h"
#include "base/thread_pool.h"

#include <string.h>

enum {
    PIECE_FEATURES = 1 << 17, /* of the residual stream; what a layer adds to it fits 2 MiB */
    SHARED_ROWS = 256, /* with fewer rows for each, reading all weights on all cores costs more */
    NARROW = 128
};

/* ---- memory ---------------------------------------------------------------------------------- */

/* Numbers of a row of the results; 0: the model has no such output. */
static int output_size(const struct sl_model *m, enum sl_output output)
{
    if (sl_task_generates(m->config.task))
        return output == SL_OUTPUT_TEXT ? m->config.vocab : 0;
    return m->info.output_size[output];
}

/* Whether the results have a row for each wanted row of the batch, not for each sequence. */
static bool has_rows(const struct sl_model *m, enum sl_output output)
{
    return sl_task_generates(m->config.task) || output == SL_OUTPUT_TOKENS ||
           output == SL_OUTPUT_MASKED;
}

static size_t results_most(const struct sl_model *m, struct sl_batch_limits limits)
{
    size_t most = 0;
    for (int o = 0; o < SL_OUTPUTS; o++) {
        const enum sl_output output = (enum sl_output)o;
        const int all = has_rows(m, output) ? limits.rows : limits.sequences;
        const int rows = sl_min(all, sl_model_rows_max(&m->info, output));
        const size_t floats = sl_size_product((size_t)rows, (size_t)output_size(m, output));
        most = floats > most ? floats : most;
    }
    return most;
}

static size_t routing_floats(const struct sl_batch_runner *r, int rows)
{
    return sl_size_product((size_t)rows, (size_t)r->model->info.routes);
}

static void take(struct sl_batch_runner *r, struct sl_arena *a, struct sl_batch_limits limits)
{
    const size_t rows = (size_t)limits.rows, sequences = (size_t)limits.sequences;
    r->workers = sl_arena_take(a, (size_t)r->threads, sizeof *r->workers);
    r->pieces = sl_arena_take(a, sequences + 1, sizeof *r->pieces);
    r->sequences = sl_arena_take(a, sequences, sizeof *r->sequences);
    r->wanted = sl_arena_take(a, rows + (size_t)limits.context, sizeof *r->wanted);
    r->layers_used = sl_arena_take(a, rows, sizeof *r->layers_used);
    r->routing = sl_arena_take(a, routing_floats(r, limits.rows), sizeof *r->routing);
    r->results = sl_arena_take(a, results_most(r->model, limits), sizeof *r->results);
}

/* The batches of a narrow model are small, too. Then threads that share every op waste less: none
 * waits for another that had to leave its core to a network thread. */
static int rows_of_piece(const struct sl_model *m, enum sl_part part)
{
    const bool narrow = m->config.width < NARROW || m->config.depth == 0 || part == SL_PART_FIRST;
    return narrow ? SL_BATCH_ROWS_MAX : PIECE_FEATURES / m->config.width;
}

/* The memory of this piece, as far as it may have this output. */
static void measure_output(struct sl_batch_runner *r, struct sl_tape *dry,
                           const struct sl_batch *piece, enum sl_output output)
{
    const int rows_max = sl_model_rows_max(&r->model->info, output);
    struct sl_rows listed = {r->wanted, sl_min(piece->rows, rows_max)};
    struct sl_batch batch = *piece;
    batch.output = output;
    batch.part = r->part;
    if (sl_task_generates(r->model->config.task) ||
        output == SL_OUTPUT_MASKED) { /* logits of listed rows need copies */
        for (int i = 0; i < listed.count; i++)
            r->wanted[i] = i;
        batch.wanted = &listed;
    }
    if (output == SL_OUTPUT_SPARSE && batch.count > rows_max) {
        batch.count = rows_max;
        batch.rows = batch.sequences[rows_max].first;
    }
    sl_tape_begin(dry, &batch, false);
    (void)sl_model_forward(r->model, dry);
}

/* The memory of a piece of so many sequences, as many of them as possible as long as the longest.
 * The first always is, so the measured piece may have a few more rows than a real one. */
static void measure_piece(struct sl_batch_runner *r, struct sl_tape *dry,
                          struct sl_batch_limits limits, int sequences)
{
    struct sl_cache cache = {.capacity = limits.cache_capacity};
    struct sl_batch batch = {.sequences = r->sequences};
    while (batch.count < sequences) {
        const int others = sequences - batch.count - 1, left = limits.rows - batch.rows - others;
        const int rows = batch.count == 0 ? limits.context : sl_min(left, limits.context);
        r->sequences[batch.count++] =
            (struct sl_sequence){.first = batch.rows,
                                 .rows = rows < 1 ? 1 : rows,
                                 .cache = limits.cache_capacity ? &cache : NULL};
        batch.rows += rows < 1 ? 1 : rows;
    }
    for (int o = 0; o < SL_OUTPUTS; o++)
        if (output_size(r->model, (enum sl_output)o) > 0)
            measure_output(r, dry, &batch, (enum sl_output)o);
}

/* Most memory is needed either by the longest sequences, or by one long and as many short ones as
 * fit. */
static bool measure(struct sl_batch_runner *r, struct sl_batch_limits limits,
                    struct sl_thread_pool *pool, size_t *bytes, struct sl_err *err)
{
    struct sl_tape dry;
    struct sl_batch_limits piece = limits;
    if (!sl_tape_init(&dry, r->model->kernels, pool, 0, err))
        return false;
    dry.policy = r->policy;
    piece.rows = sl_min(limits.rows, r->piece_rows + limits.context);
    piece.context = sl_min(limits.context, piece.rows);
    measure_piece(r, &dry, piece, sl_min(sl_ceil_div(piece.rows, piece.context), limits.sequences));
    measure_piece(r, &dry, piece, sl_min(piece.rows, limits.sequences));
    *bytes = dry.arena.peak > *bytes ? dry.arena.peak : *bytes;
    sl_tape_release(&dry);
    return true;
}

static bool start_workers(struct sl_batch_runner *r, struct sl_batch_limits limits,
                          struct sl_err *err)
{
    const struct sl_kernels *kernels = r->model->kernels;
    size_t bytes = 0;
    for (int i = 0; i < r->threads; i++) {
        r->workers[i].alone = sl_thread_pool_create(1, err);
        if (!r->workers[i].alone)
            return false;
    }
    if (!measure(r, limits, r->pool, &bytes, err) ||
        !measure(r, limits, r->workers->alone, &bytes, err))
        return false;
    for (int i = 0; i < r->threads; i++) {
        if (!sl_tape_init(&r->workers[i].tape, kernels, r->pool, bytes, err))
            return false;
        r->workers[i].tape.policy = r->policy;
    }
    return true;
}

bool sl_batch_runner_init(struct sl_batch_runner *r, const struct sl_model *model,
                          const struct sl_policy *policy, struct sl_batch_limits limits,
                          struct sl_err *err)
{
    struct sl_arena dry;
    *r = (struct sl_batch_runner){
        .model = model,
        .policy = policy,
        .piece_rows = limits.piece_rows ? limits.piece_rows : rows_of_piece(model, limits.part),
        .part = limits.part,
        .pool = model->engine->pool,
        .threads = sl_thread_pool_size(model->engine->pool)};
    sl_arena_dry(&dry);
    take(r, &dry, limits);
    if (!sl_arena_init(&r->memory, dry.peak, err))
        return false;
    take(r, &r->memory, limits);
    memset(r->workers, 0, (size_t)r->threads * sizeof *r->workers);
    if (start_workers(r, limits, err))
        return true;
    sl_batch_runner_release(r);
    return false;
}

void sl_batch_runner_release(struct sl_batch_runner *r)
{
    for (int i = 0; r->workers && i < r->threads; i++) {
        sl_tape_release(&r->workers[i].tape);
        sl_thread_pool_destroy(r->workers[i].alone);
    }
    sl_arena_release(&r->memory);
    *r = (struct sl_batch_runner){0};
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* As many pieces as there are threads, or a multiple: then all threads end at the same time. */
static int pieces_wanted(const struct sl_batch_runner *r, int rows, bool shared)
{
    const int threads = shared ? r->threads : 1;
    const int least = sl_ceil_div(rows, r->piece_rows);
    if (r->piece_rows == SL_BATCH_ROWS_MAX || rows < threads * sl_min(SHARED_ROWS, r->piece_rows))
        return least;
    return sl_ceil_div(least, threads) * threads;
}

/* Begins a new piece at this sequence. */
static void begin_piece(struct sl_batch_runner *r, int index, int sequence, int wanted)
{
    const struct sl_batch *batch = r->batch;
    const int row = sequence < batch->count ? batch->sequences[sequence].first : batch->rows;
    const int rows_before = batch->wanted ? wanted : row;
    r->pieces[index] =
        (struct sl_batch_piece){.sequence = sequence,
                                .row = row,
                                .wanted = wanted,
                                .out = has_rows(r->model, batch->output) ? rows_before : sequence};
}

/* Sequences whose middles are in the same part of the batch are a piece. Returns their number;
 * the entry after the last one says where it ends. */
static int cut(struct sl_batch_runner *r, int parts)
{
    const struct sl_batch *batch = r->batch;
    int count = 0, wanted = 0;
    for (int i = 0, last = -1; i < batch->count; i++) {
        const struct sl_sequence *s = &batch->sequences[i];
        const int part = (int)(((int64_t)s->first * 2 + s->rows) * parts / 2 / batch->rows);
        while (batch->wanted && wanted < batch->wanted->count &&
               batch->wanted->index[wanted] < s->first)
            wanted++;
        if (part != last)
            begin_piece(r, count++, i, wanted);
        last = part;
        r->sequences[i] = *s;
        r->sequences[i].first -= r->pieces[count - 1].row;
    }
    begin_piece(r, count, batch->count, batch->wanted ? batch->wanted->count : 0);
    for (int p = 0; batch->wanted && p < count; p++)
        for (int i = r->pieces[p].wanted; i < r->pieces[p + 1].wanted; i++)
            r->wanted[i] = batch->wanted->index[i] - r->pieces[p].row;
    return count;
}

/* Whether threads that take whole pieces end at about the same time. */
static bool is_balanced(const struct sl_batch_runner *r, int count)
{
    int longest = 0;
    for (int p = 0; p < count; p++) {
        const int rows = r->pieces[p + 1].row - r->pieces[p].row;
        longest = rows > longest ? rows : longest;
    }
    const int64_t rounds = sl_ceil_div(count, r->threads);
    return 4 * rounds * longest * r->threads <= 5 * (int64_t)r->batch->rows;
}

/* ---- running --------------------------------------------------------------------------------- */

static const struct sl_tensor *forward(struct sl_batch_runner *r, struct sl_batch_worker *worker,
                                       struct sl_thread_pool *pool, int index)
{
    const struct sl_batch_piece *piece = &r->pieces[index], *next = piece + 1;
    const struct sl_rows wanted = {r->wanted + piece->wanted, next->wanted - piece->wanted};
    const int32_t *types = r->batch->types;
    const struct sl_batch batch = {.tokens = r->batch->tokens + piece->row,
                                   .types = types ? types + piece->row : NULL,
                                   .sequences = r->sequences + piece->sequence,
                                   .rows = next->row - piece->row,
                                   .count = next->sequence - piece->sequence,
                                   .wanted = r->batch->wanted ? &wanted : NULL,
                                   .output = r->batch->output,
                                   .part = r->part};
    struct sl_tape *tape = &worker->tape;
    tape->pool = pool;
    tape->stats.layers_used = r->layers_used + piece->row;
    tape->stats.routing = r->has_routing ? r->routing + routing_floats(r, piece->row) : NULL;
    tape->stats.routing_parts = r->model->info.routes;
    sl_tape_begin(tape, &batch, false);
    const struct sl_tensor *out = sl_model_forward(r->model, tape);
    assert(out->rows == next->out - piece->out);
    return out;
}

/* The next piece overwrites `out`. */
static void keep(struct sl_batch_runner *r, int index, const struct sl_tensor *out,
                 const struct sl_tape *tape)
{
    struct sl_batch_piece *piece = &r->pieces[index];
    piece->stats = tape->stats;
    for (int i = 0; i < out->rows; i++)
        memcpy(r->results + (size_t)(piece->out + i) * (size_t)out->cols, sl_row(out, i),
               (size_t)out->cols * sizeof *r->results);
}

static void run_pieces(void *ctx, int first, int last, int index)
{
    struct sl_batch_runner *r = ctx;
    struct sl_batch_worker *worker = &r->workers[index];
    for (int i = first; i < last; i++)
        keep(r, i, forward(r, worker, worker->alone, i), &worker->tape);
}

/* Each piece on all threads of the pool. */
static void run_in_turn(struct sl_batch_runner *r, int count, struct sl_thread_pool *pool)
{
    for (int i = 0; i < count; i++)
        keep(r, i, forward(r, r->workers, pool, i), &r->workers->tape);
}

static const struct sl_tensor *gather(struct sl_batch_runner *r, int count)
{
    const int outputs = output_size(r->model, r->batch->output);
    r->stats = (struct sl_forward_stats){0};
    for (int i = 0; i < count; i++)
        sl_forward_stats_add(&r->stats, &r->pieces[i].stats);
    r->out = (struct sl_tensor){.data = r->results,
                                .stride = (size_t)outputs,
                                .rows = r->pieces[count].out,
                                .cols = outputs,
                                .type = SL_F32};
    return &r->out;
}

const float *sl_batch_runner_routing(const struct sl_batch_runner *r, int row)
{
    return r->has_routing ? r->routing + routing_floats(r, row) : NULL;
}

const struct sl_tensor *sl_batch_runner_run(struct sl_batch_runner *r, const struct sl_batch *batch,
                                            bool shared)
{
    r->batch = batch;
    memset(r->layers_used, 0, (size_t)batch->rows * sizeof *r->layers_used);
    r->has_routing = batch->keeps_routing && r->model->info.routes > 0;
    if (r->has_routing)
        memset(r->routing, 0, routing_floats(r, batch->rows) * sizeof *r->routing);
    const int count = cut(r, pieces_wanted(r, batch->rows, shared));
    struct sl_thread_pool *pool = shared ? r->pool : r->workers->alone;
    if (count == 1) {
        const struct sl_tensor *out = forward(r, r->workers, pool, 0);
        r->stats = r->workers->tape.stats;
        return out;
    }
    if (shared && is_balanced(r, count))
        sl_parallel_for(r->pool, count, 1, run_pieces, r);
    else
        run_in_turn(r, count, pool);
    return gather(r, count);
}
