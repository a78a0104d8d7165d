/* transevolve.h - the parts of TransEvolve: attention that evolves with depth, random rotations. */
#pragma once

#include "arch/arch.h"

struct sl_transevolve_config {
    int blocks;
    int feed_forward, time_encoding; /* enum feed_forward, enum time_encoding */
    bool skip_time_zero;
};

SL_CONFIG_FITS(struct sl_transevolve_config);

/* -- ops -------------------------------------------------------------------------------------- */

/* y_ic = x_ic s_c, as an operand. x: fp32; elements of s past the columns of x are ignored. */
struct sl_tensor *sl_diagonal_scale(struct sl_tape *t, struct sl_tensor *x,
                                    const struct sl_parameter *s);

/* y_i = (0, x_i): the logits of two classes whose softmax is the logistic function of x_i.
 * x: n x 1. */
struct sl_tensor *sl_two_class_logits(struct sl_tape *t, struct sl_tensor *x);

/* Attention that evolves with depth (TransEvolve, section 3): query-key scores are computed once,
 * and at each depth l only a bias per key and head changes. Per sequence and head:
 *     y_i = sum_j softmax_j(q_i . k_j / sqrt(width / heads) + bias^l_j) value_j
 * over the keys that i sees: up to itself, or with bidirectional its whole sequence. query, key:
 * rows x width operands; bias: rows x (depths heads) fp32, its columns those of depth 0 first;
 * value: an operand with any number of columns that heads divides; the result has as many, and the
 * same type. key, bias and value have as many rows as `source`, if there is one. Sequences with a
 * cache (all or none have one, never with bidirectional) append their keys, biases and values to it
 * and attend to everything in it. */
struct sl_transevolve_scores_args {
    int heads;
    bool bidirectional;
    int cache_keys, cache_bias; /* columns of operands: width of them; of floats: depths heads */
    /* Or of other texts, as in sl_attention_args: then each query sees all of its source. */
    const struct sl_view *source;
    const int32_t *source_of;
};

struct sl_transevolve_attention_args {
    int depth;
    int cache_values; /* columns of operands, as many as value has */
};
struct sl_transevolve_score_table; /* in the tape */

struct sl_transevolve_score_table *sl_transevolve_scores(struct sl_tape *t, struct sl_tensor *query,
                                                         struct sl_tensor *key,
                                                         struct sl_tensor *bias,
                                                         struct sl_transevolve_scores_args args);
struct sl_tensor *sl_transevolve_attention(struct sl_tape *t,
                                           const struct sl_transevolve_score_table *state,
                                           struct sl_tensor *value,
                                           struct sl_transevolve_attention_args args);

/* -- layers ----------------------------------------------------------------------------------- */

/* A projection through random rotations that are frozen; only the diagonal between them and a bias
 * are trained (TransEvolve, equations 10 and 11): y = f((x U) s V + b). The rotations depend on
 * `time`. While training, x is multiplied by the factors one after another, which is cheaper than
 * the gradient of W; for serving, W = U diag(s) V is computed once. */
struct sl_random_rotation {
    struct sl_parameter *scales, *bias;
    struct sl_parameter *in, *out; /* U^T: rank x ins; V^T: outs x rank; rank = min(ins, outs) */
    struct sl_parameter *weight;   /* W^T */
};

struct sl_random_rotation_shape {
    int outs, ins; /* even */
    int time;
    float bound;        /* s starts U(-bound, bound) */
    const char *stream; /* of the frozen rotations: see sl_init */
};
struct sl_random_rotation sl_random_rotation_build(struct sl_builder *b, const char *name,
                                                   struct sl_random_rotation_shape shape);
/* args: all but weight and bias. */
struct sl_tensor *sl_random_rotation_apply(struct sl_tape *t, const struct sl_random_rotation *r,
                                           struct sl_tensor *x, struct sl_linear_args args);

/* The attention bias from time (TransEvolve, equation 6): at each depth a vector T (trained
 * coefficients times sine waves) is projected to the space of keys and queries. Of the resulting
 * products only that of T's projection with the key changes a softmax over keys, so the effect is a
 * bias per key, head and depth:
 *     bias^l_jh = key_j . g^l_h        g^l_h = sum over the columns c of head h of matrix_c T^l_c
 * The other matrix, which projects T for queries, has no effect. It exists so that parameter counts
 * agree with the paper; its gradient is 0. */
struct sl_time_bias {
    struct sl_parameter *matrix;        /* keys' columns x width */
    struct sl_parameter **coefficients; /* of each depth: 1 x width */
    struct sl_parameter *weight;        /* g, a row for each depth and head */
    float *waves, *times, *dtime;       /* depths x width: those of T, T; width: work */
    int heads, depths;
};

/* The first half of the columns are sines, the second half cosines; wave j has at depth l the angle
 *     angle_step (first + l) (first + j). */
struct sl_time_bias_shape {
    int keys, width; /* columns of a key; of T */
    int heads, depths;
    double angle_step;
    int first;
};
struct sl_time_bias sl_time_bias_build(struct sl_builder *b, const char *name,
                                       struct sl_time_bias_shape shape);
