/* token_params.c - what POST /tokenize and POST /decode can be asked. */
#include "json/token_params.h"

#define AT(member) offsetof(struct sv_tokenize_request, member)

static const struct sv_field tokenize_fields[] = {
    {.name = "inputs",
     .kind = SV_FIELD_READ,
     .read = sv_read_texts,
     .offset = AT(inputs),
     .least = 1,
     .most = INT32_MAX,
     .required = true},
    {.name = "add_special_tokens", .kind = SV_FIELD_BOOL, .offset = AT(adds_special)},
    {.name = "unknown_characters",
     .kind = SV_FIELD_STRING,
     .offset = AT(unknown),
     .most = SV_WORD_BYTES_MAX},
    {.name = "prompt_name",
     .kind = SV_FIELD_REFUSED,
     .accepted = "Models here have no prompts of their own; leave it out."},
    {.name = "model", .kind = SV_FIELD_REFUSED, .accepted = sv_naming},
    {.kind = SV_FIELD_END},
};

static const struct sv_field decode_fields[] = {
    {.name = "ids",
     .kind = SV_FIELD_READ,
     .read = sv_read_ids,
     .offset = offsetof(struct sv_decode_request, ids),
     .least = 1,
     .most = INT32_MAX,
     .required = true},
    {.name = "skip_special_tokens",
     .kind = SV_FIELD_BOOL,
     .offset = offsetof(struct sv_decode_request, skips_special)},
    {.name = "model", .kind = SV_FIELD_REFUSED, .accepted = sv_naming},
    {.kind = SV_FIELD_END},
};

static bool refuse_empty(const char *name, bool several, int index, const char *what,
                         struct sv_problem *problem)
{
    char param[SV_PARAM_MAX];
    sv_param(name, several, index, param);
    return sv_refuse(problem, SV_EMPTY, param, "'%s' is an empty %s.", param, what);
}

static bool check_tokenize(void *to, struct sv_problem *problem)
{
    struct sv_tokenize_request *request = to;
    const struct sv_texts *inputs = &request->inputs;
    for (int i = 0; i < inputs->count; i++)
        if (inputs->items[i].bytes == 0)
            return refuse_empty("inputs", inputs->several, i, "text", problem);
    return sv_unknown_check(&request->unknown, &request->replaces_unknown, problem);
}

static bool check_decode(void *to, struct sv_problem *problem)
{
    const struct sv_decode_request *request = to;
    const struct sv_prompts *ids = &request->ids;
    for (int i = 0; i < ids->count; i++)
        if (ids->items[i].id_count == 0)
            return refuse_empty("ids", ids->several, i, "array", problem);
    return true;
}

struct sv_document *sv_tokenize_request_read(const struct sv_text *body,
                                             struct sv_tokenize_request *request,
                                             struct sv_problem *problem)
{
    *request = (struct sv_tokenize_request){.adds_special = true};
    return sv_wire_read(body, tokenize_fields, check_tokenize, request, problem);
}

struct sv_document *sv_decode_request_read(const struct sv_text *body,
                                           struct sv_decode_request *request,
                                           struct sv_problem *problem)
{
    *request = (struct sv_decode_request){.skips_special = true};
    return sv_wire_read(body, decode_fields, check_decode, request, problem);
}
