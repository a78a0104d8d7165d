/* transformer.h - published transformers, for the architectures that are one: alone, and with
 * routers. Internal to this folder. */
#pragma once

#include "arch/transformer/transformer_config.h"
#include "arch/transformer/transformer_head.h"
#include "layers/bag_of_words.h"

enum { SL_TRANSFORMER_BYTES = 2048 }; /* of its struct, at most */

extern const char *const sl_transformer_norms[], *const sl_transformer_positions[];

bool sl_transformer_check(const struct sl_config *c, struct sl_err *err) SL_MUST_CHECK;
/* Tokens of a text that the blocks read. */
int sl_transformer_block_context(const struct sl_config *c);
/* routers: between its blocks; NULL: none. */
void sl_transformer_build(struct sl_builder *b, void *self, const struct sl_config *c,
                          const struct sl_router_config *routers);
struct sl_tensor *sl_transformer_forward(struct sl_tape *t, const void *self);

/* Of embeddings only. */
#define DENSE_ROW(member, kind_, max_, default_, help_)                                            \
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), transformer_config, member, kind_, 0, max_,   \
                    default_, help_, NULL, SL_PRETRAINS)

#define DENSE_ROWS(number, after)                                                                  \
    DENSE_ROW(embedding_dense_##number, SL_INTEGER, SL_EMBEDDING_DENSE_MAX, 0,                     \
              "embeddings: features of a dense layer after " after "; 0: none"),                   \
        DENSE_ROW(embedding_dense_##number##_bias, SL_FLAG, 1, 1, "that layer has a bias"),        \
        DENSE_ROW(embedding_dense_##number##_tanh, SL_FLAG, 1, 0, "and a tanh")

/* Of classifiers only. */
#define NGRAM_ROW(member, kind_, min_, max_, default_, help_)                                      \
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), transformer_config, member, kind_, min_,      \
                    max_, default_, help_, NULL, SL_CLASSIFIES)

enum { NGRAM_ROWS_MAX = 1 << 22 };

#define FACT(kind, member, ...) SL_OWN_##kind##_ROW(transformer_config, member, __VA_ARGS__)

#define TRANSFORMER_HYPERS                                                                         \
    SL_HYPERS_DECODER,                                                                             \
        SL_CLASSIFIER_ROW(bidirectional, SL_FLAG, 0, 1, 1,                                         \
                          "classifiers: tokens attend to later tokens, too", NULL),                \
        SL_PARAM_ROW_AT(0, sl_config, pooling, SL_CHOICE, 0, SL_POOLING_LAST, SL_POOLING_MEAN,     \
                        "how token vectors become the vector of a text", sl_pooling_names,         \
                        SL_CLASSIFIES | SL_PRETRAINS),                                             \
        FACT(INTEGER, key_heads, 0, 128, 0, "heads of keys and values; 0: as many as heads"),      \
        FACT(INTEGER, head_dim, 0, 1024, 0, "features of a head; 0: width / heads"),               \
        FACT(INTEGER, window, 0, 8192, 0,                                                          \
             "local attention: tokens seen on each side (tokens); 0: all layers see everything"),  \
        FACT(INTEGER, global_attention_every, 1, 128, 1,                                           \
             "with a window: one layer in this many, from the first on, sees everything"),         \
        FACT(FLAG, query_key_value_bias, 1, "queries, keys and values have biases"),               \
        FACT(FLAG, attention_output_bias, 1, "attention's output has a bias"),                     \
        FACT(CHOICE, activation, sl_transformer_activation_names, TRANSFORMER_ACTIVATION_LAST, 0,  \
             "activation function of the MLP"),                                                    \
        FACT(FLAG, gated_mlp, 0, "the MLP multiplies its hidden layer by a gate"),                 \
        FACT(FLAG, mlp_bias, 1, "the MLP has biases"),                                             \
        FACT(CHOICE, norm, sl_transformer_norms, TRANSFORMER_RMS_NORM, TRANSFORMER_LAYER_NORM,     \
             "layer normalisation, or of the root mean square"),                                   \
        FACT(REAL, norm_epsilon, 1e-12, 1, 1e-5, "epsilon of the norms"),                          \
        FACT(FLAG, norm_after, 0, "the norm comes after each update instead of before it"),        \
        FACT(FLAG, norm_bias, 1, "norms have biases"),                                             \
        FACT(FLAG, first_attention_norm, 1, "the first layer's attention has a norm"),             \
        FACT(FLAG, final_norm, 1, "a norm follows the last layer"),                                \
        FACT(CHOICE, positions, sl_transformer_positions, TRANSFORMER_NO_POSITIONS,                \
             TRANSFORMER_LEARNED_POSITIONS, "how a token knows its position"),                     \
        FACT(INTEGER, position_offset, 0, 64, 0, "learned positions: the row of the first"),       \
        FACT(INTEGER, token_types, 0, 16, 0, "rows of the table of token types; 0: no table"),     \
        FACT(INTEGER, embedding_size, 0, 8192, 0, "width of the embeddings; 0: width"),            \
        FACT(FLAG, embedding_norm, 0, "a norm follows the embeddings"),                            \
        FACT(REAL, rotary_base, 1, 1e9, 10000, "rotary positions: the base of the wavelengths"),   \
        FACT(REAL, rotary_local_base, 1, 1e9, 10000, "the same of layers with a window"),          \
        FACT(REAL, rotary_fraction, 0, 1, 1,                                                       \
             "rotary positions: how much of each head is rotated"),                                \
        FACT(FLAG, tied_output, 1, "the token table also gives the logits of tokens"),             \
        FACT(FLAG, head_dense, 0, "a dense layer comes before the output layer"),                  \
        FACT(FLAG, head_dense_bias, 1, "that layer has a bias"),                                   \
        FACT(FLAG, head_norm, 0, "a norm follows that layer"),                                     \
        FACT(CHOICE, head_activation, sl_transformer_activation_names,                             \
             TRANSFORMER_ACTIVATION_LAST, 0, "activation function of that layer"),                 \
        FACT(FLAG, output_layer_bias, 1, "classifiers: the output layer has a bias"),              \
        NGRAM_ROW(ngram_order, SL_INTEGER, 1, SL_NGRAM_ORDER_MAX, 2,                               \
                  "n-grams beside the blocks: length of the longest, in words"),                   \
        NGRAM_ROW(ngram_rows, SL_INTEGER, 0, NGRAM_ROWS_MAX, 0, "rows of their table; 0: none"),   \
        NGRAM_ROW(character_ngrams, SL_FLAG, 0, 1, 0, "n-grams of 4 characters, too"),             \
        FACT(FLAG, masked_language_model, 1, "pretraining: it predicts masked tokens"),            \
        DENSE_ROWS(1, "pooling"), DENSE_ROWS(2, "that one")
