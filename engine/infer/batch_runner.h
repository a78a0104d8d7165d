/* batch_runner.h - forward passes of one model, over batches of any size.
 *
 * A batch is cut into pieces of whole sequences. If there are enough of them for all threads, each
 * piece runs on one thread, from the first layer to the last: what it computes stays in that core's
 * cache, and no thread waits for another between ops. Else the threads share every op. Results are
 * the same to the bit.
 *
 * A runner belongs to one thread at a time. */
#pragma once

#include "autograd/tape.h"
#include "model/model.h"

enum { SL_BATCH_ROWS_MAX = 1 << 20 };

/* The largest batch. */
struct sl_batch_limits {
    int rows, sequences;
    int context;        /* rows of the longest sequence */
    int cache_capacity; /* of each sequence's cache; 0: sequences are complete */
    int piece_rows;     /* 0: as many as suit the model */
    enum sl_part part;  /* of a cascade */
};

/* What one thread runs a piece with. The first one also runs what the threads share. */
struct sl_batch_worker {
    struct sl_tape tape;
    struct sl_thread_pool *alone; /* of one thread */
};

struct sl_batch_piece {
    int sequence, row, wanted, out; /* its first one of each; out: row of the results */
    struct sl_forward_stats stats;
};

struct sl_batch_runner {
    const struct sl_model *model;   /* borrowed, */
    const struct sl_policy *policy; /* as is this */
    struct sl_thread_pool *pool;    /* the engine's */
    struct sl_batch_worker *workers;
    int threads, piece_rows;
    enum sl_part part;
    struct sl_arena memory; /* of all below */
    struct sl_batch_piece *pieces;
    struct sl_sequence *sequences; /* those of the batch, with rows counted from their piece on */
    int32_t *wanted;               /* the same */
    float *results;
    /* Of the last batch: */
    struct sl_forward_stats stats;
    int32_t *layers_used; /* per row: blocks that ran */
    float *routing;       /* rows x info.routes, as in sl_forward_stats, */
    bool has_routing;     /* if the batch kept it */
    struct sl_tensor out;
    const struct sl_batch *batch; /* only during a run */
};

/* policy: how to serve, unless a sequence has its own; borrowed. After a failure there is nothing
 * to release. */
bool sl_batch_runner_init(struct sl_batch_runner *r, const struct sl_model *model,
                          const struct sl_policy *policy, struct sl_batch_limits limits,
                          struct sl_err *err) SL_MUST_CHECK;
void sl_batch_runner_release(struct sl_batch_runner *r); /* a zeroed one is fine */

/* What acted on this row of the last batch and, one after another, on those that follow; NULL: the
 * batch did not keep it, or all rows are computed alike. */
const float *sl_batch_runner_routing(const struct sl_batch_runner *r, int row);
/* The logits of the wanted rows, or what the batch's `output` says; until the next run. shared: on
 * all threads of the engine, whose lock the caller holds; else on the calling thread alone. */
const struct sl_tensor *sl_batch_runner_run(struct sl_batch_runner *r, const struct sl_batch *batch,
                                            bool shared);
