/* prompts.c - texts that an encoder reads before a text, by name. */
#include "tokenizer/prompts.h"

#include "base/byte_string.h"

static bool check(const char *name, size_t name_bytes, size_t text_bytes, struct sl_err *err)
{
    if (name_bytes < 1 || name_bytes > SL_PROMPT_NAME_MAX || sl_find_control(name, name_bytes))
        return sl_fail(err, SL_BAD_INPUT,
                       "the name of a prompt has %zu bytes: expected 1 to %d, without control "
                       "characters",
                       name_bytes, SL_PROMPT_NAME_MAX);
    return text_bytes <= SL_PROMPT_BYTES_MAX ||
           sl_fail(err, SL_BAD_INPUT, "the prompt '%s' has %zu bytes: expected at most %d", name,
                   text_bytes, SL_PROMPT_BYTES_MAX);
}

bool sl_prompts_add(struct sl_prompts *prompts, const char *name, const char *text,
                    struct sl_err *err)
{
    const size_t name_bytes = strlen(name), text_bytes = strlen(text);
    if (!check(name, name_bytes, text_bytes, err))
        return false;
    if (prompts->count == SL_PROMPTS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "more than %d prompts", SL_PROMPTS_MAX);
    if (!prompts->list)
        prompts->list = calloc(SL_PROMPTS_MAX, sizeof *prompts->list);
    struct sl_prompt *prompt = prompts->list ? &prompts->list[prompts->count] : NULL;
    if (!prompt)
        return sl_fail(err, SL_NO_MEMORY, "no memory for prompts");
    prompts->count++; /* so that it is released */
    prompt->name = sl_bytes_copy(name, name_bytes);
    prompt->text = sl_bytes_copy(text, text_bytes);
    return (prompt->name && prompt->text) || sl_fail(err, SL_NO_MEMORY, "no memory for a prompt");
}

const struct sl_prompt *sl_prompt_find(const struct sl_prompt *list, int count, const char *name)
{
    int i = 0;
    while (i < count && strcmp(list[i].name, name) != 0)
        i++;
    return i < count ? &list[i] : NULL;
}

bool sl_prompts_set_default(struct sl_prompts *prompts, const char *name, struct sl_err *err)
{
    prompts->default_prompt = sl_prompt_find(prompts->list, prompts->count, name);
    return prompts->default_prompt ||
           sl_fail(err, SL_BAD_INPUT, "no prompt is named '%.64s'", name);
}

void sl_prompts_release(struct sl_prompts *prompts)
{
    for (int i = 0; i < prompts->count; i++) {
        free(prompts->list[i].name);
        free(prompts->list[i].text);
    }
    free(prompts->list);
    *prompts = (struct sl_prompts){0};
}
