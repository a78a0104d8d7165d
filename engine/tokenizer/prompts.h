/* prompts.h - texts that an encoder was trained to read before a text, by name: "query: " before a
 * question, "passage: " before what may answer it. */
#pragma once

#include "sluice/model.h"

enum { SL_PROMPTS_MAX = 256, SL_PROMPT_NAME_MAX = 128, SL_PROMPT_BYTES_MAX = 4096 };

struct sl_prompts {
    struct sl_prompt *list; /* owned, as are its strings */
    int count;
    const struct sl_prompt *default_prompt; /* in the list; NULL: none */
};

/* Copies both. Fails for a name that is empty, too long, or has a control character, and for a text
 * that is too long. */
bool sl_prompts_add(struct sl_prompts *prompts, const char *name, const char *text,
                    struct sl_err *err) SL_MUST_CHECK;
/* By name; NULL: there is none. */
const struct sl_prompt *sl_prompt_find(const struct sl_prompt *list, int count, const char *name);
/* Called after the last was added. Fails when none has the name. */
bool sl_prompts_set_default(struct sl_prompts *prompts, const char *name, struct sl_err *err)
    SL_MUST_CHECK;
void sl_prompts_release(struct sl_prompts *prompts); /* a zeroed one is fine */
