/* gguf_model.h - a model in a GGUF file, in the words of Hugging Face's files: what config.json
 * would say, tensors by the names that safetensors have, and the tokenizer. */
#pragma once

#include "base/file.h"
#include "pretrained/gguf_file.h"

struct sl_tokenizer;

/* Whether the path is that of a GGUF file, by its first bytes. */
bool sl_gguf_model_is(const char *path);

struct sl_gguf_model {
    struct sl_map map;
    struct sl_gguf file;
    int pooling; /* of an architecture that embeds: an enum sl_pooling */
};

/* config: a new object; the weights are to be closed before the file. */
bool sl_gguf_model_open(struct sl_gguf_model *model, const char *path, struct json_t **config,
                        struct sl_weights *weights, struct sl_err *err) SL_MUST_CHECK;
void sl_gguf_model_close(struct sl_gguf_model *model); /* a zeroed one is fine */

struct sl_tokenizer *sl_gguf_model_tokenizer(const struct sl_gguf_model *model, struct sl_err *err)
    SL_MUST_CHECK;
