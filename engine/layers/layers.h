/* layers.h - parameters that belong together and the ops that use them.
 *
 * Each layer is a struct, a build and an apply. Build declares parameters under the builder's
 * scope; apply records ops on a tape. The structs live in the model's arena and never change. */
#pragma once

#include "layers/builder.h"
#include "layers/source_target.h"
#include "ops/ops.h"

/* y = x w^T (+ b). Initial values U(+-1/sqrt(ins)) for both by default. */
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
/* h + the result, scaled and added as sl_residual does. */
struct sl_tensor *sl_linear_add(struct sl_tape *t, const struct sl_linear_layer *layer,
                                struct sl_tensor *h, struct sl_tensor *x,
                                struct sl_residual_args update);
/* An MLP: y = down(dropout(f(up(x)))); hidden: f and the dropout. */
struct sl_tensor *sl_mlp_apply(struct sl_tape *t, const struct sl_linear_layer *up,
                               const struct sl_linear_layer *down, struct sl_tensor *x,
                               struct sl_linear_args hidden);

/* Layer normalisation, or of the root mean square; weight 1 and bias 0 at first. */
struct sl_norm {
    struct sl_parameter *weight, *bias; /* bias NULL: none */
    float epsilon;
    bool rms;
};

/* Zeros: layer normalisation with a bias and an epsilon of 1e-5. */
struct sl_norm_shape {
    float epsilon;
    bool rms, without_bias;
};
struct sl_norm sl_norm_build(struct sl_builder *b, const char *name, int width,
                             struct sl_norm_shape shape);
struct sl_tensor *sl_norm_apply(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x);
/* Of some rows of x; NULL: all. */
struct sl_tensor *sl_norm_rows(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x,
                               const struct sl_rows *rows);
/* The same as fp32, for the residual stream. Serving: x is overwritten and returned. */
struct sl_tensor *sl_norm_stream(struct sl_tape *t, const struct sl_norm *norm,
                                 struct sl_tensor *x);

/* dropout(norm(scale E[tokens] + P[positions] + T[types])); positions are trained, or sines and
 * cosines. */
enum sl_positions {
    SL_POSITIONS_LEARNED,    /* N(0, 0.02^2) at first */
    SL_POSITIONS_SINUSOIDAL, /* Vaswani et al. 2017, section 3.5: sine and cosine side by side */
    SL_POSITIONS_SINUSOIDAL_HALVES, /* the same numbers, all sines first */
    SL_POSITIONS_NONE               /* attention has its own */
};

struct sl_embedding_shape {
    int vocab, context_length, width;
    struct sl_init start; /* of the tokens' rows */
    enum sl_positions positions;
    float scale, dropout;
    bool tied;           /* the table also gives the logits */
    int padding_token;   /* as in struct sl_config: a row of zeros that learns nothing */
    int hash_bigrams;    /* rows of the hashed bigram table, initialized to 0; 0: no such table */
    int token_types;     /* rows of the table of token types; 0: none */
    int position_offset; /* the row of the first position */
    bool norm;
    struct sl_norm_shape norm_shape;
};

struct sl_embedding {
    struct sl_parameter *tokens, *positions, *types, *bigrams; /* NULL: none, but for tokens */
    struct sl_norm norm;                                       /* without weight: none */
    float scale, dropout;
    int padding_token, position_offset;
};
struct sl_embedding sl_embedding_build(struct sl_builder *b, struct sl_embedding_shape shape);
struct sl_tensor *sl_embedding_apply(struct sl_tape *t, const struct sl_embedding *e);
/* Logits by the tied table: h E^T. */
struct sl_tensor *sl_embedding_logits(struct sl_tape *t, const struct sl_embedding *e,
                                      struct sl_tensor *h);

/* A linear model beside a deep one (Cheng et al. 2016, "Wide & Deep Learning"): logits of the set
 * of a text's tokens, bigrams and trigrams, added to those of the deep model. Initialized to 0. */
struct sl_wide_ngrams {
    struct sl_parameter *table; /* NULL: none, logits are unchanged */
    int padding_token;
};

struct sl_wide_ngrams_shape {
    int rows, classes;
    int padding_token; /* as in struct sl_config */
};
struct sl_wide_ngrams sl_wide_ngrams_build(struct sl_builder *b, struct sl_wide_ngrams_shape shape);
struct sl_tensor *sl_wide_ngrams_apply(struct sl_tape *t, const struct sl_wide_ngrams *ngrams,
                                       struct sl_tensor *logits);

/* How a sequence becomes one row. */
enum sl_pooling { SL_POOLING_MEAN, SL_POOLING_FIRST, SL_POOLING_LAST };

extern const char *const sl_pooling_names[]; /* ends with NULL */

/* The output. Completion: norm of the wanted rows, times the tied table. Classification: norm of
 * all rows, pooling to one row per sequence, and a linear layer. Pretraining: norm of all rows and
 * a GELU layer; from it the token of masked rows (Devlin et al. 2019, section 3.1), times the tied
 * table, and of every other row whether its token was replaced (Clark et al. 2020, section 2). It
 * adds both losses itself and gives NULL. A batch without corruption gets the embeddings of its
 * texts: norm of all rows, and their mean. */
struct sl_output_head {
    struct sl_norm norm; /* without weight: no norm */
    struct sl_embedding embedding;
    struct sl_linear_layer classify;          /* without weight: another task */
    struct sl_linear_layer transform, detect; /* pretraining; else without weights */
    enum sl_pooling pooling;
};

struct sl_output_head_shape {
    struct sl_embedding embedding;
    int classes; /* 0 unless it classifies */
    bool pretrains;
    enum sl_pooling pooling;
    bool without_norm; /* classification only */
};
struct sl_output_head sl_output_head_build(struct sl_builder *b, struct sl_output_head_shape shape);
struct sl_tensor *sl_output_head_apply(struct sl_tape *t, const struct sl_output_head *head,
                                       struct sl_tensor *h);
/* The rows that the head needs, one per sequence; for other rows the last block computes keys and
 * values only. NULL: all rows. */
const struct sl_rows *sl_output_head_rows(struct sl_tape *t, const struct sl_output_head *head);

/* One row per sequence; x is fp32 or an operand. Result: fp32, or x's type when it chooses rows. */
struct sl_tensor *sl_pool_sequences(struct sl_tape *t, struct sl_tensor *x,
                                    enum sl_pooling pooling);

/* The first rows of all sequences, or the last; not for SL_POOLING_MEAN. */
const struct sl_rows *sl_end_rows(struct sl_tape *t, enum sl_pooling pooling);

/* A gate: NULL value means 1, NULL rows means all rows. */
struct sl_gate {
    struct sl_tensor *value;
    const struct sl_rows *rows;
};

/* Records, if it is requested, the weights with which a part of the model acts on rows. */
void sl_gate_record(struct sl_tape *t, int part, struct sl_gate gate);

/* A transformer block, whose updates a gate may scale or skip, row by row. The norm comes before
 * (Xiong et al. 2020) or after (Vaswani et al. 2017):
 *     h += g attention(norm(h));   h += g mlp(norm(h))
 *     x = norm(h + attention(h));   y = norm(x + mlp(x));   h += g (y - h)
 * Of skipped rows only keys and values are computed, which other rows need. Zeros: as many heads of
 * keys as of queries, width / heads features each, no biases in attention, an MLP with biases. */
struct sl_block_shape {
    int width, heads, ffn_width;
    int key_heads, head_dim, window; /* as in sl_attention_args */
    float residual_deviation;        /* of the weights that write to the residual stream */
    float dropout;
    bool bidirectional; /* attention sees the whole sequence */
    enum sl_activation activation;
    bool gated_mlp;   /* down(f(gate x) (up x)): Shazeer 2020 */
    bool input_bias;  /* of queries, keys and values, */
    bool output_bias; /* of attention's output: with biases, PyTorch's initial values */
    bool without_mlp_bias;
    float residual_dropout; /* of attention's update; the MLP's has `dropout` */
    bool norm_after;
    bool without_attention_norm; /* attention reads the stream itself; only if the norm is before */
    struct sl_norm_shape norm;
    const struct sl_parameter *rotary; /* sl_rotary_table of queries and keys; NULL: none */
    bool attends_to_source; /* of a decoder that translates; only if the norm is before */
};

/* Attention of a decoder to what an encoder made of the texts that it translates (Vaswani et al.
 * 2017, section 3.2.3), with the block's heads. */
struct sl_source_attention {
    struct sl_norm norm;                              /* of the decoder's stream */
    struct sl_linear_layer query, key_value, project; /* without weights: there is none */
    int cache_at;
};

struct sl_block {
    struct sl_source_attention source; /* between attention and the MLP */
    struct sl_norm attention_norm, mlp_norm;
    struct sl_linear_layer query, key_value, project, gate, up, down;
    const struct sl_parameter *rotary;
    int heads, key_heads, head_dim, window, cache_at;
    float dropout, residual_dropout;
    bool bidirectional, norm_after, bf16_cache;
    enum sl_activation activation;
};
struct sl_block sl_block_build(struct sl_builder *b, struct sl_block_shape shape);

/* What a decoder attends to: a view's rows, as operands. */
struct sl_source {
    struct sl_tensor *x;
    const struct sl_source_target *texts;
};
/* A block of a decoder that translates, on the tape's view, which is texts->target. */
struct sl_tensor *sl_decoder_block_apply(struct sl_tape *t, const struct sl_block *k,
                                         struct sl_tensor *h, const struct sl_source *source);
struct sl_tensor *sl_block_apply(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *h,
                                 struct sl_gate gate);

/* Cosines and sines of rotary positions for sl_rotary, a fixed buffer: `dims` of the features of a
 * head are rotated, by frequencies of this base. */
struct sl_rotary_shape {
    int context_length, dims;
    float base;
};
struct sl_parameter *sl_rotary_table(struct sl_builder *b, const char *name,
                                     struct sl_rotary_shape shape);

/* All blocks, ungated. The last one computes only the rows `last`; NULL: all rows. */
struct sl_tensor *sl_blocks_apply(struct sl_tape *t, const struct sl_block *blocks, int depth,
                                  struct sl_tensor *h, const struct sl_rows *last);
