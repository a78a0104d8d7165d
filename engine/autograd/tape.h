/* tape.h - runs operations, records them while training, and computes gradients.
 *
 * The same architecture code trains and serves. While training every op leaves a node, and
 * sl_tape_backward visits the nodes in reverse. While serving nothing is recorded. In a dry run
 * nothing is computed either: the tape only counts the memory that the real run will take.
 *
 * A batch is ragged: one matrix of rows (the tokens of all sequences, one after another), and for
 * each sequence where its rows start. There is no padding. Ops that mix tokens (attention,
 * pooling, losses) look at the sequences; all others see rows only.
 *
 * A tape belongs to one thread, which may use the pool's others. It owns its arena and borrows
 * kernels, pool and batch. */
#pragma once

#include "autograd/tensor.h"
#include "base/arena.h"
#include "base/thread_pool.h"
#include "sluice/model.h"

#include <stdint.h>

/* The KV cache of one sequence: columns of operands and columns of fp32, which layers reserve with
 * the builder. Column c begins capacity * c elements from the start. The layout within its columns
 * is up to the op: attention stores for each head `capacity` keys one after another, or packed for
 * the products of fp32, then as many values, so that a head reads contiguous memory. The third part
 * is fp32 state that does not belong to one token, such as sums over all tokens; it is undefined
 * while length is 0. */
struct sl_cache {
    void *operands;
    float *floats, *state;
    int capacity; /* tokens, a multiple of SL_PANEL where keys are packed */
    int length;   /* tokens remembered before this batch; the session advances it after the batch */
    int source_length; /* the same of the text to translate, which has columns of its own */
};

struct sl_policy;

struct sl_sequence {
    int first, rows;        /* its rows in the batch; rows > 0 */
    int source;             /* the first so many of them are a text to translate, as a whole */
    int position;           /* of the first row, after those, within the text */
    struct sl_cache *cache; /* the tokens before it; NULL when the sequence is complete */
    /* How it is served; NULL: as the tape says. Differs from that only in the threshold of the
     * architecture (arch/arch.h). */
    const struct sl_policy *policy;
};

/* Pretraining: which tokens of a batch are masked or replaced, and the weights of both losses. */
struct sl_corruption {
    const struct sl_rows *masked; /* rows whose token to predict */
    const int32_t *targets;       /* the token of each of these rows */
    const int32_t *replaced;      /* per row of the batch: 1 replaced, 0 not, -1 does not count */
    float masked_weight, replaced_weight; /* of both losses, relative to loss_scale */
};

/* Another model's predictions of the same batch, to learn from beside the targets. */
struct sl_distillation {
    const struct sl_tensor *teacher; /* logits, of as many rows as this model's */
    float weight;                    /* of them in the loss; the targets have the rest of 1 */
};

/* What is computed of a cascade (arch/arch.h), which answers some texts by its first part. */
enum sl_part { SL_PART_BOTH, SL_PART_FIRST, SL_PART_SECOND };

struct sl_batch {
    const int32_t *tokens;      /* rows */
    const int32_t *types;       /* rows: which of two texts a token is of; NULL: all of the first */
    const int32_t *targets;     /* rows, to compute a loss: the token to predict, or -1 */
    const int32_t *labels;      /* count, the same for a classifier: the class of each sequence */
    const float *label_weights; /* of each class, in the loss of a classifier; NULL: 1 */
    float label_smoothing;      /* the part of a target that all others share in the loss */
    const struct sl_corruption *corruption;     /* of a model that is pretrained; else ignored */
    const struct sl_distillation *distillation; /* NULL: the targets alone count */
    const struct sl_sequence *sequences;
    int rows, count;
    int row_base;                 /* of row 0 within the whole training batch: numbers dropout */
    int source_base;              /* how many of the rows before are of texts to translate */
    float loss_scale;             /* 1 / targets, or labels, in the whole training batch */
    float row_scale;              /* 1 / rows in the whole training batch */
    const struct sl_rows *wanted; /* rows whose logits are requested; NULL: all */
    enum sl_output output;        /* what is computed of each text, if nothing is trained, */
    enum sl_part part;            /* by which part of a cascade */
    bool keeps_routing;           /* serving: what acts on each row is kept, too */
};

/* Rows that ops compute on: the batch, or a part of it that was made a batch of its own, such as
 * the texts to translate. */
struct sl_view {
    const struct sl_batch *batch;
    int32_t *row_position; /* per row: its place in its text, */
    int32_t *row_sequence; /* and its sequence */
    const int32_t *origin; /* per row: its place in the whole batch; NULL: the same */
};

/* How a model is served. All zero: as it was trained, nothing is skipped. The architecture's own
 * options are a struct of its folder (arch/arch.h). */
enum { SL_POLICY_OWN_BYTES = 16 };

struct sl_policy {
    bool dense; /* compute skipped rows too and multiply by zero: the reference */
    _Alignas(8) unsigned char own[SL_POLICY_OWN_BYTES];
};

struct sl_tape;
struct sl_node;

/* One row of a pass. */
typedef void sl_row_pass(const struct sl_node *n, int row);

/* An operation: the forward and the backward pass of a formula. Ops split rows over the pool,
 * and no sum spans two pieces, so results do not depend on the number of threads. */
struct sl_op {
    const char *name;
    /* Bytes of scratch memory the op takes in one direction; NULL: none. */
    size_t (*scratch)(const struct sl_node *n, bool backward);
    void (*forward)(const struct sl_node *n);
    /* Adds the gradients of the inputs, given that of the output. Where overwrite[i] is true,
     * in[i]->grad holds nothing yet and is replaced instead. */
    void (*backward)(const struct sl_node *n);
    /* 1 + the index of the input that takes over the output's gradient without a copy (a residual
     * stream); 0: none. In backward, in[i]->grad == out->grad means that nothing is left to add. */
    int passes;
    /* What a direction does if the function above is NULL: every row of the output, or for a loss
     * of the first input, by sl_node_rows. */
    sl_row_pass *forward_row, *backward_row;
    int grain;      /* rows that are worth waking a thread for; 0: 16 */
    int spare_rows; /* of n->spare, each as wide as the first input; or, if that is not its size: */
    size_t (*spare_bytes)(const struct sl_node *n, bool backward);
    bool sums; /* backward_row adds to n->sums */
};

enum { SL_NODE_INPUTS = 32, SL_NODE_PARAMETERS = 4 };

struct sl_node {
    const struct sl_op *op;
    struct sl_tape *tape;
    const struct sl_view *view; /* the tape's when the node was recorded */
    struct sl_tensor *out;      /* NULL for an op that only adds to the loss */
    struct sl_tensor *in[SL_NODE_INPUTS];
    const struct sl_parameter *parameter[SL_NODE_PARAMETERS];
    const void *args; /* the op's own struct, in the arena */
    bool overwrite[SL_NODE_INPUTS];
    /* During a pass over rows: scratch memory of this thread; and the gradients of the parameters
     * that this block of rows adds to, one after another, each as wide as the first input. */
    void *spare;
    float *sums;
    bool is_backward; /* the direction that runs */
};

/* Statistics of a forward pass. */
struct sl_forward_stats {
    double loss;          /* summed, already scaled by loss_scale */
    double aux_loss;      /* the auxiliary terms added to it */
    double gate_sum;      /* soft gates, summed over routers and rows */
    double gate_count;    /* routers x rows */
    double active_sum;    /* rows let through, summed over the blocks that could be skipped */
    double active_count;  /* those blocks x rows */
    double depth_sum;     /* steps until a row halted, summed over the counted rows */
    double depth_count;   /* those rows: all but padding, or first rows only */
    double first_depth;   /* the same sum over the first rows of all sequences */
    int32_t *layers_used; /* per row: blocks that ran; NULL: not requested */
    /* Rows x parts: the weight with which a part of the model acted on a row, 0 if it did not run
     * (sl_arch.routes_to); NULL: not requested. */
    float *routing;
    int routing_parts;
};

/* Adds the sums of a pass to those of others. */
void sl_forward_stats_add(struct sl_forward_stats *sum, const struct sl_forward_stats *pass);

struct sl_tape {
    struct sl_arena arena;   /* values, gradients, scratch: counted only in a dry run */
    struct sl_arena structs; /* tensors, nodes, arguments, lists of rows: always real */
    const struct sl_kernels *kernels;
    struct sl_thread_pool *pool;
    const struct sl_view *view;     /* what ops that are recorded now compute on */
    const struct sl_policy *policy; /* not NULL when not training */
    struct sl_forward_stats stats;
    bool training;
    float progress; /* fraction of the training that is done, 0..1: loss weights may depend on it */
    float word_dropout;   /* probability that sl_embedding_lookup drops a token while training */
    uint64_t random_key;  /* of this step: dropout */
    uint64_t random_site; /* number of keys drawn in this step */
    struct sl_node *nodes;
    int count;

    struct {
        float *data;
        size_t floats;
    } spare[64]; /* freed gradients, reused while they are in the CPU's cache */

    int spare_count;
    float dry_gradient; /* in a dry run all gradients point here, because NULL means none */
};

/* Makes a tape over kernels and pool. arena_bytes 0: a dry run, whose arena.peak is then the
 * arena_bytes of a real one for the same passes. */
bool sl_tape_init(struct sl_tape *t, const struct sl_kernels *kernels, struct sl_thread_pool *pool,
                  size_t arena_bytes, struct sl_err *err) SL_MUST_CHECK;
void sl_tape_release(struct sl_tape *t);

/* Discards the last pass and prepares one over `batch`. */
void sl_tape_begin(struct sl_tape *t, const struct sl_batch *batch, bool training);

/* A view of a batch, which must live as long as the pass. */
const struct sl_view *sl_tape_view(struct sl_tape *t, const struct sl_batch *batch);

/* A tensor in the arena, contents undefined. Operands get the operand type and stride. */
struct sl_tensor *sl_tensor_take(struct sl_tape *t, int rows, int cols);
struct sl_tensor *sl_operand_take(struct sl_tape *t, int rows, int cols);

/* Memory that an op keeps from forward to backward; NULL in a dry run. */
void *sl_tape_take(struct sl_tape *t, size_t count, size_t size);
/* Zeroed memory for structs and lists of rows; real in a dry run, too. */
void *sl_tape_struct(struct sl_tape *t, size_t count, size_t size);

/* Runs a node whose out, in, parameter and args are set, and remembers it while training. */
struct sl_tensor *sl_tape_run(struct sl_tape *t, struct sl_node node);

/* sl_parallel_for on a node's tape; ctx is the struct sl_node. */
void sl_node_parallel(const struct sl_node *n, int count, int grain,
                      void (*f)(void *ctx, int first, int last, int worker));

/* Passes over `count` rows, in pieces on all threads. n->sums of blocks of rows are added to the
 * parameters' gradients in order, independent of the thread that computed them. */
void sl_node_rows(const struct sl_node *n, int count, sl_row_pass *pass);

/* Scratch memory inside forward or backward, gone when the op returns. */
void *sl_tape_scratch(const struct sl_node *n, size_t bytes);

/* Gradients of everything, added to parameter->grad. Follows a forward pass that recorded a
 * loss. */
void sl_tape_backward(struct sl_tape *t);

/* Serving: frees the values taken after the mark. Training: does nothing. */
size_t sl_tape_mark(const struct sl_tape *t);
void sl_tape_forget(struct sl_tape *t, size_t mark);

/* Records that every row (NULL), or these rows, ran one more block. */
void sl_stats_add_layer(struct sl_tape *t, const struct sl_rows *rows);
/* Records the weight of a part on a row. Routing must be requested, which it never is in a dry
 * run. */
void sl_stats_set_routing(struct sl_tape *t, int row, int part, float weight);

/* A fresh key for random numbers: one per step and place. */
uint64_t sl_tape_random(struct sl_tape *t);

/* How a row of the batch is served. Not while training. */
static inline const struct sl_policy *sl_row_policy(const struct sl_tape *t, int row)
{
    const struct sl_policy *own = t->view->batch->sequences[t->view->row_sequence[row]].policy;
    return own ? own : t->policy;
}

static inline bool sl_tape_is_dry(const struct sl_tape *t)
{
    return t->arena.dry;
}
