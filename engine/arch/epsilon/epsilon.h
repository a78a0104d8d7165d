/* epsilon.h - the parts of Epsilon: histogram attention, halting, spectral normalisation. */
#pragma once

#include "arch/arch.h"

struct sl_epsilon_config {
    int bins, latent_dim; /* B, d_lat */
    bool mask_padding;
    float residual_scale, ponder_prior_mean, kl_weight, entropy_weight;
};

SL_CONFIG_FITS(struct sl_epsilon_config);

struct sl_epsilon_policy {
    float halting_threshold; /* halt when the probabilities sum to this; 0 or 1: as trained */
};

SL_POLICY_FITS(struct sl_epsilon_policy);

/* -- ops -------------------------------------------------------------------------------------- */

/* y_i = weight sqrt(cols / (cols - 1)) (x_i - mean) + bias, as an operand. Epsilon, section 3.2. */
struct sl_tensor *sl_centernorm(struct sl_tape *t, struct sl_tensor *x,
                                const struct sl_parameter *weight, const struct sl_parameter *bias);

/* h with rows h_{rows_i} = x_i (NULL: all), in its place; fp32. Never while training. */
struct sl_tensor *sl_scatter_rows(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *x,
                                  const struct sl_rows *rows);

/* Histogram attention (Epsilon, section 3.3). First, per head, the keys and values of rows are
 * assigned to a few bins:
 *     a_i = softmax_b(key_i . assign_b)
 * key_value: rows x 2 width, fp32, keys then values; assign: width x bins, a head's rows after one
 * another. Adds entropy_weight * sum over heads and rows but padding of sum_b a_ib log a_ib to the
 * loss. Result: rows x (heads bins), fp32. */
struct sl_histogram_assign_args {
    const struct sl_parameter *assign;
    const bool *padding; /* per row; NULL: none is */
    int heads;
    bool bin_padding; /* padding is assigned to bins, too; else its assignments are 0 */
    float entropy_weight;
};
struct sl_tensor *sl_histogram_assign(struct sl_tape *t, struct sl_tensor *key_value,
                                      struct sl_histogram_assign_args args);

/* Then the keys and values of each bin are the means of those of its segment:
 *     M_b = sum_i a_ib + 1e-6
 *     keys_b = sum_i a_ib key_i / M_b;   values_b = sum_i a_ib value_i / M_b
 * Result: segments x (2 width bins). */
struct sl_histogram_bin_means_args {
    struct sl_segments segments;
    int heads;
};
struct sl_tensor *sl_histogram_bin_means(struct sl_tape *t, struct sl_tensor *key_value,
                                         struct sl_tensor *assignments,
                                         struct sl_histogram_bin_means_args args);

/* And queries attend to the bins of their segment:
 *     out_j = sum_b dropout(softmax_b(query_j . keys_b / sqrt(head_dim))) values_b
 * query: n x width, fp32; row i belongs to row rows_i of the segments (NULL: i; must be while
 * training). Result: n x width operand. */
struct sl_histogram_attend_args {
    struct sl_segments segments;
    const struct sl_rows *rows;
    int heads;
    float dropout;
};
struct sl_tensor *sl_histogram_attend(struct sl_tape *t, struct sl_tensor *query,
                                      struct sl_tensor *bins, struct sl_histogram_attend_args args);

/* The same for a language model: the bins of a query contain its own row and earlier rows of its
 * sequence. query: n x width, fp32; row i belongs to row rows_i of the batch (NULL: i; must be
 * while training); key_value, assignments: of all rows. A sequence with a cache continues from the
 * sums in its state at `cache_at`, sl_histogram_attend_causal_floats() of them, and stores its own
 * there. The bits do not depend on how a text is divided into chunks. Result: n x width operand. */
struct sl_histogram_attend_causal_args {
    const struct sl_rows *rows;
    int heads;
    size_t cache_at;
    float dropout;
};
struct sl_tensor *sl_histogram_attend_causal(struct sl_tape *t, struct sl_tensor *query,
                                             struct sl_tensor *key_value,
                                             struct sl_tensor *assignments,
                                             struct sl_histogram_attend_causal_args args);

static inline size_t sl_histogram_attend_causal_floats(int width, int heads, int bins)
{
    return (2 * (size_t)width + (size_t)heads) * (size_t)bins;
}

/* The halting state of each row of the batch, shared by the steps of one pass. */
struct sl_halting_state {
    int max_steps;
    int32_t *steps;        /* in which it halted; 0: not yet */
    float *remainder;      /* 1 - the sum of its halting probabilities so far */
    float *remainder_grad; /* its gradient, see halting_step.c; only while training */
    bool *padding;         /* ignored: it never halts and adds no loss */
};

/* One step of halting (Epsilon, section 3.4; Graves 2016):
 *     p_i = min(sigmoid(score_i), remainder_i);   remainder_i -= p_i
 *     output_s += p h of the first row of sequence s; in the last step (p + remainder) h
 * A row halts when it takes all that remains. If no more than 1 - halting_threshold would remain,
 * it takes that, too. Adds kl_weight * sum over rows that have not halted of p_i (log p_i -
 * log_prior), in the last step also remainder_i (log remainder_i - log_prior_remainder), to the
 * loss. scores: one per row of the batch; states: h of the first rows; or both of some first rows
 * alone (`rows`, by their number in the batch; NULL while training). With every_row each row has an
 * output, and rows are any. Serving: output itself is updated and returned. */
struct sl_halting_step_args {
    struct sl_halting_state *halting;
    const struct sl_rows *rows;
    bool every_row;
    int step; /* from 1 */
    float kl_weight, log_prior, log_prior_remainder;
};
struct sl_tensor *sl_halting_step(struct sl_tape *t, struct sl_tensor *output,
                                  struct sl_tensor *states, struct sl_tensor *scores,
                                  struct sl_halting_step_args args);

/* -- layers ----------------------------------------------------------------------------------- */

/* A linear layer whose weight is divided by its largest singular value (Miyato et al. 2018), as
 * power iterations estimate it: sigma = u^T W v. u and v have no gradient. */
struct sl_spectral_linear {
    struct sl_parameter *raw, *u, *v;
    struct sl_linear_layer layer; /* W / sigma, and the bias */
};
struct sl_spectral_linear sl_spectral_linear_build(struct sl_builder *b, const char *name, int outs,
                                                   int ins);

/* The state of a model that applies one block until its tokens have halted (Epsilon, section 3.4).
 * While training, and when the policy is dense, all rows take every step. Otherwise a sequence
 * leaves as soon as its first token has halted, because only that token's output is needed. In each
 * step the first tokens are computed before the others (`first_tokens`); the other rows of a
 * sequence follow only if its first token has not halted (`other_tokens`). Rows that are left out
 * change no bit of others. */
struct sl_recurrence {
    struct sl_tensor *h;         /* a row for each token of the sequences that are still there */
    struct sl_segments segments; /* those sequences within h */
    bool *padding;               /* per row of h: it never halts */
    const struct sl_rows *first_tokens; /* rows of h; NULL: all rows go together */
    const struct sl_rows *other_tokens; /* rows of h that take this step late; NULL: none */
    struct sl_tensor *output;           /* a row for each sequence of the batch */
    struct sl_halting_state halting;
    float row_weight; /* 1 / rows, without padding, in the whole training batch */
    int step;         /* that is being taken, from 1 */
    /* First tokens by their row in h and in the batch, following rows, and their numbers. */
    struct sl_rows first_list, batch_rows, other_list;
    int32_t *first, *batch_row, *other;
};
/* padding_token: as in struct sl_config. */
struct sl_recurrence *sl_recurrence_begin(struct sl_tape *t, struct sl_tensor *h, int max_steps,
                                          int padding_token);
/* Whether there is another step to take. */
bool sl_recurrence_has_next(const struct sl_tape *t, const struct sl_recurrence *s);

/* The state of a language model that applies one block until its tokens have halted, each on its
 * own: a row that has halted no longer changes (Dehghani et al. 2019), and later rows still attend
 * to it. Its keys and values are then the same in every further step. While training, and when the
 * policy is dense, all rows take every step and a gate of 0 discards the result; otherwise halted
 * rows are left out, which changes no bit. */
struct sl_causal_recurrence {
    struct sl_tensor *h, *output; /* all rows of the batch */
    struct sl_halting_state halting;
    struct sl_gate gate;                 /* rows that take this step */
    const struct sl_rows *computed_rows; /* rows that the last step computed; NULL: all */
    const struct sl_rows *gate_index;    /* the gate's rows, by their index in computed_rows */
    /* Of all rows, where only those of computed_rows change; else NULL. */
    struct sl_tensor *key_value, *assignments;
    float row_weight; /* 1 / rows in the whole training batch */
    int step;         /* that is being taken, from 1 */
    /* Lists of rows: two that alternate, and indices into the last one. */
    struct sl_rows lists[2], places;
    int32_t *row[2], *place;
};
struct sl_causal_recurrence *sl_causal_recurrence_begin(struct sl_tape *t, struct sl_tensor *h,
                                                        int max_steps);
/* Whether there is another step: while some row has not halted; with caches, up to the last. */
bool sl_causal_recurrence_has_next(const struct sl_tape *t, const struct sl_causal_recurrence *w);

/* One linear layer per step computes the halting scores. The loss includes kl_weight times the
 * divergence of the halting distribution from a geometric prior with mean `prior_mean`. The weight
 * falls to a tenth during training: 0.1 + 0.45 (1 + cos(pi progress)). */
struct sl_halting_layer {
    struct sl_linear_layer *scores; /* per step */
    float kl_weight, prior_mean;
};

struct sl_halting_layer_shape {
    int width, max_steps;
    float kl_weight, prior_mean;
};
struct sl_halting_layer sl_halting_layer_build(struct sl_builder *b,
                                               struct sl_halting_layer_shape shape);
/* Decides which rows halt in this step; called between the updates of first and other tokens. */
void sl_halting_layer_apply(struct sl_tape *t, const struct sl_halting_layer *layer,
                            struct sl_recurrence *s);
/* After the update of other tokens: halted sequences leave, and the next step begins. */
void sl_recurrence_advance(struct sl_tape *t, struct sl_recurrence *s);
/* After the last step: the outputs of the first tokens. */
struct sl_tensor *sl_recurrence_finish(struct sl_tape *t, struct sl_recurrence *s);

/* The same three for a causal recurrence, where every row halts and has an output. */
void sl_halting_layer_apply_causal(struct sl_tape *t, const struct sl_halting_layer *layer,
                                   struct sl_causal_recurrence *w);
void sl_causal_recurrence_advance(struct sl_tape *t, struct sl_causal_recurrence *w);
struct sl_tensor *sl_causal_recurrence_finish(struct sl_tape *t, struct sl_causal_recurrence *w);

/* Histogram attention (Epsilon, section 3.3): keys are compared with bin prototypes in a space of
 * `latents` dimensions, assign = U W_bin / tau with tau = max(exp(log_tau), 1e-3) + 1e-8 of each
 * head. */
struct sl_histogram_attention_shape {
    int width, heads, bins, latents;
    float dropout;
    bool bin_padding;
    int steps; /* of a causal recurrence, whose sums are cached; 0: not causal */
};

struct sl_histogram_attention {
    struct sl_linear_layer query, key_value, project;
    struct sl_parameter *latent, *prototypes, *log_tau, *assign;
    struct sl_histogram_attention_shape shape;
    size_t cache_at;
};
struct sl_histogram_attention sl_histogram_attention_build(
    struct sl_builder *b, struct sl_histogram_attention_shape shape);
/* The bins of every sequence of the recurrence; x: its rows, normed. entropy_weight is of the mean
 * over rows and heads. */
struct sl_tensor *sl_histogram_attention_bin_means(struct sl_tape *t,
                                                   const struct sl_histogram_attention *a,
                                                   const struct sl_recurrence *s,
                                                   struct sl_tensor *x, float entropy_weight);
/* Attention of rows of the recurrence (NULL: all) to the bins. */
struct sl_tensor *sl_histogram_attention_apply(struct sl_tape *t,
                                               const struct sl_histogram_attention *a,
                                               const struct sl_recurrence *s, struct sl_tensor *x,
                                               struct sl_tensor *bins, const struct sl_rows *rows);
/* For a causal recurrence. Begin comes before the first step; in each step the gate's rows attend
 * to the bins of themselves and all rows before them. x: computed_rows, normalised. */
void sl_histogram_attention_begin(struct sl_tape *t, const struct sl_histogram_attention *a,
                                  struct sl_causal_recurrence *w);
struct sl_tensor *sl_histogram_attention_apply_causal(struct sl_tape *t,
                                                      const struct sl_histogram_attention *a,
                                                      const struct sl_causal_recurrence *w,
                                                      struct sl_tensor *x, float entropy_weight);
