/* config_json.h - a published model's config.json as a configuration of the architecture
 * `transformer`. */
#pragma once

#include "arch/arch.h"
#include "pretrained/family.h"
#include "tokenizer/prompts.h"

struct json_t;

enum { SL_DENSE_MAX = 2 };

/* What the file says. */
struct sl_published {
    const struct sl_family *family;
    const struct sl_family_task *task;
    const struct sl_arch *arch;
    struct sl_config config; /* without the size of the vocabulary */
    char **labels;           /* config.classes names; owned */
    /* Of a sentence encoder: */
    struct sl_prompts prompts;    /* owned */
    char dense[SL_DENSE_MAX][64]; /* directories of dense layers within its own; "": none */
    bool lowers;                  /* texts are lower-cased before anything else */
};

/* embeds: the model gives embeddings, whatever class is named. Members that say what is not
 * computed here are refused by their names. To be released also after a failure. */
bool sl_config_json_read(struct sl_published *published, const struct json_t *root, bool embeds,
                         struct sl_err *err) SL_MUST_CHECK;
void sl_published_release(struct sl_published *published); /* a zeroed one is fine */
