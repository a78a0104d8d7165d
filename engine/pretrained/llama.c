/* llama.c - Llama (Touvron et al. 2023), as in SmolLM2 and TinyLlama; and Qwen2 (Yang et al. 2024),
 * whose queries, keys and values have biases. */
#include "pretrained/family.h"

#include <stddef.h>

static const struct sl_family_fact facts[] = {
    {"norm", "rms"},         {"norm_bias", "false"},
    {"norm_after", "false"}, {"final_norm", "true"},
    {"positions", "rotary"}, {"first_attention_norm", "true"},
    {"gated_mlp", "true"},   {NULL, NULL}};

/* The rows that both have. */
#define FIELDS                                                                                     \
    {"hidden_size", "width", NULL, 0}, {"num_hidden_layers", "depth", NULL, 0},                    \
        {"num_attention_heads", "heads", NULL, 0}, {"num_key_value_heads", "key_heads", "0", 0},   \
        {"head_dim", "head_dim", "0", 0}, {"intermediate_size", "ffn_width", NULL, 0},             \
        {"max_position_embeddings", "context_length", NULL, 0},                                    \
        {"hidden_act", "activation", "silu", 0}, {"rms_norm_eps", "norm_epsilon", "1e-6", 0},      \
        {"rope_theta|rope_parameters.rope_theta", "rotary_base", "10000", 0},                      \
    {                                                                                              \
        "tie_word_embeddings", "tied_output", "false", 0                                           \
    }

static const struct sl_family_field fields[] = {
    FIELDS,
    {"attention_bias", "query_key_value_bias", "false", 0},
    {"attention_bias", "attention_output_bias", "false", 0},
    {"mlp_bias", "mlp_bias", "false", 0},
    {NULL, NULL, NULL, 0}};

static const struct sl_family_field qwen2_fields[] = {FIELDS, {NULL, NULL, NULL, 0}};

static const struct sl_family_fact qwen2_facts[] = {{"query_key_value_bias", "true"},
                                                    {"attention_output_bias", "false"},
                                                    {"mlp_bias", "false"},
                                                    {NULL, NULL}};

static const struct sl_family_demand demands[] = {
    {"rope_scaling.rope_type|rope_scaling.type", "\"default\""},
    {"rope_parameters.rope_type", "\"default\""},
    {"pretraining_tp", "1"},
    {"use_sliding_window", "false"},
    {NULL, NULL}};

static const struct sl_family_weight weights[] = {
    {"token_embedding", {"embed_tokens"}, SL_WEIGHT_FIRST},
    {"layers.%d.attention_norm", {"layers.%d.input_layernorm"}, 0},
    {"layers.%d.attention.query", {"layers.%d.self_attn.q_proj"}, 0},
    {"layers.%d.attention.key_value",
     {"layers.%d.self_attn.k_proj", "layers.%d.self_attn.v_proj"},
     0},
    {"layers.%d.attention.output", {"layers.%d.self_attn.o_proj"}, 0},
    {"layers.%d.mlp_norm", {"layers.%d.post_attention_layernorm"}, 0},
    {"layers.%d.mlp.gate", {"layers.%d.mlp.gate_proj"}, 0},
    {"layers.%d.mlp.up", {"layers.%d.mlp.up_proj"}, 0},
    {"layers.%d.mlp.down", {"layers.%d.mlp.down_proj"}, 0},
    {"final_norm", {"norm"}, 0},
    {NULL, {NULL}, 0}};

static const struct sl_family_weight output_weights[] = {{"output", {"lm_head"}, SL_WEIGHT_FIRST},
                                                         {NULL, {NULL}, 0}};

static const char *const unused[] = {"layers.*.self_attn.rotary_emb.inv_freq", "lm_head.weight",
                                     NULL};

static const struct sl_family_task tasks[] = {
    {"LlamaForCausalLM", SL_TASK_COMPLETION, NULL, output_weights, unused},
    {NULL, 0, NULL, NULL, NULL}};

static const struct sl_family_task qwen2_tasks[] = {
    {"Qwen2ForCausalLM", SL_TASK_COMPLETION, qwen2_facts, output_weights, unused},
    {NULL, 0, NULL, NULL, NULL}};

const struct sl_family sl_family_llama = {.model_type = "llama",
                                          .prefix = "model.",
                                          .facts = facts,
                                          .fields = fields,
                                          .demands = demands,
                                          .weights = weights,
                                          .tasks = tasks};

const struct sl_family sl_family_qwen2 = {.model_type = "qwen2",
                                          .prefix = "model.",
                                          .facts = facts,
                                          .fields = qwen2_fields,
                                          .demands = demands,
                                          .weights = weights,
                                          .tasks = qwen2_tasks};
