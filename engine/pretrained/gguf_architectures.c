/* gguf_architectures.c - the table of llama.cpp's architectures. */
#include "pretrained/gguf_architecture.h"

#include "base/comma_list.h"

#include <string.h>

static const struct sl_gguf_name decoder_keys[] = {
    {"embedding_length", "hidden_size"},
    {"block_count", "num_hidden_layers"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"feed_forward_length", "intermediate_size"},
    {"context_length", "max_position_embeddings"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"rope.freq_base", "rope_theta"},
    {NULL, NULL}};

static const struct sl_gguf_name decoder_tensors[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    {NULL, NULL}};

/* Of BERT and DistilBERT, which has no token types. Files do not name the activation function: it
 * is the family's, GELU. */
static const struct sl_gguf_name bert_keys[] = {{"embedding_length", "hidden_size"},
                                                {"block_count", "num_hidden_layers"},
                                                {"attention.head_count", "num_attention_heads"},
                                                {"feed_forward_length", "intermediate_size"},
                                                {"context_length", "max_position_embeddings"},
                                                {"attention.layer_norm_epsilon", "layer_norm_eps"},
                                                {NULL, NULL}};

static const struct sl_gguf_name bert_tensors[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"blk.#.attn_q", "encoder.layer.#.attention.self.query"},
    {"blk.#.attn_k", "encoder.layer.#.attention.self.key"},
    {"blk.#.attn_v", "encoder.layer.#.attention.self.value"},
    {"blk.#.attn_output", "encoder.layer.#.attention.output.dense"},
    {"blk.#.attn_output_norm", "encoder.layer.#.attention.output.LayerNorm"},
    {"blk.#.ffn_up", "encoder.layer.#.intermediate.dense"},
    {"blk.#.ffn_down", "encoder.layer.#.output.dense"},
    {"blk.#.layer_output_norm", "encoder.layer.#.output.LayerNorm"},
    {NULL, NULL}};

static const struct sl_gguf_architecture architectures[] = {
    {"llama", "LlamaForCausalLM", decoder_keys, decoder_tensors, .permuted = true},
    {"qwen2", "Qwen2ForCausalLM", decoder_keys, decoder_tensors, .permuted = false},
    {"bert", "BertModel", bert_keys, bert_tensors, .embeds = true}};

enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const struct sl_gguf_architecture *sl_gguf_architecture_find(const char *name)
{
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].name, name) == 0)
            return &architectures[i];
    return NULL;
}

const char *sl_gguf_architecture_list(char list[SL_GGUF_ARCHITECTURE_LIST])
{
    list[0] = '\0';
    for (int i = 0; i < ARCHITECTURES; i++)
        sl_list_add(list, SL_GGUF_ARCHITECTURE_LIST, architectures[i].name);
    return list;
}
