/* ops.h - every differentiable operation: one prototype and one formula each.
 *
 * x, y are rows x cols matrices; i is a row. Results live in the tape's arena. Shapes are asserted:
 * they follow from the architecture, never from input. */
#pragma once

#include "autograd/tape.h"

/* y = dropout(f(x w^T + b)).  x: n x ins (fp32 or operand), w: outs x ins, b: 1 x outs or NULL. A
 * weight without a gradient (one that is fixed) gets none. */
struct sl_linear_args {
    const struct sl_parameter *weight, *bias;
    enum sl_activation activation;
    float dropout; /* probability, applied while training */
    bool operand;  /* y is read by products only */
    /* Per row of x, the row of the batch that it stands for and whose dropout it has; NULL: rows of
     * x are those of the batch. */
    const int32_t *origin;
};
struct sl_tensor *sl_linear(struct sl_tape *t, struct sl_tensor *x, struct sl_linear_args args);

/* The same with a weight and a bias for each group of rows: group g is x's rows from first_g up to
 * first_{g + 1}. All weights have one shape; all have a bias or none has. Weight and bias of args
 * are not looked at. */
struct sl_group {
    const struct sl_parameter *weight, *bias;
};

struct sl_groups {
    const struct sl_group *each;
    const int32_t *first; /* count + 1 of them, known when the op runs */
    int count;
};
struct sl_tensor *sl_linear_groups(struct sl_tape *t, struct sl_tensor *x, struct sl_groups groups,
                                   struct sl_linear_args args);

/* y = dropout(x) while training, else x itself; fp32. */
struct sl_tensor *sl_drop(struct sl_tape *t, struct sl_tensor *x, float probability);

/* y_i = softmax(x_i). */
struct sl_tensor *sl_softmax_rows(struct sl_tape *t, struct sl_tensor *x);

/* y_i = (x_i - mean) / sqrt(var + epsilon) * gain + shift, as an operand. Ba et al. 2016, eq. 4. */
struct sl_tensor *sl_layernorm(struct sl_tape *t, struct sl_tensor *x,
                               const struct sl_parameter *gain, const struct sl_parameter *shift,
                               float epsilon);
/* The same as fp32, for a stream that goes on. Not training, x itself is replaced and returned. */
struct sl_tensor *sl_layernorm_stream(struct sl_tape *t, struct sl_tensor *x,
                                      const struct sl_parameter *gain,
                                      const struct sl_parameter *shift, float epsilon);

/* y_i = gain sqrt(cols / (cols - 1)) (x_i - mean) + shift, as an operand. Epsilon, section 3.2. */
struct sl_tensor *sl_centernorm(struct sl_tape *t, struct sl_tensor *x,
                                const struct sl_parameter *gain, const struct sl_parameter *shift);

/* y_i = dropout(scale (tokens_[token_i] + pairs_[hash(token_{i-1}, token_i)])
 *               + positions_[position_i])
 * for every row of the batch. Tables without a gradient (fixed positions) get none. While training
 * with token_dropout p (of the tape), rows of tokens and pairs are 0 with that probability,
 * each by itself, else as 1 / (1 - p) times what they are (word dropout, Iyyer 2015, 3.1). */
struct sl_lookup_args {
    const struct sl_parameter *tokens, *positions;
    const struct sl_parameter *pairs; /* NULL: none; else texts are whole, nothing is cached */
    float scale, dropout;
    int padding_token; /* 1 + its id: it counts as a row of zeros, and learns nothing; 0: none */
};
struct sl_tensor *sl_lookup(struct sl_tape *t, struct sl_lookup_args args);

/* y_s = x_s + scale sum of (0, table_f) over the features f of sequence s: one, two or
 * three tokens in a row, but for padding, by hashes, each once however often it occurs (Wang &
 * Manning 2012, section 2: presence, not number). Of logits only differences count, so the first
 * needs no numbers. x: a row for each sequence; whole texts, none cached. */
struct sl_bag_args {
    const struct sl_parameter *table; /* rows for hashes x columns of x but the first */
    float scale;
    int padding_token; /* 1 + its id; 0: none */
};
struct sl_tensor *sl_add_bag(struct sl_tape *t, struct sl_tensor *x, struct sl_bag_args args);

/* y_i = x_{rows_i}; all of x, uncopied, when rows is NULL. */
struct sl_tensor *sl_take_rows(struct sl_tape *t, struct sl_tensor *x, const struct sl_rows *rows);

/* h with rows h_{rows_i} = x_i (NULL: all), in its place; fp32. Never while training. */
struct sl_tensor *sl_put_rows(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *x,
                              const struct sl_rows *rows);

/* h with rows h_{rows_i} + scale gate_i dropout(f_i) replaced; gate: n x 1 or NULL for 1, rows:
 * NULL for all. Not training, h itself is updated and returned: rows left out cost nothing. */
struct sl_residual_args {
    struct sl_tensor *gate;
    const struct sl_rows *rows;
    float dropout;
    float scale; /* 0: 1 */
};
struct sl_tensor *sl_residual(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *f,
                              struct sl_residual_args args);

/* y = 1 / (1 + exp(x)): one minus the logistic of x, without cancellation. */
struct sl_tensor *sl_complement(struct sl_tape *t, struct sl_tensor *x);

/* Multi-head attention within each sequence (Vaswani et al. 2017, section 3.2.2). query: n x width
 * operand; key_value: rows x 2 width operand, keys then values; query row i belongs to batch row
 * rows_i (NULL: i). A row sees itself and what came before it, or with both_ways its whole
 * sequence. A sequence with a cache (never with both_ways) appends its keys and values to it, at
 * 2 width columns from `cache_at`, and attends to all that it holds. Dropout is on the
 * probabilities. Result: n x width operand. */
struct sl_attend_args {
    const struct sl_rows *rows;
    int heads, cache_at;
    bool both_ways;
    float dropout;
};
struct sl_tensor *sl_attend(struct sl_tape *t, struct sl_tensor *query, struct sl_tensor *key_value,
                            struct sl_attend_args args);

/* Which keys a query looks at. With n rows in the sequence, row i sees
 *     log             i, i +- 1, i +- 2, i +- 4, ...
 *     stride          every j with j = i mod stride
 *     window_stride   every j with |i - j| <= window or j = 0 mod stride
 *     dense           all;   none   no key at all: the result is 0
 * and when causal only those of them that are not after i. */
enum sl_pattern_kind {
    SL_PATTERN_LOG,
    SL_PATTERN_STRIDE,
    SL_PATTERN_WINDOW_STRIDE,
    SL_PATTERN_DENSE,
    SL_PATTERN_NONE
};

struct sl_pattern {
    enum sl_pattern_kind kind;
    int stride, window;
    bool causal;
};

/* Writes the keys of `row` in a sequence of `rows`, ascending, to an array of as many; returns how
 * many there are. */
int sl_pattern_keys(struct sl_pattern pattern, int row, int rows, int32_t *keys);

/* sl_attend over the keys of a pattern alone, in time proportional to their number. A sequence with
 * a cache needs a causal pattern. No dropout. */
struct sl_sparse_args {
    const struct sl_rows *rows;
    int heads, cache_at;
    struct sl_pattern pattern;
    bool operand; /* the result is read by products only */
};
struct sl_tensor *sl_attend_sparse(struct sl_tape *t, struct sl_tensor *query,
                                   struct sl_tensor *key_value, struct sl_sparse_args args);

/* z_{i, p c + j} = share_{i, p} x_{i, p c + j}: rows of x are as many parts of c columns as shares
 * have columns. x: operand. Result: operand. */
struct sl_tensor *sl_scale_parts(struct sl_tape *t, struct sl_tensor *x, struct sl_tensor *shares);

/* Where rows go when each is sent to `used` experts. A place is a row at an expert; places are
 * numbered expert by expert. */
struct sl_routes {
    int rows, used, experts;
    int32_t *first;  /* per expert, its first place; and one past the last */
    int32_t *expert; /* rows x used: the experts of each row, ascending, */
    int32_t *place;  /* and its places there */
    int32_t *row;    /* per place: whose it is, */
    int32_t *origin; /* and the row of the batch that stands for: see sl_linear_args */
};

/* The experts with the largest shares, of equal ones the lower: no gradient passes the choice.
 * origin: of the rows of shares. */
const struct sl_routes *sl_route(struct sl_tape *t, const struct sl_tensor *shares, int used,
                                 const int32_t *origin);
/* Shares of the chosen, 0 of the others; of two and more divided by their sum. */
struct sl_tensor *sl_chosen_shares(struct sl_tape *t, struct sl_tensor *shares,
                                   const struct sl_routes *routes);
/* y_place = x_row. */
struct sl_tensor *sl_dispatch(struct sl_tape *t, struct sl_tensor *x,
                              const struct sl_routes *routes);
/* y_row = sum over its experts of share_{row, expert} x_place. */
struct sl_tensor *sl_combine(struct sl_tape *t, struct sl_tensor *x, struct sl_tensor *shares,
                             const struct sl_routes *routes);
/* Adds weight * K * sum over experts of (part of the rows sent there) (mean share) to the loss, by
 * this batch's part of the whole training batch. Fedus et al. 2021, eq. 4; no gradient passes the
 * first factor. */
void sl_balance(struct sl_tape *t, struct sl_tensor *shares, const struct sl_routes *routes,
                float weight);

/* y_s = mean of x over the rows of stretch s. Stretches lie one after another and cover x; each has
 * at least one row. NULL: the batch's sequences. Result: stretches x cols. */
struct sl_stretches {
    const int32_t *first; /* of each, and one past the last row: count + 1 of them */
    int count;
};
struct sl_tensor *sl_mean(struct sl_tape *t, struct sl_tensor *x,
                          const struct sl_stretches *stretches);

/* Histogram attention (Epsilon, section 3.3). First, per head, rows share out their keys and values
 * among a few bins:
 *     a_i = softmax_b(key_i . assign_b)
 * key_value: rows x 2 width, fp32, keys then values; assign: width x bins, a head's rows after one
 * another. Adds entropy_price * sum over heads and rows but padding of sum_b a_ib log a_ib to the
 * loss. Result: rows x (heads bins), fp32. */
struct sl_share_args {
    const struct sl_parameter *assign;
    const bool *padding; /* per row; NULL: none is */
    int heads;
    bool bin_padding; /* padding goes into the bins, too; else its shares are 0 */
    float entropy_price;
};
struct sl_tensor *sl_share_bins(struct sl_tape *t, struct sl_tensor *key_value,
                                struct sl_share_args args);

/* Then the rows of each stretch fill its bins:
 *     M_b = sum_i a_ib + 1e-6
 *     keys_b = sum_i a_ib key_i / M_b;   values_b = sum_i a_ib value_i / M_b
 * Result: stretches x (2 width bins). */
struct sl_fill_args {
    struct sl_stretches stretches;
    int heads;
};
struct sl_tensor *sl_fill_bins(struct sl_tape *t, struct sl_tensor *key_value,
                               struct sl_tensor *shares, struct sl_fill_args args);

/* And queries attend to the bins of their stretch:
 *     out_j = sum_b dropout(softmax_b(query_j . keys_b / sqrt(head_dim))) values_b
 * query: n x width, fp32; row i belongs to row rows_i of the stretches (NULL: i; must be while
 * training). Result: n x width operand. */
struct sl_read_args {
    struct sl_stretches stretches;
    const struct sl_rows *rows;
    int heads;
    float dropout;
};
struct sl_tensor *sl_read_bins(struct sl_tape *t, struct sl_tensor *query, struct sl_tensor *bins,
                               struct sl_read_args args);

/* The same for a language model: the bins of a query hold what its own row and those before it in
 * its sequence put there. query: n x width, fp32; row i belongs to row rows_i of the batch (NULL:
 * i; must be while training); key_value, shares: of all rows. A sequence with a cache goes on from
 * the sums in its state at `cache_at`, sl_prefix_floats() of them, and leaves its own there: the
 * same bits whatever pieces a text is fed in. Result: n x width operand. */
struct sl_prefix_args {
    const struct sl_rows *rows;
    int heads;
    size_t cache_at;
    float dropout;
};
struct sl_tensor *sl_prefix_bins(struct sl_tape *t, struct sl_tensor *query,
                                 struct sl_tensor *key_value, struct sl_tensor *shares,
                                 struct sl_prefix_args args);

static inline size_t sl_prefix_floats(int width, int heads, int bins)
{
    return (2 * (size_t)width + (size_t)heads) * (size_t)bins;
}

/* How far each row of the batch has come with halting: shared by the steps of one pass. */
struct sl_halts {
    int steps_most;
    int32_t *steps; /* in which it halted; 0: not yet */
    float *left;    /* of its probability, 1 at first */
    float *worth;   /* backward: see halt.c; only while training */
    bool *padding;  /* takes no part: it never halts, and costs nothing */
};

/* One step of halting (Epsilon, section 3.4; Graves 2016):
 *     p_i = min(sigmoid(score_i), left_i);   left_i -= p_i
 *     output_s += p h of the first row of sequence s; in the last step (p + left) h
 * and adds price * sum over rows that have not halted of p_i (log p_i - log_prior), in the last
 * step also left_i (log left_i - log_prior_rest), to the loss. scores: one per row of the batch;
 * states: h of the first rows; or both of some first rows alone (`rows`, by their number in the
 * batch; NULL while training). With every_row each row has an output, and rows are any. Not
 * training, output itself is updated and returned. */
struct sl_halt_args {
    struct sl_halts *halts;
    const struct sl_rows *rows;
    bool every_row;
    int step; /* from 1 */
    float price, log_prior, log_prior_rest;
};
struct sl_tensor *sl_halt(struct sl_tape *t, struct sl_tensor *output, struct sl_tensor *states,
                          struct sl_tensor *scores, struct sl_halt_args args);

/* y_ic = x_ic s_c, as an operand. x: fp32; numbers of s past the columns of x are not used. */
struct sl_tensor *sl_scale_columns(struct sl_tape *t, struct sl_tensor *x,
                                   const struct sl_parameter *s);

/* y_i = (0, x_i): the logits of two classes whose softmax is the logistic function of x_i.
 * x: n x 1. */
struct sl_tensor *sl_against_zero(struct sl_tape *t, struct sl_tensor *x);

/* Attention that evolves with depth (TransEvolve, section 3): queries meet keys once, and at each
 * depth l only a bias per key and head moves, so that per sequence and head
 *     y_i = sum_j softmax_j(q_i . k_j / sqrt(width / heads) + bias^l_j) value_j
 * over the keys that i sees: those up to itself, or with both_ways its whole sequence. query, key:
 * rows x width operands; bias: rows x (depths heads) fp32, its columns those of depth 0 first;
 * value: rows x any number of columns that heads divide, as an operand, and so is the result.
 * Sequences with a cache (all or none have one, never with both_ways) append their keys, biases and
 * values to it and see all that it holds. */
struct sl_meet_args {
    int heads;
    bool both_ways;
    int cache_keys, cache_bias; /* columns of operands: width of them; of floats: depths heads */
};

struct sl_evolve_args {
    int depth;
    int cache_values; /* columns of operands, as many as value has */
};
struct sl_meeting; /* in the tape */

struct sl_meeting *sl_meet(struct sl_tape *t, struct sl_tensor *query, struct sl_tensor *key,
                           struct sl_tensor *bias, struct sl_meet_args args);
struct sl_tensor *sl_evolve(struct sl_tape *t, const struct sl_meeting *meeting,
                            struct sl_tensor *value, struct sl_evolve_args args);

/* Adds weight * loss_scale * sum over rows of -log softmax(logits)_target to the loss; targets: one
 * per row of logits, -1 for none. The batch's own targets or labels give the mean. */
void sl_cross_entropy(struct sl_tape *t, struct sl_tensor *logits, const int32_t *targets,
                      float weight);

/* Adds the mean over the rows of the training batch of open x + undecided 4 x (1 - x) to the loss.
 * x: rows x 1, gates: `undecided` is what one half costs, while 0 and 1 cost nothing. */
struct sl_price_args {
    float open, undecided;
};

void sl_price(struct sl_tape *t, struct sl_tensor *x, struct sl_price_args args);

/* Dropout shared by the ops that have it: the kernel's numbers for a probability, and the key of
 * one row of the batch, which does not depend on how the batch was cut. */
struct sl_dropout sl_dropout_of(float probability);
uint32_t sl_dropout_row_key(const struct sl_tape *t, uint64_t key, int row);
