/* gpt2.c - GPT-2 (Radford et al. 2019). Its linear layers are stored transposed. */
#include "pretrained/family.h"

#include <stddef.h>

static const struct sl_family_fact facts[] = {
    {"norm_after", "false"},  {"first_attention_norm", "true"}, {"final_norm", "true"},
    {"positions", "learned"}, {"tied_output", "true"},          {NULL, NULL}};

static const struct sl_family_field fields[] = {
    {"n_embd", "width", NULL, 0},
    {"n_layer", "depth", NULL, 0},
    {"n_head", "heads", NULL, 0},
    {"n_inner", "ffn_width", "", 0},
    {"n_positions", "context_length", NULL, 0},
    {"activation_function", "activation", "gelu_tanh", 0},
    {"layer_norm_epsilon", "norm_epsilon", "1e-5", 0},
    {NULL, NULL, NULL, 0}};

static const struct sl_family_demand demands[] = {{"scale_attn_weights", "true"},
                                                  {"scale_attn_by_inverse_layer_idx", "false"},
                                                  {"add_cross_attention", "false"},
                                                  {"tie_word_embeddings", "true"},
                                                  {NULL, NULL}};

enum { TRANSPOSED = SL_WEIGHT_TRANSPOSED };

static const struct sl_family_weight weights[] = {
    {"token_embedding", {"wte"}, SL_WEIGHT_FIRST},
    {"position_embedding", {"wpe"}, SL_WEIGHT_FIRST},
    {"layers.%d.attention_norm", {"h.%d.ln_1"}, 0},
    {"layers.%d.attention.query", {"h.%d.attn.c_attn"}, TRANSPOSED | SL_WEIGHT_FIRST},
    {"layers.%d.attention.key_value", {"h.%d.attn.c_attn"}, TRANSPOSED | SL_WEIGHT_LAST},
    {"layers.%d.attention.output", {"h.%d.attn.c_proj"}, TRANSPOSED},
    {"layers.%d.mlp_norm", {"h.%d.ln_2"}, 0},
    {"layers.%d.mlp.up", {"h.%d.mlp.c_fc"}, TRANSPOSED},
    {"layers.%d.mlp.down", {"h.%d.mlp.c_proj"}, TRANSPOSED},
    {"final_norm", {"ln_f"}, 0},
    {NULL, {NULL}, 0}};

/* Tables of the causal mask are in old files. */
static const char *const unused[] = {"h.*.attn.bias", "h.*.attn.masked_bias", "lm_head.weight",
                                     NULL};

static const struct sl_family_task tasks[] = {
    {"GPT2LMHeadModel", SL_TASK_COMPLETION, NULL, NULL, unused},
    {NULL, 0, NULL, NULL, NULL}};

const struct sl_family sl_family_gpt2 = {.model_type = "gpt2",
                                         .prefix = "transformer.",
                                         .facts = facts,
                                         .fields = fields,
                                         .demands = demands,
                                         .weights = weights,
                                         .tasks = tasks,
                                         .ffn_widths = 4};
