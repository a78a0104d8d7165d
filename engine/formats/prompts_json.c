/* prompts_json.c - prompts from JSON, and back. */
#include "formats/prompts_json.h"

#include "formats/json_io.h"

#include <jansson.h>
#include <string.h>

const char sl_prompts_member[] = "prompts", sl_default_prompt_member[] = "default_prompt_name";

/* Of a null there is only the name. */
static bool read_prompt(struct sl_prompts *prompts, const char *name, const json_t *value,
                        struct sl_err *err)
{
    if (json_is_null(value))
        return sl_prompts_add(prompts, name, "", err);
    if (!json_is_string(value))
        return sl_fail(err, SL_BAD_INPUT, "'%.64s' is %s: expected a string", name,
                       sl_json_type(value));
    if (strlen(json_string_value(value)) != json_string_length(value))
        return sl_fail(err, SL_BAD_INPUT, "'%.64s' has a NUL", name);
    return sl_prompts_add(prompts, name, json_string_value(value), err);
}

bool sl_prompts_read(struct sl_prompts *prompts, const json_t *root, struct sl_err *err)
{
    json_t *members = json_object_get(root, sl_prompts_member), *value;
    const json_t *usual = json_object_get(root, sl_default_prompt_member);
    const char *name;
    *prompts = (struct sl_prompts){0};
    if (members && !json_is_null(members) && !json_is_object(members))
        return sl_fail(err, SL_BAD_INPUT, "'%s' is %s: expected an object", sl_prompts_member,
                       sl_json_type(members));
    json_object_foreach (members, name, value) {
        if (!read_prompt(prompts, name, value, err))
            return sl_wrap(err, "'%s'", sl_prompts_member);
    }
    if (!usual || json_is_null(usual))
        return true;
    if (!json_is_string(usual))
        return sl_fail(err, SL_BAD_INPUT, "'%s' is %s: expected a string", sl_default_prompt_member,
                       sl_json_type(usual));
    return sl_prompts_set_default(prompts, json_string_value(usual), err) ||
           sl_wrap(err, "'%s'", sl_default_prompt_member);
}

bool sl_prompts_print(json_t *root, const struct sl_prompts *prompts)
{
    if (prompts->count == 0)
        return true;
    json_t *members = json_object();
    bool ok = json_object_set_new(root, sl_prompts_member, members) == 0;
    for (int i = 0; i < prompts->count && ok; i++)
        ok = json_object_set_new(members, prompts->list[i].name,
                                 json_string(prompts->list[i].text)) == 0;
    return ok && (!prompts->default_prompt ||
                  json_object_set_new(root, sl_default_prompt_member,
                                      json_string(prompts->default_prompt->name)) == 0);
}
