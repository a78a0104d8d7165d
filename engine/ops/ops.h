/* ops.h - every differentiable operation: one prototype and one formula each.
 *
 * x, y are rows x cols matrices; i is a row. Results live in the tape's arena. Shapes are asserted:
 * they follow from the architecture, never from input. */
#pragma once

#include "autograd/tape.h"

/* y = dropout(f(x w^T + b)). x: n x ins (fp32 or operand), w: outs x ins, b: 1 x outs or NULL.
 * Fixed weights get no gradient. */
struct sl_linear_args {
    const struct sl_parameter *weight, *bias;
    enum sl_activation activation;
    float dropout; /* probability, applied while training */
    bool operand;  /* y is only read by matrix products */
    /* Per row of x, the row of the batch that it comes from, which determines its dropout; NULL:
     * rows of x are those of the batch. */
    const int32_t *origin;
};
struct sl_tensor *sl_linear(struct sl_tape *t, struct sl_tensor *x, struct sl_linear_args args);

/* The same with a weight and a bias for each group of rows: group g is rows first_g to first_{g +
 * 1} of x. All weights have the same shape; either all have a bias or none. Weight and bias of args
 * are ignored. */
struct sl_group {
    const struct sl_parameter *weight, *bias;
};

struct sl_groups {
    const struct sl_group *each;
    const int32_t *first; /* count + 1 values, set when the op runs */
    int count;
};
struct sl_tensor *sl_linear_groups(struct sl_tape *t, struct sl_tensor *x, struct sl_groups groups,
                                   struct sl_linear_args args);

/* y = dropout(x) while training, else x itself; fp32. */
struct sl_tensor *sl_dropout_apply(struct sl_tape *t, struct sl_tensor *x, float probability);

/* y_i = (x_{rows_i} - mean) / sqrt(var + epsilon) * weight + bias, as an operand (Ba et al. 2016,
 * eq. 4); with `rms`, 0 instead of the mean (Zhang & Sennrich 2019, eq. 4). rows NULL: all. */
struct sl_norm_args {
    const struct sl_parameter *weight, *bias; /* bias NULL: 0 */
    float epsilon;
    bool rms;
};
struct sl_tensor *sl_normalize(struct sl_tape *t, struct sl_tensor *x, struct sl_norm_args args,
                               const struct sl_rows *rows);
/* The same as fp32, for the residual stream. When not training, x itself is updated. */
struct sl_tensor *sl_normalize_stream(struct sl_tape *t, struct sl_tensor *x,
                                      struct sl_norm_args args);

/* y_i = dropout(scale (tokens_[token_i] + bigrams_[hash(token_{i-1}, token_i)])
 *               + positions_[offset + position_i] + types_[type_i])
 * for every row of the batch. Fixed positions get no gradient. While training with the tape's
 * word_dropout p, each row of tokens and of bigrams is 0 with probability p, else scaled by 1 / (1
 * - p) (Iyyer et al. 2015, section 3.1). */
struct sl_embedding_lookup_args {
    const struct sl_parameter *tokens, *positions, *types; /* NULL: none, but for tokens */
    const struct sl_parameter *bigrams; /* NULL: none; else texts are complete, without a cache */
    float scale, dropout;
    int position_offset;
    int padding_token; /* 1 + its id: its row is zero and not trained; 0: none */
};
struct sl_tensor *sl_embedding_lookup(struct sl_tape *t, struct sl_embedding_lookup_args args);

/* y_s = x_s + scale sum of (0, table_f) over the features f of sequence s: hashed sequences of one
 * to three tokens without padding, each counted once (presence rather than counts: Wang & Manning
 * 2012, section 2). The first class has no weights, because only differences of logits matter. x: a
 * row for each sequence; texts are complete, without a cache. */
struct sl_ngram_logits_args {
    const struct sl_parameter *table; /* hash buckets x (columns of x - 1) */
    float scale;
    int padding_token; /* 1 + its id; 0: none */
};
struct sl_tensor *sl_add_ngram_logits(struct sl_tape *t, struct sl_tensor *x,
                                      struct sl_ngram_logits_args args);

/* y_i = x_{rows_i}; rows NULL: x itself, without a copy. */
struct sl_tensor *sl_gather_rows(struct sl_tape *t, struct sl_tensor *x,
                                 const struct sl_rows *rows);
/* The same, but never x itself while serving, so that the result may be updated in place. */
struct sl_tensor *sl_copy_rows(struct sl_tape *t, struct sl_tensor *x, const struct sl_rows *rows);

/* h with rows h_{rows_i} + scale gate_i dropout(f_i) replaced; gate: n x 1 or NULL for 1, rows:
 * NULL for all. Serving: h itself is updated and returned, so other rows cost nothing. */
struct sl_residual_args {
    struct sl_tensor *gate;
    const struct sl_rows *rows;
    float dropout;
    float scale; /* 0: 1 */
};
struct sl_tensor *sl_residual(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *f,
                              struct sl_residual_args args);

/* y = 1 / (1 + exp(x)): one minus the logistic of x, without cancellation. x: n x 1. */
struct sl_tensor *sl_one_minus_sigmoid(struct sl_tape *t, struct sl_tensor *x);

/* Adds the mean over the rows of the training batch of open_weight x + binarization_weight 4 x (1 -
 * x) to the loss. x: rows x 1, gates. The second term is largest at one half and 0 at 0 and 1. */
struct sl_gate_loss_args {
    float open_weight, binarization_weight;
};

void sl_gate_loss(struct sl_tape *t, struct sl_tensor *x, struct sl_gate_loss_args args);

/* Adds weight (1 - cos(x_r, target_r)) of every row, times the batch's loss_scale, to the loss.
 * targets: rows x cols, fp32. */
struct sl_cosine_loss_args {
    const float *targets;
    float weight;
};

void sl_cosine_loss(struct sl_tape *t, struct sl_tensor *x, struct sl_cosine_loss_args args);

/* Adds weight times the cross-entropy of every logit, each of which says whether a label is one of
 * its row's, times the batch's loss_scale, to the loss. targets: rows x cols, fp32, 1 or 0. */
struct sl_binary_cross_entropy_args {
    const float *targets;
    float weight;
};

void sl_binary_cross_entropy(struct sl_tape *t, struct sl_tensor *x,
                             struct sl_binary_cross_entropy_args args);

/* y = g where logits < limit, or 1 if `hard`, else 0: rows x 1. Backward dg = dy, for closed gates,
 * too. */
struct sl_close_gates_args {
    const struct sl_tensor *logits; /* only decide: they get no gradient here */
    float limit;
    bool hard;
};
struct sl_tensor *sl_close_gates(struct sl_tape *t, struct sl_tensor *g,
                                 struct sl_close_gates_args args);

/* h with rows h_{rows_i} + gate_i (y_i - h_{rows_i}) replaced; gate: n x 1 or NULL for 1, rows:
 * NULL for all. Serving: h itself is updated and returned. */
struct sl_interpolate_args {
    struct sl_tensor *gate;
    const struct sl_rows *rows;
};
struct sl_tensor *sl_interpolate(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *y,
                                 struct sl_interpolate_args args);
/* sl_residual of h and sl_linear(x); serving, without a copy of the latter. */
struct sl_tensor *sl_linear_residual(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *x,
                                     struct sl_linear_args args, struct sl_residual_args update);

/* Multi-head attention within each sequence (Vaswani et al. 2017, section 3.2.2). query: n x width
 * operand; key_value: rows x 2 key width operand, keys then values, or as many rows as `source`
 * has; query row i belongs to batch row rows_i (NULL: i). A row sees itself and the rows before it,
 * or with bidirectional its whole sequence; of these, with a window, only those at most so many
 * rows away (Beltagy et al. 2020). A sequence with a cache (never with bidirectional) appends its
 * keys and values to it, at 2 key width columns from `cache_at`, or half as many operands of fp32
 * if they become bf16, and attends to everything in it. Several heads may share one of keys and
 * values, the first ones the first (Ainslie et al. 2023). Dropout applies to the probabilities.
 * Result: n x width operand. */
struct sl_attention_args {
    const struct sl_rows *rows;
    int heads, key_heads; /* key_heads divides heads; 0: as many */
    int cache_at;
    int window; /* 0: none */
    bool bidirectional;
    bool bf16_cache; /* serving: keys and values are bf16 where operands are fp32, too */
    float dropout;
    /* Or of other texts, as a decoder attends to those that it translates (section 3.2.3). */
    const struct sl_view *source; /* theirs; NULL: none */
    const int32_t *source_of;     /* per sequence: of `source`; -1: what its cache remembers */
};
struct sl_tensor *sl_attention(struct sl_tape *t, struct sl_tensor *query,
                               struct sl_tensor *key_value, struct sl_attention_args args);

/* Rotary positions (Su et al. 2021): in each of the first `heads` heads of a row, the element pairs
 * (j, j + half) are rotated by the angle position / base^(j / half), which the table has as cosines
 * and sines, one row per position; elements from 2 half on, and other columns, stay. x: n x cols,
 * fp32; row i belongs to batch row rows_i (NULL: i). Result: an operand. */
struct sl_rotary_args {
    const struct sl_parameter *table; /* positions x 2 half: half cosines, then as many sines */
    const struct sl_rows *rows;
    int heads, head_dim;
};
struct sl_tensor *sl_rotary(struct sl_tape *t, struct sl_tensor *x, struct sl_rotary_args args);

/* y = x by, element by element, as an operand. x: fp32; by: an operand of the same shape. */
struct sl_tensor *sl_multiply(struct sl_tape *t, struct sl_tensor *x, struct sl_tensor *by);

/* y_s = mean of x over the rows of segment s. Segments lie one after another and cover x; each has
 * at least one row. NULL: the batch's sequences. Result: segments x cols. */
struct sl_segments {
    const int32_t *first; /* of each, then one past the last row: count + 1 values */
    int count;
};
struct sl_tensor *sl_segment_mean(struct sl_tape *t, struct sl_tensor *x,
                                  const struct sl_segments *segments);

/* Adds weight * loss_scale * sum over rows of weight_target * -log softmax(logits)_target to the
 * loss; targets: one per row of logits, -1 for none; class_weights: one per column, NULL: 1. The
 * batch's own targets or labels give the mean. With smoothing s the target counts 1 - s, and every
 * other column s / (columns - 1) (Szegedy et al. 2016, section 7). */
struct sl_cross_entropy_args {
    const int32_t *targets;
    const float *class_weights;
    float weight, smoothing;
};

void sl_cross_entropy(struct sl_tape *t, struct sl_tensor *logits,
                      struct sl_cross_entropy_args args);

/* KL(softmax(teacher) || softmax(logits)) of two rows. scratch: 2 cols floats. */
float sl_divergence(const struct sl_kernels *kernels, const float *teacher, const float *logits,
                    int cols, float *scratch);
/* Adds weight * loss_scale * sum over rows of it to the loss. teacher: of the logits' shape. */
void sl_divergence_loss(struct sl_tape *t, struct sl_tensor *logits,
                        const struct sl_tensor *teacher, float weight);

/* The cross entropy; with a distillation 1 - its weight of it, and its weight of
 *     weight * loss_scale * sum over rows of weight_target * KL(softmax(teacher) ||
 * softmax(logits)). Hinton et al. 2015, at temperature 1. */
void sl_distillation_loss(struct sl_tape *t, struct sl_tensor *logits,
                          const struct sl_distillation *distillation,
                          struct sl_cross_entropy_args args);

/* Dropout: the kernel's threshold and scale for a probability, and the keys of one row of the batch
 * and of one head of it, which do not depend on how the batch is divided. head_key: `row` counts
 * from the start of the whole training batch. */
struct sl_dropout sl_dropout_of(float probability);
uint32_t sl_dropout_row_key(const struct sl_view *view, uint64_t key, int row);
uint32_t sl_dropout_head_key(uint64_t random_key, int row, int head, int heads);
