/* token_params.c - what POST /tokenize and POST /decode can be asked. */
#include "json/token_params.h"

#define AT(member) offsetof(struct sv_tokenize_params, member)

static const struct sv_field tokenize_fields[] = {
    {.name = "inputs",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_texts,
     .offset = AT(inputs),
     .min = 1,
     .max = INT32_MAX,
     .required = true},
    {.name = "add_special_tokens", .kind = SV_FIELD_BOOL, .offset = AT(adds_special)},
    {.name = "unknown_characters",
     .kind = SV_FIELD_STRING,
     .offset = AT(unknown),
     .max = SV_KEYWORD_BYTES_MAX},
    {.name = "prompt_name",
     .kind = SV_FIELD_UNSUPPORTED,
     .advice = "Models here have no prompts of their own; leave it out."},
    {.name = "model", .kind = SV_FIELD_UNSUPPORTED, .advice = sv_model_naming_hint},
    {.kind = SV_FIELD_END},
};

static const struct sv_field decode_fields[] = {
    {.name = "ids",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_ids,
     .offset = offsetof(struct sv_decode_params, ids),
     .min = 1,
     .max = INT32_MAX,
     .required = true},
    {.name = "skip_special_tokens",
     .kind = SV_FIELD_BOOL,
     .offset = offsetof(struct sv_decode_params, skips_special)},
    {.name = "model", .kind = SV_FIELD_UNSUPPORTED, .advice = sv_model_naming_hint},
    {.kind = SV_FIELD_END},
};

static bool fail_empty(const char *name, bool is_array, int index, const char *what,
                       struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    sv_param_name(name, is_array, index, param);
    return sv_fail(error, SV_EMPTY_INPUT, param, "'%s' is an empty %s.", param, what);
}

static bool check_tokenize(void *to, struct sv_error *error)
{
    struct sv_tokenize_params *params = to;
    const struct sv_texts *inputs = &params->inputs;
    for (int i = 0; i < inputs->count; i++)
        if (inputs->items[i].bytes == 0)
            return fail_empty("inputs", inputs->is_array, i, "text", error);
    return sv_unknown_characters_check(&params->unknown, &params->replaces_unknown, error);
}

static bool check_decode(void *to, struct sv_error *error)
{
    const struct sv_decode_params *params = to;
    const struct sv_prompts *ids = &params->ids;
    for (int i = 0; i < ids->count; i++)
        if (ids->items[i].id_count == 0)
            return fail_empty("ids", ids->is_array, i, "array", error);
    return true;
}

struct sv_document *sv_tokenize_params_read(const struct sl_buffer *body,
                                            struct sv_tokenize_params *params,
                                            struct sv_error *error)
{
    *params = (struct sv_tokenize_params){.adds_special = true};
    return sv_json_read(body, tokenize_fields, check_tokenize, params, error);
}

struct sv_document *sv_decode_params_read(const struct sl_buffer *body,
                                          struct sv_decode_params *params, struct sv_error *error)
{
    *params = (struct sv_decode_params){.skips_special = true};
    return sv_json_read(body, decode_fields, check_decode, params, error);
}
