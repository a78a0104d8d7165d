/* model_chat.c - conversations as prompts of a model. */
#include "model/model.h"
#include "sluice/chat.h"

#include <stdlib.h>

bool sl_chat_render(const struct sl_model *model, const struct sl_chat *chat,
                    struct sl_chat_prompt *prompt, struct sl_err *err)
{
    return sl_chat_write(&model->chat, model->tokenizer, chat, prompt, err);
}

void sl_chat_prompt_release(struct sl_chat_prompt *prompt)
{
    free(prompt->text);
    free(prompt->plain);
    *prompt = (struct sl_chat_prompt){0};
}
