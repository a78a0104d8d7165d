/* modernbert.c - ModernBERT (Warner et al. 2024). */
#include "pretrained/bert.h"

static const struct sl_family_fact facts[] = {{"norm_after", "false"},
                                              {"first_attention_norm", "false"},
                                              {"final_norm", "true"},
                                              {"embedding_norm", "true"},
                                              {"positions", "rotary"},
                                              {"gated_mlp", "true"},
                                              {NULL, NULL}};

/* Half a window on each side. */
static const struct sl_family_field fields[] = {
    {"hidden_size", "width", NULL, 0},
    {"num_hidden_layers", "depth", NULL, 0},
    {"num_attention_heads", "heads", NULL, 0},
    {"intermediate_size", "ffn_width", NULL, 0},
    {"max_position_embeddings", "context_length", NULL, 0},
    {"hidden_activation", "activation", "gelu", 0},
    {"norm_eps", "norm_epsilon", "1e-5", 0},
    {"norm_bias", "norm_bias", "false", 0},
    {"attention_bias", "query_key_value_bias", "false", 0},
    {"attention_bias", "attention_output_bias", "false", 0},
    {"mlp_bias", "mlp_bias", "false", 0},
    {"global_attn_every_n_layers", "global_attention_every", "3", 0},
    {"local_attention", "window", "64", 2},
    {"global_rope_theta|rope_parameters.full_attention.rope_theta", "rotary_base", "160000", 0},
    {"local_rope_theta|rope_parameters.sliding_attention.rope_theta", "rotary_local_base", "10000",
     0},
    {"tie_word_embeddings", "tied_output", "true", 0},
    {"classifier_bias", "head_dense_bias", "false", 0},
    {"classifier_activation", "head_activation", "gelu", 0},
    {"classifier_pooling", "pooling", "first", 0},
    {NULL, NULL, NULL, 0}};

static const struct sl_family_demand demands[] = {
    {"decoder_bias", "true"},
    {"rope_parameters.full_attention.rope_type", "\"default\""},
    {"rope_parameters.sliding_attention.rope_type", "\"default\""},
    {NULL, NULL}};

static const struct sl_family_weight weights[] = {
    {"token_embedding", {"embeddings.tok_embeddings"}, SL_WEIGHT_FIRST},
    {"embedding_norm", {"embeddings.norm"}, 0},
    {"layers.%d.attention_norm", {"layers.%d.attn_norm"}, 0},
    {"layers.%d.attention.query", {"layers.%d.attn.Wqkv"}, SL_WEIGHT_FIRST},
    {"layers.%d.attention.key_value", {"layers.%d.attn.Wqkv"}, SL_WEIGHT_LAST},
    {"layers.%d.attention.output", {"layers.%d.attn.Wo"}, 0},
    {"layers.%d.mlp_norm", {"layers.%d.mlp_norm"}, 0},
    {"layers.%d.mlp.gate", {"layers.%d.mlp.Wi"}, SL_WEIGHT_FIRST},
    {"layers.%d.mlp.up", {"layers.%d.mlp.Wi"}, SL_WEIGHT_LAST},
    {"layers.%d.mlp.down", {"layers.%d.mlp.Wo"}, 0},
    {"final_norm", {"final_norm"}, 0},
    {NULL, {NULL}, 0}};

static const struct sl_family_fact classifier_facts[] = {{"head_dense", "true"},
                                                         {"head_norm", "true"},
                                                         {NULL, NULL}};

static const struct sl_family_weight classifier_weights[] = {{"head.dense", {"head.dense"}, 0},
                                                             {"head.norm", {"head.norm"}, 0},
                                                             {"classifier", {"classifier"}, 0},
                                                             {NULL, {NULL}, 0}};

static const struct sl_family_fact tagger_facts[] = {{"pooling", "mean"},
                                                     {"head_dense", "true"},
                                                     {"head_norm", "true"},
                                                     {NULL, NULL}};

static const struct sl_family_fact masked_facts[] = {{"masked_language_model", "true"},
                                                     {"pooling", "mean"},
                                                     {NULL, NULL}};

static const struct sl_family_weight masked_weights[] = {{"head.dense", {"head.dense"}, 0},
                                                         {"head.norm", {"head.norm"}, 0},
                                                         {"head", {"decoder"}, SL_WEIGHT_FIRST},
                                                         {"output", {"decoder"}, SL_WEIGHT_FIRST},
                                                         {NULL, {NULL}, 0}};

static const char *const none[] = {NULL};
static const char *const masked_unused[] = {"decoder.weight", NULL};

static const struct sl_family_task tasks[] = {
    {"ModernBertModel", SL_TASK_PRETRAINING, sl_embedding_facts, NULL, none},
    {"ModernBertForSequenceClassification", SL_TASK_CLASSIFICATION, classifier_facts,
     classifier_weights, none},
    {"ModernBertForTokenClassification", SL_TASK_TOKEN_CLASSIFICATION, tagger_facts,
     classifier_weights, none},
    {"ModernBertForMaskedLM", SL_TASK_PRETRAINING, masked_facts, masked_weights, masked_unused},
    {NULL, 0, NULL, NULL, NULL}};

const struct sl_family sl_family_modernbert = {.model_type = "modernbert",
                                               .prefix = "model.",
                                               .facts = facts,
                                               .fields = fields,
                                               .demands = demands,
                                               .weights = weights,
                                               .tasks = tasks};
