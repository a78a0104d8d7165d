/* electra.c - ELECTRA (Clark et al. 2020): BERT, perhaps with narrower embeddings. */
#include "pretrained/bert.h"

static const struct sl_family_field fields[] = {SL_BERT_FIELDS("2", "1e-12"),
                                                {"embedding_size", "embedding_size", NULL, 0},
                                                {NULL, NULL, NULL, 0}};

static const struct sl_family_weight embedding_weights[] = {
    {"embedding_projection", {"embeddings_project"}, 0},
    {NULL, {NULL}, 0}};

static const struct sl_family_fact classifier_facts[] = {{"pooling", "first"},
                                                         {"head_dense", "true"},
                                                         {"head_activation", "gelu"},
                                                         {NULL, NULL}};

static const struct sl_family_weight classifier_weights[] = {
    {"embedding_projection", {"embeddings_project"}, 0},
    {"head.dense", {"classifier.dense"}, 0},
    {"classifier", {"classifier.out_proj"}, 0},
    {NULL, {NULL}, 0}};

static const struct sl_family_weight masked_weights[] = {
    {"embedding_projection", {"embeddings_project"}, 0},
    {"head.dense", {"generator_predictions.dense"}, 0},
    {"head.norm", {"generator_predictions.LayerNorm"}, 0},
    {"head", {"generator_lm_head"}, SL_WEIGHT_FIRST},
    {"output", {"generator_lm_head"}, SL_WEIGHT_FIRST},
    {NULL, {NULL}, 0}};

static const struct sl_family_weight tagger_weights[] = {
    {"embedding_projection", {"embeddings_project"}, 0},
    {"classifier", {"classifier"}, 0},
    {NULL, {NULL}, 0}};

static const char *const unused[] = {"embeddings.position_ids", "discriminator_predictions.*",
                                     NULL};

static const char *const masked_unused[] = {"embeddings.position_ids", "generator_lm_head.weight",
                                            NULL};

static const struct sl_family_task tasks[] = {
    {"ElectraModel", SL_TASK_PRETRAINING, sl_embedding_facts, embedding_weights, unused},
    {"ElectraForPreTraining", SL_TASK_PRETRAINING, sl_embedding_facts, embedding_weights, unused},
    {"ElectraForSequenceClassification", SL_TASK_CLASSIFICATION, classifier_facts,
     classifier_weights, unused},
    {"ElectraForMaskedLM", SL_TASK_PRETRAINING, sl_gelu_masked_facts, masked_weights,
     masked_unused},
    {"ElectraForTokenClassification", SL_TASK_TOKEN_CLASSIFICATION, NULL, tagger_weights, unused},
    {NULL, 0, NULL, NULL, NULL}};

const struct sl_family sl_family_electra = {.model_type = "electra",
                                            .prefix = "electra.",
                                            .facts = sl_bert_facts,
                                            .fields = fields,
                                            .demands = sl_bert_demands,
                                            .weights = sl_bert_weights,
                                            .tasks = tasks};
