/* pretrained.h - a model that another program wrote, as it lies on the disk: a directory of Hugging
 * Face's with config.json, weights as safetensors and a tokenizer, and what sentence-transformers
 * adds to it; or a GGUF file, or a directory with one and no config.json.
 *
 * Nothing of it is executed. What is not supported is refused by its name; nothing is served
 * approximately. One thread at a time per object. */
#pragma once

#include "pretrained/gguf_model.h"
#include "pretrained/weight_names.h"
#include "tokenizer/chat_template.h"

struct sl_pretrained {
    struct sl_published published; /* with the size of the vocabulary; owned */
    struct sl_tokenizer *tokens;   /* owned; set to NULL to keep it */
    struct sl_chat_facts chat;
    struct sl_weights weights;
    struct sl_gguf_model gguf; /* zeros: a directory */
    char sha256[65];           /* of the weights' files */
};

/* Whether the path is that of one of these. */
bool sl_pretrained_is(const char *path);

/* Everything except the values of the parameters. `pretrained` is to be closed after a success. */
bool sl_pretrained_open(struct sl_pretrained *pretrained, const char *path, struct sl_err *err)
    SL_MUST_CHECK;
/* Reads the values of the parameters of a model of the published config. */
bool sl_pretrained_load(struct sl_pretrained *pretrained, const struct sl_parameter *parameters,
                        int count, struct sl_err *err) SL_MUST_CHECK;
void sl_pretrained_close(struct sl_pretrained *pretrained);
