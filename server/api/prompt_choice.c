/* prompt_choice.c - which of a model's prompts comes before the texts of a request. */
#include "api/prompt_choice.h"

#include "base/comma_list.h"

#include "sluice/model.h"

static bool fail(const struct sv_model_ref *ref, const char *name, struct sv_error *error)
{
    static const char param[] = "prompt_name";
    char list[256] = "";
    const struct sl_model_info *info = sl_model_info(ref->model);
    for (int i = 0; i < info->prompt_count; i++)
        sl_list_add_quoted(list, sizeof list, info->prompts[i].name);
    if (info->prompt_count == 0)
        return sv_fail(error, SV_INVALID_VALUE, param,
                       "`prompt_name` is set to `%.64s` but no prompts were found in the Sentence "
                       "Transformers configuration of '%s'. Leave it out.",
                       name, ref->id);
    return sv_fail(error, SV_INVALID_VALUE, param,
                   "`prompt_name` is set to `%.64s` but it was not found in the Sentence "
                   "Transformers prompts of '%s'. Available prompts: %s.",
                   name, ref->id, list);
}

bool sv_choose_prompt(const struct sv_model_ref *ref, const struct sv_string *name,
                      const struct sl_prompt **prompt, struct sv_error *error)
{
    struct sl_err unknown;
    const struct sl_model_info *info = sl_model_info(ref->model);
    *prompt = name->data ? sl_model_prompt(info, name->data, &unknown) : info->default_prompt;
    return *prompt || !name->data || fail(ref, name->data, error);
}
