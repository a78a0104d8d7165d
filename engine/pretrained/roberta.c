/* roberta.c - RoBERTa (Liu et al. 2019) and XLM-RoBERTa (Conneau et al. 2020): BERT whose positions
 * begin behind that of the padding token, and with another head. */
#include "pretrained/bert.h"

static const struct sl_family_fact facts[] = {SL_BERT_FACTS,
                                              {"position_offset", "2"},
                                              {NULL, NULL}};

static const struct sl_family_field fields[] = {SL_BERT_FIELDS("1", "1e-5"), {NULL, NULL, NULL, 0}};

static const struct sl_family_demand demands[] = {{"position_embedding_type", "\"absolute\""},
                                                  {"pad_token_id", "1"},
                                                  {"is_decoder", "false"},
                                                  {"add_cross_attention", "false"},
                                                  {NULL, NULL}};

static const struct sl_family_weight classifier_weights[] = {
    {"head.dense", {"classifier.dense"}, 0},
    {"classifier", {"classifier.out_proj"}, 0},
    {NULL, {NULL}, 0}};

static const struct sl_family_weight masked_weights[] = {
    {"head.dense", {"lm_head.dense"}, 0},
    {"head.norm", {"lm_head.layer_norm"}, 0},
    {"head", {"lm_head"}, SL_WEIGHT_FIRST},
    {"output", {"lm_head.decoder"}, SL_WEIGHT_FIRST},
    {NULL, {NULL}, 0}};

static const char *const unused[] = {"embeddings.position_ids", "pooler.dense.*", "lm_head.*",
                                     NULL};
static const char *const masked_unused[] = {"embeddings.position_ids", "pooler.dense.*",
                                            "lm_head.decoder.*", "lm_head.bias", NULL};

#define TASKS(Name)                                                                                \
    {                                                                                              \
        {Name "Model", SL_TASK_PRETRAINING, sl_embedding_facts, NULL, unused},                     \
            {Name "ForSequenceClassification", SL_TASK_CLASSIFICATION, sl_pooler_facts,            \
             classifier_weights, unused},                                                          \
            {Name "ForTokenClassification", SL_TASK_TOKEN_CLASSIFICATION, NULL, sl_output_weights, \
             unused},                                                                              \
            {Name "ForMaskedLM", SL_TASK_PRETRAINING, sl_gelu_masked_facts, masked_weights,        \
             masked_unused},                                                                       \
        {                                                                                          \
            NULL, 0, NULL, NULL, NULL                                                              \
        }                                                                                          \
    }

static const struct sl_family_task tasks[] = TASKS("Roberta");
static const struct sl_family_task xlm_tasks[] = TASKS("XLMRoberta");

const struct sl_family sl_family_roberta = {.model_type = "roberta",
                                            .prefix = "roberta.",
                                            .facts = facts,
                                            .fields = fields,
                                            .demands = demands,
                                            .weights = sl_bert_weights,
                                            .tasks = tasks};

const struct sl_family sl_family_xlm_roberta = {.model_type = "xlm-roberta",
                                                .prefix = "roberta.",
                                                .facts = facts,
                                                .fields = fields,
                                                .demands = demands,
                                                .weights = sl_bert_weights,
                                                .tasks = xlm_tasks};
