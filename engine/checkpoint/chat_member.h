/* chat_member.h - what an imported model says of conversations, in config.json:
 *
 *     "chat": {"template": "zephyr",            a name of tokenizer/chat_template.c; or, of an
 *                                               unknown one, "unknown_template": its SHA-256
 *              "bos_token": "<s>", "eos_token": "</s>",
 *              "end_tokens": [2]}               ids that end a completion
 *
 * All of it may be missing. */
#pragma once

#include "tokenizer/chat_template.h"

struct json_t;

bool sl_chat_member_read(struct sl_chat_facts *facts, const struct json_t *root, struct sl_err *err)
    SL_MUST_CHECK;
/* False: no memory. */
bool sl_chat_member_print(struct json_t *root, const struct sl_chat_facts *facts);
