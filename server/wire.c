/* wire.c - JSON from clients into structs, by tables of fields. */
#include "wire.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sv_document {
    json_t *root;
    struct sv_prompt *prompts;
    int32_t *ids;
    struct sv_bias *biases;
};

/* What reading one field needs to know. */
struct reader {
    struct sv_document *document;
    void *to;
    const char *prefix; /* "stream_options." inside that object, else "" */
    struct sv_problem *problem;
};

void sv_document_release(struct sv_document *document)
{
    if (!document)
        return;
    json_decref(document->root);
    free(document->prompts);
    free(document->ids);
    free(document->biases);
    free(document);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A value as a message may repeat it: short, and what it was. */
static void quote(const json_t *value, char out[static SV_QUOTE_MAX])
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_TRUE] = "true",        [JSON_FALSE] = "false",    [JSON_NULL] = "null",
    };
    size_t bytes = json_string_length(value);
    if (json_is_integer(value))
        (void)snprintf(out, SV_QUOTE_MAX, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(out, SV_QUOTE_MAX, "%g", json_real_value(value));
    else if (json_is_string(value) && bytes <= SV_QUOTE_MAX / 2)
        (void)snprintf(out, SV_QUOTE_MAX, "\"%s\"", json_string_value(value));
    else
        (void)snprintf(out, SV_QUOTE_MAX, "%s", kinds[json_typeof(value)]);
}

static bool wrong(const struct reader *r, const struct sv_field *field, const json_t *value,
                  const char *wanted)
{
    char param[SV_PARAM_MAX], got[SV_QUOTE_MAX];
    (void)snprintf(param, sizeof param, "%s%s", r->prefix, field->name);
    quote(value, got);
    return sv_refuse(r->problem, SV_BAD_VALUE, param, "'%s' must be %s, not %s.", param, wanted,
                     got);
}

static bool out_of_memory(const struct reader *r)
{
    return sv_refuse(r->problem, SV_INTERNAL, NULL, "Out of memory while reading the request.");
}

static void *place(const struct reader *r, size_t offset)
{
    return (char *)r->to + offset;
}

static bool read_bool(const struct reader *r, const struct sv_field *field, const json_t *value)
{
    if (!json_is_boolean(value))
        return wrong(r, field, value, "true or false");
    *(bool *)place(r, field->offset) = json_is_true(value);
    return true;
}

static bool read_int(const struct reader *r, const struct sv_field *field, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || (double)number < field->least || (double)number > field->most) {
        char wanted[96];
        (void)snprintf(wanted, sizeof wanted, "an integer from %.0f to %.0f", field->least,
                       field->most);
        return wrong(r, field, value, wanted);
    }
    *(int64_t *)place(r, field->offset) = number;
    return true;
}

static bool read_number(const struct reader *r, const struct sv_field *field, const json_t *value)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= field->least) || !(number <= field->most)) {
        char wanted[96];
        (void)snprintf(wanted, sizeof wanted, "a number from %g to %g", field->least, field->most);
        return wrong(r, field, value, wanted);
    }
    *(double *)place(r, field->offset) = number;
    return true;
}

static bool take_string(const struct reader *r, const struct sv_field *field, const json_t *value,
                        struct sv_string *string)
{
    string->data = json_string_value(value);
    string->bytes = json_string_length(value);
    if (!string->data)
        return wrong(r, field, value, "a string");
    if (memchr(string->data, '\0', string->bytes))
        return sv_refuse(r->problem, SV_BAD_VALUE, field->name,
                         "'%s' holds the character U+0000, which is not accepted.", field->name);
    return true;
}

static bool read_string(const struct reader *r, const struct sv_field *field, const json_t *value)
{
    struct sv_string *string = place(r, field->offset);
    if (!take_string(r, field, value, string))
        return false;
    if ((double)string->bytes > field->most)
        return sv_refuse(r->problem, SV_BAD_VALUE, field->name,
                         "'%s' has %zu bytes, at most %.0f are accepted.", field->name,
                         string->bytes, field->most);
    return true;
}

static bool read_strings(const struct reader *r, const struct sv_field *field, const json_t *value)
{
    struct sv_strings *strings = place(r, field->offset);
    assert(field->most <= SV_STRINGS_MAX);
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    if ((double)count > field->most || !(json_is_array(value) || json_is_string(value))) {
        char wanted[96];
        (void)snprintf(wanted, sizeof wanted, "a string or an array of at most %.0f strings",
                       field->most);
        return wrong(r, field, value, wanted);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        if (!take_string(r, field, item, &strings->items[i]))
            return false;
    }
    strings->count = (int)count;
    return true;
}

/* ---- prompts --------------------------------------------------------------------------------- */

static const char prompt_wanted[] =
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids";

static bool take_ids(const struct reader *r, const struct sv_field *field, const json_t *array,
                     struct sv_prompt *prompt, int32_t *ids)
{
    size_t count = json_array_size(array);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t id = json_integer_value(item);
        if (!json_is_integer(item))
            return wrong(r, field, item, prompt_wanted);
        if (id < 0 || id > INT32_MAX)
            return wrong(r, field, item, "made of token ids of the model's vocabulary");
        ids[i] = (int32_t)id;
    }
    prompt->ids = ids;
    prompt->id_count = (int)count;
    return true;
}

/* Room for `prompts` prompts and `ids` ids, at least one of each so that pointers are not NULL. */
static bool make_prompts(const struct reader *r, struct sv_prompts *prompts, size_t count,
                         size_t ids)
{
    struct sv_document *document = r->document;
    document->prompts = calloc(count, sizeof *document->prompts);
    document->ids = calloc(ids + 1, sizeof *document->ids);
    prompts->items = document->prompts;
    prompts->count = (int)count;
    return (document->prompts && document->ids) || out_of_memory(r);
}

static bool read_prompt_array(const struct reader *r, const struct sv_field *field,
                              const json_t *array)
{
    struct sv_prompts *prompts = place(r, field->offset);
    size_t count = json_array_size(array), ids = 0;
    if (count == 0)
        return sv_refuse(r->problem, SV_BAD_VALUE, field->name,
                         "'prompt' is an empty array: it must hold at least one prompt.");
    if (json_is_integer(json_array_get(array, 0)))
        return make_prompts(r, prompts, 1, count) &&
               take_ids(r, field, array, &prompts->items[0], r->document->ids);
    if ((double)count > field->most)
        return sv_refuse(r->problem, SV_BAD_VALUE, field->name,
                         "'prompt' holds %zu prompts, at most %.0f are accepted.", count,
                         field->most);
    for (size_t i = 0; i < count; i++)
        ids += json_array_size(json_array_get(array, i));
    if (!make_prompts(r, prompts, count, ids))
        return false;
    int32_t *next = r->document->ids;
    bool texts = json_is_string(json_array_get(array, 0));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        if (texts ? !json_is_string(item) : !json_is_array(item))
            return wrong(r, field, item, prompt_wanted);
        if (texts ? !take_string(r, field, item, &prompts->items[i].text)
                  : !take_ids(r, field, item, &prompts->items[i], next))
            return false;
        next += json_array_size(item);
    }
    return true;
}

static bool read_prompts(const struct reader *r, const struct sv_field *field, const json_t *value)
{
    struct sv_prompts *prompts = place(r, field->offset);
    if (json_is_array(value))
        return read_prompt_array(r, field, value);
    if (!json_is_string(value))
        return wrong(r, field, value, prompt_wanted);
    return make_prompts(r, prompts, 1, 0) && take_string(r, field, value, &prompts->items[0].text);
}

/* ---- logit_bias ------------------------------------------------------------------------------ */

static bool take_bias(const struct reader *r, const struct sv_field *field, const char *key,
                      const json_t *value, struct sv_bias *bias)
{
    char *end;
    errno = 0;
    long id = strtol(key, &end, 10);
    if (end == key || *end || errno || id < 0 || id > INT32_MAX)
        return sv_refuse(r->problem, SV_BAD_VALUE, field->name,
                         "'%s' has the key \"%.40s\": keys must be token ids.", field->name, key);
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= field->least) || !(number <= field->most)) {
        char wanted[96];
        (void)snprintf(wanted, sizeof wanted, "an object of numbers from %g to %g", field->least,
                       field->most);
        return wrong(r, field, value, wanted);
    }
    *bias = (struct sv_bias){.id = (int32_t)id, .value = (float)number};
    return true;
}

static bool read_bias(const struct reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_biases *biases = place(r, field->offset);
    size_t count = json_object_size(value);
    if (!json_is_object(value) || count > SV_BIAS_MAX) {
        char wanted[96];
        (void)snprintf(wanted, sizeof wanted, "an object with at most %d token ids as keys",
                       SV_BIAS_MAX);
        return wrong(r, field, value, wanted);
    }
    struct sv_bias *next = r->document->biases = calloc(count + 1, sizeof *next);
    if (!next)
        return out_of_memory(r);
    *biases = (struct sv_biases){.count = (int)count, .items = next};
    const char *key;
    json_t *item;
    json_object_foreach (value, key, item) {
        if (!take_bias(r, field, key, item, next++))
            return false;
    }
    return true;
}

/* ---- objects --------------------------------------------------------------------------------- */

static const struct sv_field *find(const struct sv_field *fields, const char *name)
{
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static bool unknown(const struct reader *r, const struct sv_field *fields, const char *name)
{
    char names[1024] = "", param[SV_PARAM_MAX];
    size_t used = 0;
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++)
        if (f->kind != SV_FIELD_REFUSED && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     f->name);
    (void)snprintf(param, sizeof param, "%s%s", r->prefix, name);
    return sv_refuse(r->problem, SV_UNKNOWN_PARAMETER, param,
                     "Unknown parameter '%s'. Accepted: %s.", param, names);
}

static bool read_field(const struct reader *r, const struct sv_field *field, json_t *value)
{
    if (field->given)
        *(bool *)place(r, field->given) = true;
    switch (field->kind) {
    case SV_FIELD_BOOL: return read_bool(r, field, value);
    case SV_FIELD_INT: return read_int(r, field, value);
    case SV_FIELD_NUMBER: return read_number(r, field, value);
    case SV_FIELD_STRING: return read_string(r, field, value);
    case SV_FIELD_STRINGS: return read_strings(r, field, value);
    case SV_FIELD_PROMPTS: return read_prompts(r, field, value);
    case SV_FIELD_BIAS: return read_bias(r, field, value);
    case SV_FIELD_OBJECT:
    case SV_FIELD_END: break;
    case SV_FIELD_REFUSED:
        return sv_refuse(r->problem, SV_UNSUPPORTED, field->name,
                         "The parameter '%s' is not supported here. %s", field->name,
                         field->accepted ? field->accepted : "Leave it out.");
    }
    assert(field->kind == SV_FIELD_END); /* an object inside an object's inner table */
    return false;
}

static bool is_complete(const struct reader *r, const struct sv_field *fields, const json_t *object)
{
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++) {
        const json_t *value = json_object_get(object, f->name);
        if (f->required && (!value || json_is_null(value)))
            return sv_refuse(r->problem, SV_MISSING, f->name, "'%s' is required.", f->name);
    }
    return true;
}

/* Every member of the object through `read`, and all that is required there. */
static bool read_members(const struct reader *r, const struct sv_field *fields, json_t *object,
                         bool (*read)(const struct reader *, const struct sv_field *, json_t *))
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) {
        const struct sv_field *field = find(fields, name);
        if (!field)
            return unknown(r, fields, name);
        if (!json_is_null(value) && !read(r, field, value))
            return false;
    }
    return is_complete(r, fields, object);
}

/* A field of the body itself, which may be an object of plain fields. */
static bool read_outer(const struct reader *r, const struct sv_field *field, json_t *value)
{
    char prefix[SV_PARAM_MAX];
    if (field->kind != SV_FIELD_OBJECT)
        return read_field(r, field, value);
    if (!json_is_object(value))
        return wrong(r, field, value, "an object");
    (void)snprintf(prefix, sizeof prefix, "%s.", field->name);
    struct reader inner = *r;
    inner.prefix = prefix;
    return read_members(&inner, field->inner, value, read_field);
}

/* Brackets nested deeper than we ever need are refused before the parser follows them. */
static bool is_too_deep(const char *bytes, size_t count)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < count; i++) {
        if (quoted && bytes[i] == '\\')
            i++;
        else if (bytes[i] == '"')
            quoted = !quoted;
        else if (!quoted && (bytes[i] == '[' || bytes[i] == '{')) {
            if (++depth > SV_JSON_DEPTH_MAX)
                return true;
        } else if (!quoted && (bytes[i] == ']' || bytes[i] == '}'))
            depth--;
    }
    return false;
}

/* Some complaints of the parser are about values of well-formed JSON. */
static enum sv_problem_kind kind_of(enum json_error_code code)
{
    return code == json_error_duplicate_key || code == json_error_null_byte_in_key ? SV_BAD_VALUE
                                                                                   : SV_BAD_JSON;
}

static json_t *parse(const char *bytes, size_t count, struct sv_problem *problem)
{
    if (is_too_deep(bytes, count)) {
        (void)sv_refuse(problem, SV_BAD_VALUE, NULL, "The body nests deeper than %d levels.",
                        SV_JSON_DEPTH_MAX);
        return NULL;
    }
    json_error_t error;
    json_t *root =
        json_loadb(bytes, count, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!root)
        (void)sv_refuse(problem, kind_of(json_error_code(&error)), NULL,
                        "The body is not accepted as JSON: %s (line %d, column %d).", error.text,
                        error.line, error.column);
    return root;
}

struct sv_document *sv_wire_read(const char *bytes, size_t count, const struct sv_field *fields,
                                 void *to, struct sv_problem *problem)
{
    struct sv_document *document = calloc(1, sizeof *document);
    struct reader reader = {.document = document, .to = to, .prefix = "", .problem = problem};
    if (!document) {
        (void)out_of_memory(&reader);
        return NULL;
    }
    document->root = parse(bytes, count, problem);
    bool fine = document->root != NULL;
    if (fine && !json_is_object(document->root))
        fine = sv_refuse(problem, SV_BAD_VALUE, NULL, "The body must be a JSON object.");
    if (!fine || !read_members(&reader, fields, document->root, read_outer)) {
        sv_document_release(document);
        return NULL;
    }
    return document;
}
