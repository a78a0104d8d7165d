/* chat.h - conversations as prompts, for models with a chat template that is known by name.
 *
 * The prompt is tokenized by sl_tokenizer_tokenize without adding special tokens, with its `plain`
 * parts: what a message spells out never becomes a special token. Any thread. */
#pragma once

#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sl_chat_role { SL_CHAT_SYSTEM, SL_CHAT_USER, SL_CHAT_ASSISTANT, SL_CHAT_ROLES };

struct sl_chat_message {
    enum sl_chat_role role;
    const char *text; /* UTF-8 */
    size_t bytes;
};

struct sl_chat {
    const struct sl_chat_message *messages; /* at least one */
    int count;
};

/* The text that the assistant's answer follows. Starts as zeros. */
struct sl_chat_prompt {
    char *text;
    size_t bytes;
    struct sl_byte_range *plain; /* the messages in it */
    int plain_count;
};

/* Fails with SL_NOT_FOUND when the model has no template that is known, else with SL_BAD_INPUT. To
 * be released also after a failure. */
SL_PUBLIC bool sl_chat_render(const struct sl_model *model, const struct sl_chat *chat,
                              struct sl_chat_prompt *prompt, struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_chat_prompt_release(struct sl_chat_prompt *prompt); /* a zeroed one is fine */

#ifdef __cplusplus
}
#endif
