/* transformer_head.h - what follows the last layer of a published transformer, by task. Internal to
 * this folder.
 *
 *     completion       final_norm(h) E^T, or times a table of its own
 *     classification   output(dense(pooled final_norm(h))), dense = norm(f(W x + b)) or nothing;
 *                      of tokens without pooling
 *     pretraining      the pooled final_norm(h) after up to two dense layers f(W x + b), or
 *                      final_norm(h) of every token; of masked tokens
 *                      norm(f(W x + b)) E^T + b, or times a table of its own; of a corrupted batch
 *                      only the loss of these */
#pragma once

#include "arch/transformer/transformer_config.h"

enum { TRANSFORMER_ACTIVATION_LAST = 4 };

/* The activation functions, by name and by number. */
extern const char *const sl_transformer_activation_names[];
extern const enum sl_activation sl_transformer_activations[];

struct transformer_head {
    enum sl_task task;
    enum sl_pooling pooling;
    enum sl_activation activation;
    struct sl_embedding embedding;        /* whose table gives logits of tokens */
    struct sl_linear_layer dense, output; /* without weight: none */
    struct sl_parameter *output_bias;     /* of the logits of masked tokens */
    struct sl_norm norm;                  /* after dense; without weight: none */
    struct sl_linear_layer embedding_dense[TRANSFORMER_DENSE_MAX]; /* likewise */
    enum sl_activation embedding_activation[TRANSFORMER_DENSE_MAX];
};

/* It is pretrained, and has the head for masked tokens. */
bool sl_transformer_predicts_tokens(const struct sl_config *c);
/* Numbers of a text's embedding. */
int sl_transformer_embedding_size(const struct sl_config *c);
/* Whether matrix products read the token table. */
bool sl_transformer_head_reads_tokens(const struct sl_config *c);

struct transformer_head sl_transformer_head_build(struct sl_builder *b, const struct sl_config *c,
                                                  const struct sl_embedding *embedding,
                                                  struct sl_norm_shape norm);
/* As sl_output_head_rows. */
const struct sl_rows *sl_transformer_head_rows(struct sl_tape *t,
                                               const struct transformer_head *head);
/* final_norm: without weight, there is none. */
struct sl_tensor *sl_transformer_head_apply(struct sl_tape *t, const struct transformer_head *head,
                                            const struct sl_norm *final_norm, struct sl_tensor *h);
