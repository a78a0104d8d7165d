/* tokenize_params.c - the fields of POST /tokenize and POST /decode. */
#include "params/tokenize_params.h"

#define AT(member) offsetof(struct sv_tokenize_params, member)

const struct sv_field sv_tokenize_fields[] = {
    SV_CUSTOM_FIELD("inputs", sv_type_texts, AT(inputs), 1, INT32_MAX, .required = true,
                    .help = "text or texts to tokenize"),
    SV_FIELD("add_special_tokens", BOOL, AT(adds_special), 0, 1, .default_json = "true",
             .help = "add the tokens that the model expects around a text"),
    SV_UNKNOWN_CHARACTERS_FIELD(AT(unknown)),
    SV_PROMPT_NAME_FIELD(AT(prompt_name)),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    SV_OTHERS_IGNORED,
};

const struct sv_field sv_decode_fields[] = {
    SV_CUSTOM_FIELD("ids", sv_type_ids, offsetof(struct sv_decode_params, ids), 1, INT32_MAX,
                    .required = true, .help = "token ids, or an array of arrays of them"),
    SV_FIELD("skip_special_tokens", BOOL, offsetof(struct sv_decode_params, skips_special), 0, 1,
             .default_json = "true", .help = "leave special tokens out of the text"),
    SV_UNSUPPORTED_FIELD("model", sv_model_naming_hint),
    SV_OTHERS_IGNORED,
};

static bool check_tokenize(void *to, struct sv_error *error)
{
    const struct sv_tokenize_params *params = to;
    const struct sv_texts *inputs = &params->inputs;
    char param[SV_PARAM_MAX];
    for (int i = 0; i < inputs->count; i++) {
        if (inputs->items[i].bytes > 0)
            continue;
        sv_param_name("inputs", inputs->is_array, i, param);
        return sv_fail(error, SV_EMPTY_INPUT, param, "'%s' is an empty text.", param);
    }
    return true;
}

struct sv_json_document *sv_tokenize_params_read(const struct sl_buffer *body,
                                                 struct sv_tokenize_params *params,
                                                 struct sv_error *error)
{
    *params = (struct sv_tokenize_params){0};
    return sv_json_read(body, sv_tokenize_fields, check_tokenize, params, error);
}
