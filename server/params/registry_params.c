/* registry_params.c - the fields of requests that list or change the registry's models. */
#include "params/registry_params.h"
#include "base/model_names.h"
#include "json/json_field_reader.h"

#include <jansson.h>
#include <limits.h>

/* A version: a number, or as in the Open Inference Protocol a string. */
static bool read_version(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    long number = json_is_string(value)    ? sl_version_parse(json_string_value(value))
                  : json_is_integer(value) ? (long)json_integer_value(value)
                                           : 0;
    if (number < 1)
        return sv_reader_invalid(r, field, value, SL_VERSION_FORM);
    *(int64_t *)sv_reader_target(r, field->offset) = number;
    return true;
}

static const struct sv_field_type version_type = {read_version, "integer*|string"};

static const struct sv_field repository_parameters[] = {
    SV_FIELD("unload_dependents", BOOL, offsetof(struct sv_repository_params, unloads_dependents),
             0, 1, .default_json = "false", .help = "ignored: no model depends on another"),
    SV_UNSUPPORTED_FIELD("config", "Leave out 'config'; the configuration is the version's own "
                                   "config.json."),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_repository_fields[] = {
    SV_OBJECT_FIELD("parameters", repository_parameters, .help = "parameters of the change"),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_label_fields[] = {
    SV_CUSTOM_FIELD(
        "version", version_type, offsetof(struct sv_label_params, version), 1, (double)LONG_MAX,
        .help = "version that the label moves to; it is loaded if it is not. If absent, the "
                "label stays where it is"),
    SV_FIELD("weight", INT, offsetof(struct sv_label_params, weight), 0, SV_WEIGHT_MAX,
             .presence_offset = offsetof(struct sv_label_params, has_weight),
             .help = "percent of the requests without a version that the canary gets"),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_index_fields[] = {
    SV_FIELD("ready", BOOL, offsetof(struct sv_index_params, ready), 0, 1, .default_json = "false",
             .help = "only list models that are loaded"),
    {.kind = SV_FIELD_END},
};

bool sv_registry_params_read(const struct sl_buffer *body, const struct sv_field *fields, void *to,
                             struct sv_error *error)
{
    if (body->bytes == 0)
        return true;
    struct sv_json_document *document = sv_json_read(body, fields, NULL, to, error);
    sv_json_document_release(document);
    return document != NULL;
}
