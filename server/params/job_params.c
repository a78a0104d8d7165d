/* job_params.c - the fields of POST /v1/fine_tuning/jobs: OpenAI's fields, and ours. */
#include "params/job_params.h"
#include "base/big_numbers.h"
#include "base/model_names.h"
#include "json/json_field_reader.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct sv_job_params, member)

/* ---- objects with names of any kind ---------------------------------------------------------- */

static bool copy_text(const struct sv_reader *r, const char *text, struct sv_string *out)
{
    size_t bytes = strlen(text);
    char *copy = sv_reader_alloc(r, bytes + 1, 1);
    if (!copy)
        return false;
    memcpy(copy, text, bytes + 1);
    *out = (struct sv_string){.data = copy, .bytes = bytes};
    return true;
}

static void remove_nulls(json_t *object)
{
    const char *name;
    json_t *member;
    void *next;
    json_object_foreach_safe (object, next, name, member)
        if (json_is_null(member))
            (void)json_object_del(object, name);
}

static bool fail_size(const struct sv_reader *r, const struct sv_field *field, const char *what,
                      size_t bytes, int max)
{
    char param[SV_PARAM_MAX];
    sv_reader_param(r, field, param);
    return sv_fail(r->error, SV_INVALID_VALUE, param,
                   "'%s' has %zu bytes %s; at most %d are accepted.", param, bytes, what, max);
}

/* The value as JSON. */
static bool copy_json(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                      struct sv_string *out)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    if (!text)
        return sv_fail_no_memory(r->error);
    bool ok = strlen(text) <= SV_JOB_TEXT_BYTES_MAX
                  ? copy_text(r, text, out)
                  : fail_size(r, field, "as JSON", strlen(text), SV_JOB_TEXT_BYTES_MAX);
    free(text);
    return ok;
}

static bool read_value(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                       struct sv_setting *setting)
{
    struct sv_string text;
    bool ok;
    if (json_is_string(value) &&
        !sl_big_number(json_string_value(value), json_string_length(value)))
        ok = sv_reader_bounded_string(r, field, value, &text);
    else if (json_is_number(value) || json_is_boolean(value))
        ok = copy_json(r, field, value, &text);
    else
        ok = sv_reader_invalid(r, field, value, "a finite number, a string or a boolean");
    if (ok)
        *setting = (struct sv_setting){.name = field->name, .value = text.data};
    return ok;
}

/* Two fields may have one target. */
static bool fail_twice(const struct sv_reader *r, const struct sv_field *field,
                       const struct sv_settings *settings)
{
    char param[SV_PARAM_MAX];
    sv_reader_param(r, field, param);
    return sv_fail(r->error, SV_INVALID_VALUE, param,
                   "'%s' and '%.*s' are the same; give one of them.", param,
                   (int)strlen(settings->prefix) - 1, settings->prefix);
}

/* subfields: how each member is checked. */
static bool read_object(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                        struct sv_field subfields)
{
    struct sv_settings *settings = sv_reader_target(r, field->offset);
    const char *name;
    json_t *member;
    if (!json_is_object(value))
        return sv_reader_invalid(r, field, value, "an object");
    if (settings->items)
        return fail_twice(r, field, settings);
    remove_nulls(value);
    if (!sv_reader_check_count(r, field, json_object_size(value), "members") ||
        !copy_json(r, field, value, &settings->raw))
        return false;
    settings->items = sv_reader_alloc(r, json_object_size(value) + 1, sizeof *settings->items);
    settings->count = 0;
    (void)snprintf(settings->prefix, sizeof settings->prefix, "%s%s.", r->prefix, field->name);
    struct sv_reader below = *r;
    below.prefix = settings->prefix;
    if (!settings->items)
        return false;
    json_object_foreach (value, name, member) {
        struct sv_setting *item = &settings->items[settings->count];
        subfields.name = name;
        if (strlen(name) > SV_METADATA_KEY_BYTES_MAX)
            return fail_size(r, field, "in a name", strlen(name), SV_METADATA_KEY_BYTES_MAX);
        if (subfields.kind == SV_FIELD_STRING && !json_is_string(member))
            return sv_reader_invalid(&below, &subfields, member, "a string");
        if (!read_value(&below, &subfields, member, item))
            return false;
        settings->count++;
    }
    return true;
}

static bool read_settings(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    const struct sv_field subfields = {.kind = SV_FIELD_CUSTOM, .max = SV_NAME_BYTES_MAX};
    return read_object(r, field, value, subfields);
}

const struct sv_field_type sv_type_settings = {read_settings, "{string|number|boolean}*"};

static bool read_metadata(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    const struct sv_field subfields = {.kind = SV_FIELD_STRING, .max = SV_METADATA_VALUE_BYTES_MAX};
    return read_object(r, field, value, subfields);
}

const struct sv_field_type sv_type_metadata = {read_metadata, "{string}*"};

const char *sv_setting_find(const struct sv_settings *settings, const char *name)
{
    for (int i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].name, name) == 0)
            return settings->items[i].value;
    return NULL;
}

/* ---- the request ----------------------------------------------------------------------------- */

#define HYPERPARAMETERS(says)                                                                      \
    SV_CUSTOM_FIELD("hyperparameters", sv_type_settings, AT(hyperparameters), 0,                   \
                    SV_JOB_SETTINGS_MAX, .help = (says))

static const struct sv_field supervised[] = {
    HYPERPARAMETERS("hyper-parameters of OpenAI and of `sluice train`, by name"),
    {.kind = SV_FIELD_END},
};

static const char *const methods[] = {"supervised", NULL};

static const struct sv_field method[] = {
    SV_KEYWORD_FIELD("type", methods, .help = "method of training"),
    SV_OBJECT_FIELD("supervised", supervised, .help = "options of supervised training"),
    SV_UNSUPPORTED_FIELD("dpo", "Only the method \"supervised\" is supported."),
    SV_UNSUPPORTED_FIELD("reinforcement", "Only the method \"supervised\" is supported."),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_job_fields[] = {
    SV_FIELD("model", STRING, AT(model), 0, SV_NAME_BYTES_MAX,
             .help = "architecture to train from scratch, or served model to fine-tune; without "
                     "it, or with \"auto\", labelled texts are trained on without choosing one"),
    SV_FIELD("training_file", STRING, AT(training_file), 0, SV_NAME_BYTES_MAX, .required = true,
             .help = "id of an uploaded file, or local:NAME of a file in data_directory"),
    SV_FIELD("validation_file", STRING, AT(validation_file), 0, SV_NAME_BYTES_MAX,
             .help =
                 "the same, to validate on; without it a part of the training file is held out"),
    SV_FIELD("suffix", STRING, AT(suffix), 0, SL_MODEL_NAME_BYTES_MAX,
             .help = "name of the model to publish; required without a model"),
    SV_FIELD("seed", INT, AT(seed), 0, INT32_MAX, .presence_offset = AT(seed_given),
             .help = "seed of the training; without one the job gets one of its own"),
    SV_OBJECT_FIELD("method", method, .help = "how to train"),
    HYPERPARAMETERS("the same as method.supervised.hyperparameters"),
    SV_CUSTOM_FIELD("metadata", sv_type_metadata, AT(metadata), 0, SV_METADATA_MAX,
                    .help = "up to 16 strings of the client, by name"),
    SV_UNSUPPORTED_FIELD("integrations", "Leave it out."),
    {.kind = SV_FIELD_END},
};

static bool check(void *to, struct sv_error *error)
{
    const struct sv_job_params *params = to;
    const char *suffix = params->suffix.data;
    return !suffix || sl_model_name_is_valid(suffix) ||
           sv_fail(error, SV_INVALID_VALUE, "suffix",
                   "'suffix' cannot be \"%.64s\": " SL_MODEL_NAME_RULE ".", suffix);
}

bool sv_job_params_read(const struct sl_buffer *body, struct sv_job_params *params,
                        struct sv_error *error)
{
    *params = (struct sv_job_params){0};
    params->document = sv_json_read(body, sv_job_fields, check, params, error);
    return params->document;
}
