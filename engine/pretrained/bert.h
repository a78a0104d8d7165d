/* bert.h - the rows of BERT that its descendants share. */
#pragma once

#include "pretrained/family.h"

/* Facts. */
#define SL_BERT_FACTS                                                                              \
    {"norm_after", "true"}, {"first_attention_norm", "true"}, {"final_norm", "false"},             \
        {"embedding_norm", "true"},                                                                \
    {                                                                                              \
        "positions", "learned"                                                                     \
    }

/* Fields, with the rows of token types and the epsilon of files that do not say them. */
#define SL_BERT_FIELDS(types, epsilon)                                                             \
    {"hidden_size", "width", NULL, 0}, {"num_hidden_layers", "depth", NULL, 0},                    \
        {"num_attention_heads", "heads", NULL, 0}, {"intermediate_size", "ffn_width", NULL, 0},    \
        {"max_position_embeddings", "context_length", NULL, 0},                                    \
        {"type_vocab_size", "token_types", types, 0}, {"hidden_act", "activation", "gelu", 0},     \
        {"hidden_act", "head_activation", "gelu", 0},                                              \
        {"tie_word_embeddings", "tied_output", "true", 0},                                         \
    {                                                                                              \
        "layer_norm_eps", "norm_epsilon", epsilon, 0                                               \
    }

extern const struct sl_family_fact sl_bert_facts[];
extern const struct sl_family_demand sl_bert_demands[];
extern const struct sl_family_weight sl_bert_weights[];

/* Of models that only give embeddings, that predict masked tokens, the same with a GELU in any
 * case, and that classify by the first token's dense layer with a tanh. */
extern const struct sl_family_fact sl_embedding_facts[], sl_masked_facts[], sl_gelu_masked_facts[],
    sl_pooler_facts[];
/* Of models with an output layer and nothing before it. */
extern const struct sl_family_weight sl_output_weights[];
