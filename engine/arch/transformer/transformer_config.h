/* transformer_config.h - the facts that describe a published transformer beyond its sizes: rows of
 * config.json. Internal to this folder. */
#pragma once

#include "arch/routed.h"

enum { TRANSFORMER_DENSE_MAX = 2 };

enum transformer_norm { TRANSFORMER_LAYER_NORM, TRANSFORMER_RMS_NORM };

enum transformer_positions {
    TRANSFORMER_LEARNED_POSITIONS,
    TRANSFORMER_ROTARY_POSITIONS,
    TRANSFORMER_NO_POSITIONS
};

struct transformer_config {
    /* attention */
    int key_heads, head_dim;            /* 0: heads; width / heads */
    int window, global_attention_every; /* 0: every layer sees everything */
    bool query_key_value_bias, attention_output_bias;
    /* the MLP */
    int activation; /* as in `activations` of transformer.c */
    bool gated_mlp, mlp_bias;
    /* norms */
    int norm; /* enum transformer_norm */
    float norm_epsilon;
    bool norm_after, norm_bias, first_attention_norm, final_norm;
    /* embeddings */
    int positions; /* enum transformer_positions */
    int position_offset, token_types, embedding_size;
    bool embedding_norm;
    float rotary_base, rotary_local_base, rotary_fraction;
    /* outputs */
    bool tied_output; /* the token table also gives the logits */
    bool head_dense;  /* a dense layer before the output of classifiers */
    bool head_dense_bias, head_norm;
    int head_activation;         /* as `activation` */
    bool output_layer_bias;      /* of a classifier's last layer */
    int ngram_order, ngram_rows; /* of a linear classifier beside the blocks; 0 rows: none */
    bool character_ngrams;
    int block_context;     /* of a cascade: tokens of a text that the blocks read; 0: all */
    float block_beginning; /* how much of these is from its beginning; the rest is from its end */
    float ngram_scale;     /* factor of the n-grams' logits in the sum of both; 0: 1 */
    bool masked_language_model; /* pretraining: has the head that predicts masked tokens */
    /* Dense layers that make a text's embedding from its pooled vector; 0: none. */
    int embedding_dense_1, embedding_dense_2; /* features of the result */
    bool embedding_dense_1_bias, embedding_dense_2_bias;
    bool embedding_dense_1_tanh, embedding_dense_2_tanh;
    struct sl_router_config routers; /* of those that have them */
};

SL_CONFIG_FITS(struct transformer_config);
