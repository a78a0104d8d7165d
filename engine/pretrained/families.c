/* families.c - the table of families. */
#include "pretrained/family.h"

#include "base/comma_list.h"

#include <string.h>

static const struct sl_family *const families[] = {
    &sl_family_bert,        &sl_family_distilbert, &sl_family_roberta,
    &sl_family_xlm_roberta, &sl_family_electra,    &sl_family_modernbert,
    &sl_family_gpt2,        &sl_family_llama,      &sl_family_qwen2,
};

enum { FAMILIES = sizeof families / sizeof families[0] };

const struct sl_family *sl_family_find(const char *model_type)
{
    for (int i = 0; i < FAMILIES; i++)
        if (strcmp(families[i]->model_type, model_type) == 0)
            return families[i];
    return NULL;
}

const char *sl_family_list(char list[SL_FAMILY_LIST])
{
    list[0] = '\0';
    for (int i = 0; i < FAMILIES; i++)
        sl_list_add(list, SL_FAMILY_LIST, families[i]->model_type);
    return list;
}

const struct sl_family_task *sl_family_task_find(const struct sl_family *family,
                                                 const char *architecture)
{
    for (const struct sl_family_task *task = family->tasks; task->architecture; task++)
        if (strcmp(task->architecture, architecture) == 0)
            return task;
    return NULL;
}
