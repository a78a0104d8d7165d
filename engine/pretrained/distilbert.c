/* distilbert.c - DistilBERT (Sanh et al. 2019). */
#include "pretrained/bert.h"

static const struct sl_family_field fields[] = {
    {"dim", "width", NULL, 0},
    {"n_layers", "depth", NULL, 0},
    {"n_heads", "heads", NULL, 0},
    {"hidden_dim", "ffn_width", NULL, 0},
    {"max_position_embeddings", "context_length", NULL, 0},
    {"activation", "activation", "gelu", 0},
    {"activation", "head_activation", "gelu", 0},
    {"tie_word_embeddings", "tied_output", "true", 0},
    {NULL, NULL, NULL, 0}};

static const struct sl_family_fact facts[] = {SL_BERT_FACTS,
                                              {"norm_epsilon", "1e-12"},
                                              {NULL, NULL}};

static const struct sl_family_demand demands[] = {{NULL, NULL}};

static const struct sl_family_weight weights[] = {
    {"token_embedding", {"embeddings.word_embeddings"}, SL_WEIGHT_FIRST},
    {"position_embedding", {"embeddings.position_embeddings"}, SL_WEIGHT_FIRST},
    {"embedding_norm", {"embeddings.LayerNorm"}, 0},
    {"layers.%d.attention.query", {"transformer.layer.%d.attention.q_lin"}, 0},
    {"layers.%d.attention.key_value",
     {"transformer.layer.%d.attention.k_lin", "transformer.layer.%d.attention.v_lin"},
     0},
    {"layers.%d.attention.output", {"transformer.layer.%d.attention.out_lin"}, 0},
    {"layers.%d.attention_norm", {"transformer.layer.%d.sa_layer_norm"}, 0},
    {"layers.%d.mlp.up", {"transformer.layer.%d.ffn.lin1"}, 0},
    {"layers.%d.mlp.down", {"transformer.layer.%d.ffn.lin2"}, 0},
    {"layers.%d.mlp_norm", {"transformer.layer.%d.output_layer_norm"}, 0},
    {NULL, {NULL}, 0}};

static const struct sl_family_fact classifier_facts[] = {{"pooling", "first"},
                                                         {"head_dense", "true"},
                                                         {"head_activation", "relu"},
                                                         {NULL, NULL}};

static const struct sl_family_weight classifier_weights[] = {{"head.dense", {"pre_classifier"}, 0},
                                                             {"classifier", {"classifier"}, 0},
                                                             {NULL, {NULL}, 0}};

static const struct sl_family_weight masked_weights[] = {
    {"head.dense", {"vocab_transform"}, 0},
    {"head.norm", {"vocab_layer_norm"}, 0},
    {"head", {"vocab_projector"}, SL_WEIGHT_FIRST},
    {"output", {"vocab_projector"}, SL_WEIGHT_FIRST},
    {NULL, {NULL}, 0}};

static const char *const unused[] = {"embeddings.position_ids", NULL};
static const char *const masked_unused[] = {"embeddings.position_ids", "vocab_projector.weight",
                                            NULL};

static const struct sl_family_task tasks[] = {
    {"DistilBertModel", SL_TASK_PRETRAINING, sl_embedding_facts, NULL, unused},
    {"DistilBertForSequenceClassification", SL_TASK_CLASSIFICATION, classifier_facts,
     classifier_weights, unused},
    {"DistilBertForTokenClassification", SL_TASK_TOKEN_CLASSIFICATION, NULL, sl_output_weights,
     unused},
    {"DistilBertForMaskedLM", SL_TASK_PRETRAINING, sl_masked_facts, masked_weights, masked_unused},
    {NULL, 0, NULL, NULL, NULL}};

const struct sl_family sl_family_distilbert = {.model_type = "distilbert",
                                               .prefix = "distilbert.",
                                               .facts = facts,
                                               .fields = fields,
                                               .demands = demands,
                                               .weights = weights,
                                               .tasks = tasks};
