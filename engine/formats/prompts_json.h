/* prompts_json.h - prompts in config_sentence_transformers.json, and in config.json of a version:
 *
 *     "prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": "passage"
 *
 * Both may be missing or null. */
#pragma once

#include "tokenizer/prompts.h"

struct json_t;

/* The names of these members. */
extern const char sl_prompts_member[], sl_default_prompt_member[];

/* To be released also after a failure. */
bool sl_prompts_read(struct sl_prompts *prompts, const struct json_t *root, struct sl_err *err)
    SL_MUST_CHECK;
/* Adds the members; nothing when there are no prompts. False: no memory. */
bool sl_prompts_print(struct json_t *root, const struct sl_prompts *prompts);
