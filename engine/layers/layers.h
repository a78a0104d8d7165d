/* layers.h - parameters that belong together and the ops that use them.
 *
 * Each layer is a struct, a build and an apply. Build declares parameters under the builder's
 * scope; apply records ops on a tape. The structs live in the model's arena and never change. */
#pragma once

#include "layers/builder.h"
#include "ops/ops.h"

/* y = x w^T (+ b). First values U(+-1/sqrt(ins)) for both, unless told otherwise. */
struct sl_linear_layer {
    struct sl_parameter *weight, *bias;
};

struct sl_linear_shape {
    int outs, ins;
    bool bias;
    float deviation;  /* > 0: the weight starts N(0, deviation^2) instead */
    float bound;      /* > 0: the weight starts U(-bound, bound) instead */
    float bias_start; /* != 0: the bias starts at this constant instead */
    bool bias_zero;   /* the bias starts at 0 */
};
struct sl_linear_layer sl_linear_build(struct sl_builder *b, const char *name,
                                       struct sl_linear_shape shape);
/* args: all but the layer's own weight and bias. */
struct sl_tensor *sl_linear_apply(struct sl_tape *t, const struct sl_linear_layer *layer,
                                  struct sl_tensor *x, struct sl_linear_args args);
/* An MLP: y = down(dropout(f(up(x)))); hidden: f and the dropout. */
struct sl_tensor *sl_mlp_apply(struct sl_tape *t, const struct sl_linear_layer *up,
                               const struct sl_linear_layer *down, struct sl_tensor *x,
                               struct sl_linear_args hidden);

/* Layer normalisation, gain 1 and shift 0 at first. Epsilon is 1e-5 unless whoever built it sets
 * another. */
struct sl_norm {
    struct sl_parameter *gain, *shift;
    float epsilon;
};
struct sl_norm sl_norm_build(struct sl_builder *b, const char *name, int width);
struct sl_tensor *sl_norm_apply(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x);
/* The stream itself normalised: fp32. Not training, x is replaced and returned. */
struct sl_tensor *sl_norm_stream(struct sl_tape *t, const struct sl_norm *norm,
                                 struct sl_tensor *x);

/* dropout(scale E[tokens] + P[positions]); positions are learnt, or sines and cosines. */
enum sl_positions {
    SL_POSITIONS_LEARNT, /* N(0, 0.02^2) at first */
    SL_POSITIONS_SINES,  /* Vaswani et al. 2017, section 3.5: sine and cosine side by side */
    SL_POSITIONS_HALVES  /* the same numbers, all sines first */
};

struct sl_embedding_shape {
    int vocab, context, width;
    struct sl_init start; /* of the tokens' rows */
    enum sl_positions positions;
    float scale, dropout;
    bool tied;         /* the table also gives the logits */
    int padding_token; /* as in struct sl_config: a row of zeros that learns nothing */
    int pairs;         /* rows for hashed pairs of neighbours, 0 at first; 0: no such table */
};

struct sl_embedding {
    struct sl_parameter *tokens, *positions, *pairs;
    float scale, dropout;
    int padding_token;
};
struct sl_embedding sl_embedding_build(struct sl_builder *b, struct sl_embedding_shape shape);
struct sl_tensor *sl_embedding_apply(struct sl_tape *t, const struct sl_embedding *e);
/* Logits by the tied table: h E^T. */
struct sl_tensor *sl_embedding_invert(struct sl_tape *t, const struct sl_embedding *e,
                                      struct sl_tensor *h);

/* A linear model beside a deep one (Cheng et al. 2016, "Wide & Deep Learning"): logits that look at
 * which tokens, pairs and threes in a row a text has and at nothing else, added to those of the
 * rest. They start at 0. */
struct sl_bag {
    struct sl_parameter *table; /* NULL: there is none, and logits stay as they are */
    int padding_token;
};

struct sl_bag_shape {
    int rows, classes;
    int padding_token; /* as in struct sl_config */
};
struct sl_bag sl_bag_build(struct sl_builder *b, struct sl_bag_shape shape);
struct sl_tensor *sl_bag_apply(struct sl_tape *t, const struct sl_bag *bag,
                               struct sl_tensor *logits);

/* How a sequence becomes one row. */
enum sl_pooling { SL_POOLING_MEAN, SL_POOLING_FIRST, SL_POOLING_LAST };

extern const char *const sl_pooling_names[]; /* ends with NULL */

/* From the stream to answers: for completion the norm of the wanted rows times the tied table; for
 * classification the norm of all rows, one row per sequence, and a linear layer. */
struct sl_head {
    struct sl_norm norm; /* no gain: none */
    struct sl_embedding embedding;
    struct sl_linear_layer classify; /* no weight: completion */
    enum sl_pooling pooling;
};

struct sl_head_shape {
    struct sl_embedding embedding;
    int classes; /* 0 for completion */
    enum sl_pooling pooling;
    bool without_norm; /* classification only */
};
struct sl_head sl_head_build(struct sl_builder *b, struct sl_head_shape shape);
struct sl_tensor *sl_head_apply(struct sl_tape *t, const struct sl_head *head, struct sl_tensor *h);
/* The rows that a classifier reads, one per sequence: of other rows the last block need compute no
 * more than keys and values. NULL: it reads all, or everything is to be computed. */
const struct sl_rows *sl_head_reads(struct sl_tape *t, const struct sl_head *head);

/* One row per sequence; x is fp32 or an operand. Result: fp32, or x's type when it chooses rows. */
struct sl_tensor *sl_pool(struct sl_tape *t, struct sl_tensor *x, enum sl_pooling pooling);

/* What a gate lets through: NULL value means 1, NULL rows means all rows. */
struct sl_gate {
    struct sl_tensor *value;
    const struct sl_rows *rows;
};

/* A pre-norm transformer block whose two updates a gate may scale or skip, row by row:
 *     h += g attention(norm(h));   h += g mlp(norm(h))
 * Skipped rows cost only what others need of them: the first norm, their keys and their values. */
struct sl_block_shape {
    int width, heads, hidden;
    float residual_deviation; /* of the weights that write to the residual stream */
    float dropout;
    bool both_ways; /* attention looks at the whole sequence */
    enum sl_activation activation;
    bool bias;              /* attention has biases, and all of it starts as PyTorch's does */
    float residual_dropout; /* of attention's update; the MLP's has `dropout` */
};

struct sl_block {
    struct sl_norm attention_norm, mlp_norm;
    struct sl_linear_layer query, key_value, project, up, down;
    int heads, cache_at;
    float dropout, residual_dropout;
    bool both_ways;
    enum sl_activation activation;
};
struct sl_block sl_block_build(struct sl_builder *b, struct sl_block_shape shape);
struct sl_tensor *sl_block_apply(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *h,
                                 struct sl_gate gate);

/* All of them, ungated. The last one computes these rows alone; NULL: all rows. */
struct sl_tensor *sl_blocks_apply(struct sl_tape *t, const struct sl_block *blocks, int depth,
                                  struct sl_tensor *h, const struct sl_rows *last);

/* A token-wise router (TSA, section 2.3): p = sigmoid(w2 relu(w1 h + b1) + b2) is the probability
 * of skipping; the gate it gives is 1 - p, or a choice of rows, as the tape's policy says. Rows
 * that are not `among` those given (NULL: all) are left out unseen. */
struct sl_router {
    struct sl_linear_layer up, down;
};
struct sl_router sl_router_build(struct sl_builder *b, int width, int hidden, float bias_start);
struct sl_gate sl_router_apply(struct sl_tape *t, const struct sl_router *r, struct sl_tensor *h,
                               struct sl_price_args price, const struct sl_rows *among);

/* A linear layer whose weight is divided by its largest singular value (Miyato et al. 2018), as
 * power iterations estimate it: sigma = u^T W v. u and v are constants to the gradient. */
struct sl_spectral {
    struct sl_parameter *raw, *u, *v;
    struct sl_linear_layer layer; /* W / sigma, and the bias */
};
struct sl_spectral sl_spectral_build(struct sl_builder *b, const char *name, int outs, int ins);

/* The stream of a model that applies one block until its tokens have halted (Epsilon, section 3.4).
 * While training, and when the policy is dense, all rows take every step. Otherwise a sequence
 * leaves as soon as its first token has halted, since nothing else of it is asked for; and each
 * step is taken by the first tokens before the others (`leaders`), who follow only where it turns
 * out that a first token goes on (`followers`). Rows that are left out change no bit of others. */
struct sl_stream {
    struct sl_tensor *h;           /* a row for each token of the sequences that are still there */
    struct sl_stretches stretches; /* those sequences within h */
    bool *padding;                 /* per row of h: it never halts */
    const struct sl_rows *leaders; /* rows of h; NULL: all rows go together */
    const struct sl_rows *followers; /* rows of h that take this step late; NULL: nobody */
    struct sl_tensor *output;        /* a row for each sequence of the batch */
    struct sl_halts halts;
    float share; /* 1 / rows, without padding, in the whole training batch */
    int step;    /* that is being taken, from 1 */
    /* First tokens by their place in h and in the batch, rows that follow; and their numbers. */
    struct sl_rows firsts, batch_rows, late;
    int32_t *first, *batch_row, *follower;
};
/* padding_token: as in struct sl_config. */
struct sl_stream *sl_stream_begin(struct sl_tape *t, struct sl_tensor *h, int steps_most,
                                  int padding_token);
/* Whether there is another step to take. */
bool sl_stream_runs(const struct sl_tape *t, const struct sl_stream *s);

/* The stream of a language model that applies one block until its tokens have halted, each for
 * itself: a row that has halted stays as it is from then on (Dehghani et al. 2019), and later rows
 * go on to see it. Its keys and values are then the same in every further step. Training, and when
 * the policy is dense, all rows take every step and a gate of 0 undoes it; otherwise rows that have
 * halted are left out, which changes no bit. */
struct sl_walk {
    struct sl_tensor *h, *output; /* all rows of the batch */
    struct sl_halts halts;
    struct sl_gate gate;         /* rows that take this step */
    const struct sl_rows *moved; /* rows that took the last step; NULL: all */
    const struct sl_rows *among; /* those of the gate, by their places among those that moved */
    /* Of all rows, where only those of rows that moved are computed; else NULL. */
    struct sl_tensor *key_value, *shares;
    float share; /* 1 / rows in the whole training batch */
    int step;    /* that is being taken, from 1 */
    /* Lists of rows: two that take turns, and places among the last one. */
    struct sl_rows lists[2], places;
    int32_t *row[2], *place;
};
struct sl_walk *sl_walk_begin(struct sl_tape *t, struct sl_tensor *h, int steps_most);
/* Whether there is another step: while some row has not halted, and for caches to the last. */
bool sl_walk_runs(const struct sl_tape *t, const struct sl_walk *w);

/* One linear layer for each step gives the scores by which tokens halt; the loss has a price on the
 * divergence of the steps that a token takes from a geometric distribution with this mean. The
 * price falls to a tenth in the course of the training: 0.1 + 0.45 (1 + cos(pi progress)). */
struct sl_halting {
    struct sl_linear_layer *scores; /* per step */
    float price, mean;
};

struct sl_halting_shape {
    int width, steps_most;
    float price, mean;
};
struct sl_halting sl_halting_build(struct sl_builder *b, struct sl_halting_shape shape);
/* Who halts in this step: between the updates of leaders and followers. */
void sl_halting_apply(struct sl_tape *t, const struct sl_halting *halting, struct sl_stream *s);
/* After the followers: those who have halted leave, and the next step begins. */
void sl_stream_advance(struct sl_tape *t, struct sl_stream *s);
/* After the last step: what became of the first tokens. */
struct sl_tensor *sl_stream_finish(struct sl_tape *t, struct sl_stream *s);

/* The same three for a walk, where every row halts and has an output. */
void sl_halting_each(struct sl_tape *t, const struct sl_halting *halting, struct sl_walk *w);
void sl_walk_advance(struct sl_tape *t, struct sl_walk *w);
struct sl_tensor *sl_walk_finish(struct sl_tape *t, struct sl_walk *w);

/* Histogram attention (Epsilon, section 3.3): keys meet prototypes of bins in a space of `latents`
 * dimensions, assign = U W_bin / tau with tau = max(exp(log_tau), 1e-3) + 1e-8 of each head. */
struct sl_histogram_shape {
    int width, heads, bins, latents;
    float dropout;
    bool bin_padding;
    int steps; /* of a walk, whose sums the cache remembers; 0: a stream */
};

struct sl_histogram {
    struct sl_linear_layer query, key_value, project;
    struct sl_parameter *latent, *prototypes, *log_tau, *assign;
    struct sl_histogram_shape shape;
    size_t cache_at;
};
struct sl_histogram sl_histogram_build(struct sl_builder *b, struct sl_histogram_shape shape);
/* The bins of every sequence of the stream; x: its rows, normed. entropy_price is of the mean over
 * rows and heads. */
struct sl_tensor *sl_histogram_fill(struct sl_tape *t, const struct sl_histogram *a,
                                    const struct sl_stream *s, struct sl_tensor *x,
                                    float entropy_price);
/* What rows of the stream (NULL: all) read from them. */
struct sl_tensor *sl_histogram_read(struct sl_tape *t, const struct sl_histogram *a,
                                    const struct sl_stream *s, struct sl_tensor *x,
                                    struct sl_tensor *bins, const struct sl_rows *rows);
/* For a walk: before its first step; and in each, what the rows of the gate read from the bins that
 * they and all before them have filled. x: the rows that moved, normed. */
void sl_histogram_begin(struct sl_tape *t, const struct sl_histogram *a, struct sl_walk *w);
struct sl_tensor *sl_histogram_look_back(struct sl_tape *t, const struct sl_histogram *a,
                                         const struct sl_walk *w, struct sl_tensor *x,
                                         float entropy_price);

/* A mixture of `count` MLPs under a gate that looks at each row. used 0: every row takes all of
 * them, by its gate; else those with the largest gates, and no other is computed. */
struct sl_experts_shape {
    int width, hidden, count, used;
    float dropout;       /* of the hidden features */
    float balance_price; /* while training, of sending rows to few experts; used > 0 only */
};

/* The weights of one, which follow from those of all. */
struct sl_expert {
    const struct sl_parameter *up, *down;
};

struct sl_experts {
    struct sl_linear_layer gate;
    struct sl_parameter *up, *up_bias;     /* count * hidden x width */
    struct sl_parameter *down, *down_bias; /* width x count * hidden, width x count */
    const struct sl_expert *each;          /* NULL when every row takes all of them */
    int count, hidden, used;
    float dropout, balance_price;
};
struct sl_experts sl_experts_build(struct sl_builder *b, struct sl_experts_shape shape);
/* origin: as in struct sl_linear_args. */
struct sl_tensor *sl_experts_apply(struct sl_tape *t, const struct sl_experts *e,
                                   struct sl_tensor *x, const int32_t *origin);

/* A projection through random rotations that are frozen; only the diagonal between them and a bias
 * are learnt (TransEvolve, equations 10 and 11): y = f((x U) s V + b). The rotations move with
 * `time`. A model that is trained takes x through the factors, which is less work than the gradient
 * of a weight; one that is only served has W = U diag(s) V made once. */
struct sl_rotation {
    struct sl_parameter *scales, *bias;
    struct sl_parameter *in, *out; /* U^T: rank x ins; V^T: outs x rank; rank = min(ins, outs) */
    struct sl_parameter *weight;   /* W^T */
};

struct sl_rotation_shape {
    int outs, ins; /* even */
    int time;
    float bound; /* s starts U(-bound, bound) */
};
struct sl_rotation sl_rotation_build(struct sl_builder *b, const char *name,
                                     struct sl_rotation_shape shape);
/* args: all but weight and bias. */
struct sl_tensor *sl_rotation_apply(struct sl_tape *t, const struct sl_rotation *r,
                                    struct sl_tensor *x, struct sl_linear_args args);

/* What time adds to attention (TransEvolve, equation 6): at each depth a vector T, learnt
 * coefficients times waves, is projected to where keys and queries live. Of the products that
 * brings about, a softmax over keys is moved by that of T's projection with the key alone; so all
 * of it is a bias per key, head and depth:
 *     bias^l_jh = key_j . g^l_h        g^l_h = sum over the columns c of head h of matrix_c T^l_c
 * The other matrix, which would project T for queries, moves nothing. It is a parameter for the
 * sake of the published counts, and its gradient is 0. */
struct sl_drift {
    struct sl_parameter *matrix;        /* keys' columns x width */
    struct sl_parameter **coefficients; /* of each depth: 1 x width */
    struct sl_parameter *weight;        /* g, a row for each depth and head */
    float *waves, *times, *slopes;      /* depths x width: those of T, T; width: work */
    int heads, depths;
};

/* Wave j of half of the columns, of sines and then of cosines, has at depth l the angle
 *     turn (first + l) (first + j). */
struct sl_drift_shape {
    int keys, width; /* columns of a key; of T */
    int heads, depths;
    double turn;
    int first;
};
struct sl_drift sl_drift_build(struct sl_builder *b, const char *name, struct sl_drift_shape shape);

/* Records that every row, or those of a gate, ran one more block. */
void sl_note_layer(struct sl_tape *t, const struct sl_rows *rows);

/* Early exit (TSA, section 3.5): begin comes before the blocks, exit after each that may be left.
 * Training: records the loss of these logits, and all rows stay. Otherwise rows whose largest
 * softmax exceeds the policy's threshold leave: their logits are final. logits has one row per
 * row of `staying` (NULL: all). Returns the rows that stay; the last exit takes everybody. */
struct sl_exit_rule {
    float weight; /* of this exit's loss */
    bool last;
};

void sl_exit_begin(struct sl_tape *t, int vocab);
const struct sl_rows *sl_exit(struct sl_tape *t, struct sl_tensor *logits,
                              const struct sl_rows *staying, struct sl_exit_rule rule);
/* The gate of the rows that stay, as the policy has it. */
struct sl_gate sl_exit_gate(struct sl_tape *t, const struct sl_rows *staying);
