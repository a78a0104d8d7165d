/* bert.c - BERT (Devlin et al. 2019), as in MiniLM, BGE, E5, GTE and the rerankers of MS MARCO. */
#include "pretrained/bert.h"

const struct sl_family_fact sl_bert_facts[] = {SL_BERT_FACTS, {NULL, NULL}};

static const struct sl_family_field fields[] = {SL_BERT_FIELDS("2", "1e-12"),
                                                {NULL, NULL, NULL, 0}};

const struct sl_family_demand sl_bert_demands[] = {{"position_embedding_type", "\"absolute\""},
                                                   {"is_decoder", "false"},
                                                   {"add_cross_attention", "false"},
                                                   {NULL, NULL}};

const struct sl_family_weight sl_bert_weights[] = {
    {"token_embedding", {"embeddings.word_embeddings"}, SL_WEIGHT_FIRST},
    {"position_embedding", {"embeddings.position_embeddings"}, SL_WEIGHT_FIRST},
    {"token_type_embedding", {"embeddings.token_type_embeddings"}, 0},
    {"embedding_norm", {"embeddings.LayerNorm"}, 0},
    {"layers.%d.attention.query", {"encoder.layer.%d.attention.self.query"}, 0},
    {"layers.%d.attention.key_value",
     {"encoder.layer.%d.attention.self.key", "encoder.layer.%d.attention.self.value"},
     0},
    {"layers.%d.attention.output", {"encoder.layer.%d.attention.output.dense"}, 0},
    {"layers.%d.attention_norm", {"encoder.layer.%d.attention.output.LayerNorm"}, 0},
    {"layers.%d.mlp.up", {"encoder.layer.%d.intermediate.dense"}, 0},
    {"layers.%d.mlp.down", {"encoder.layer.%d.output.dense"}, 0},
    {"layers.%d.mlp_norm", {"encoder.layer.%d.output.LayerNorm"}, 0},
    {NULL, {NULL}, 0}};

const struct sl_family_fact sl_embedding_facts[] = {{"masked_language_model", "false"},
                                                    {"pooling", "mean"},
                                                    {NULL, NULL}};

const struct sl_family_fact sl_pooler_facts[] = {{"pooling", "first"},
                                                 {"head_dense", "true"},
                                                 {"head_activation", "tanh"},
                                                 {NULL, NULL}};

static const struct sl_family_weight classifier_weights[] = {{"head.dense", {"pooler.dense"}, 0},
                                                             {"classifier", {"classifier"}, 0},
                                                             {NULL, {NULL}, 0}};

#define MASKED_FACTS                                                                               \
    {"masked_language_model", "true"},                                                             \
    {                                                                                              \
        "pooling", "mean"                                                                          \
    }

const struct sl_family_fact sl_masked_facts[] = {MASKED_FACTS, {NULL, NULL}};

const struct sl_family_fact sl_gelu_masked_facts[] = {MASKED_FACTS,
                                                      {"head_activation", "gelu"},
                                                      {NULL, NULL}};

const struct sl_family_weight sl_output_weights[] = {{"classifier", {"classifier"}, 0},
                                                     {NULL, {NULL}, 0}};

static const struct sl_family_weight masked_weights[] = {
    {"head.dense", {"cls.predictions.transform.dense"}, 0},
    {"head.norm", {"cls.predictions.transform.LayerNorm"}, 0},
    {"head", {"cls.predictions"}, SL_WEIGHT_FIRST},
    {"output", {"cls.predictions.decoder"}, SL_WEIGHT_FIRST},
    {NULL, {NULL}, 0}};

static const char *const position_ids[] = {"embeddings.position_ids", "pooler.dense.*", NULL};
static const char *const masked_unused[] = {"embeddings.position_ids",   "pooler.dense.*",
                                            "cls.predictions.decoder.*", "cls.predictions.bias",
                                            "cls.seq_relationship.*",    NULL};

static const struct sl_family_task tasks[] = {
    {"BertModel", SL_TASK_PRETRAINING, sl_embedding_facts, NULL, position_ids},
    {"BertForSequenceClassification", SL_TASK_CLASSIFICATION, sl_pooler_facts, classifier_weights,
     position_ids},
    {"BertForTokenClassification", SL_TASK_TOKEN_CLASSIFICATION, NULL, sl_output_weights,
     position_ids},
    {"BertForMaskedLM", SL_TASK_PRETRAINING, sl_masked_facts, masked_weights, masked_unused},
    {NULL, 0, NULL, NULL, NULL}};

const struct sl_family sl_family_bert = {.model_type = "bert",
                                         .prefix = "bert.",
                                         .facts = sl_bert_facts,
                                         .fields = fields,
                                         .demands = sl_bert_demands,
                                         .weights = sl_bert_weights,
                                         .tasks = tasks};
