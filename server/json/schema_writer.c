/* schema_writer.c - JSON Schemas of types, and of the fields of request bodies. */
#include "json/schema_writer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A piece of a type. */
struct type {
    const char *text;
    size_t length;
};

static bool is_type(struct type type, const char *word)
{
    return strlen(word) == type.length && memcmp(type.text, word, type.length) == 0;
}

/* What comes before the next '|' that is not inside brackets. */
static struct type first_choice(struct type type)
{
    size_t length = 0;
    for (int depth = 0; length < type.length; length++) {
        char c = type.text[length];
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        if (c == '|' && depth == 0)
            break;
    }
    return (struct type){type.text, length};
}

/* The type without its first choice. */
static struct type other_choices(struct type type, struct type first)
{
    size_t skipped = first.length + (first.length < type.length);
    return (struct type){type.text + skipped, type.length - skipped};
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* A bound that fits into 64 bits as an integer: as a double, INT64_MAX is rounded up to 2^63. */
static void add_number(struct sl_json_writer *json, double value)
{
    if (value >= 0x1p63)
        sl_json_add_int(json, INT64_MAX);
    else if (value == floor(value))
        sl_json_add_int(json, (int64_t)value);
    else
        sl_json_add_real(json, value);
}

static void add_range(struct sl_json_writer *json, double min, double max)
{
    add_number(sl_json_key(json, "minimum"), min);
    add_number(sl_json_key(json, "maximum"), max);
}

/* How many a field may hold. What only memory bounds is not mentioned. */
static void add_counts(struct sl_json_writer *json, const struct sv_field *field, const char *min,
                       const char *max)
{
    if (field->min > 0)
        add_number(sl_json_key(json, min), field->min);
    if (field->max < INT32_MAX)
        add_number(sl_json_key(json, max), field->max);
}

/* ---- types ----------------------------------------------------------------------------------- */

// NOLINTBEGIN(misc-no-recursion): as deep as brackets in a type and tables in a table

static void write_members(struct sl_json_writer *json, struct type type, bool is_nullable,
                          const struct sv_field *field);
static void write_object(struct sl_json_writer *json, const struct sv_field *fields,
                         bool is_nullable);

/* {...} of a type. */
static void write_type(struct sl_json_writer *json, struct type type, const struct sv_field *field)
{
    sl_json_begin_object(json);
    write_members(json, type, /* is_nullable= */ false, field);
    sl_json_end_object(json);
}

static void add_json_type(struct sl_json_writer *json, const char *name, size_t length,
                          bool is_nullable)
{
    sl_json_add(json, "'type':");
    if (is_nullable)
        sl_json_begin_array(json);
    sl_json_add_bytes(json, name, length);
    if (is_nullable) {
        sl_json_add(json, "'null']");
    }
}

static void add_reference(struct sl_json_writer *json, struct type type)
{
    struct sl_buffer path = {0};
    sl_buffer_printf(&path, "#/components/schemas/%.*s", (int)type.length, type.text);
    json->out->failed = json->out->failed || path.failed;
    sl_json_add(json, "'$ref':%.*s", (int)path.bytes, path.data);
    sl_buffer_release(&path);
}

static void add_name(struct sl_json_writer *json, struct type type, bool is_nullable)
{
    if (is_type(type, "size") || is_type(type, "token")) {
        add_json_type(json, "integer", strlen("integer"), is_nullable);
        sl_json_add(json, "'minimum':0");
        if (type.text[0] == 't')
            sl_json_add(json, "'maximum':%d", INT32_MAX);
    } else if (is_type(type, "binary")) {
        add_json_type(json, "string", strlen("string"), is_nullable);
        sl_json_add(json, "'format':'binary'");
    } else if (!is_type(type, "any")) {
        add_json_type(json, type.text, type.length, is_nullable);
    }
}

static void add_container(struct sl_json_writer *json, struct type type, bool is_nullable,
                          const struct sv_field *field)
{
    const char *name = type.text[0] == '[' ? "array" : "object";
    add_json_type(json, name, strlen(name), is_nullable);
    (void)sl_json_key(json, type.text[0] == '[' ? "items" : "additionalProperties");
    write_type(json, (struct type){type.text + 1, type.length - 2}, field);
}

static void add_bounds(struct sl_json_writer *json, struct type type, const struct sv_field *field)
{
    if (type.text[0] == '[')
        add_counts(json, field, "minItems", "maxItems");
    else if (type.text[0] == '{')
        add_counts(json, field, "minProperties", "maxProperties");
    else if (is_type(type, "string"))
        add_counts(json, field, "minLength", "maxLength");
    else
        add_range(json, field->min, field->max);
}

/* The members of one choice that is neither a reference nor a word. */
static void add_choice(struct sl_json_writer *json, struct type type, bool is_nullable,
                       const struct sv_field *field)
{
    bool is_bounded = type.text[type.length - 1] == '*';
    assert(field || (!is_bounded && type.text[0] != '@'));
    type.length -= is_bounded;
    switch (type.text[0]) {
    case '[':
    case '{': add_container(json, type, is_nullable, field); break;
    case '@': write_object(json, field->subfields, is_nullable); break;
    default: add_name(json, type, is_nullable);
    }
    if (is_bounded)
        add_bounds(json, type, field);
}

static bool is_reference(struct type type)
{
    return type.text[0] >= 'A' && type.text[0] <= 'Z';
}

static bool is_word(struct type type)
{
    return type.text[0] == '\'';
}

/* Whether all choices are words. */
static bool are_words(struct type type)
{
    for (struct type one; type.length > 0; type = other_choices(type, one)) {
        one = first_choice(type);
        if (!is_word(one))
            return false;
    }
    return true;
}

static void add_words(struct sl_json_writer *json, struct type type, bool is_nullable)
{
    sl_json_add(json, "'enum':[");
    for (struct type one; type.length > 0; type = other_choices(type, one)) {
        one = first_choice(type);
        sl_json_add_bytes(json, one.text + 1, one.length - 2);
    }
    if (is_nullable)
        sl_json_add_null(json);
    sl_json_end_array(json);
}

static void add_choices(struct sl_json_writer *json, struct type type, bool is_nullable,
                        const struct sv_field *field)
{
    static const struct type null = {"null", sizeof "null" - 1};
    sl_json_add(json, "'anyOf':[");
    for (struct type one; type.length > 0; type = other_choices(type, one)) {
        one = first_choice(type);
        write_type(json, one, field);
    }
    if (is_nullable)
        write_type(json, null, field);
    sl_json_end_array(json);
}

static struct type without_null(struct type type, bool *is_nullable)
{
    static const char null[] = "|null";
    size_t length = sizeof null - 1;
    if (type.length > length && memcmp(type.text + type.length - length, null, length) == 0) {
        *is_nullable = true;
        type.length -= length;
    }
    return type;
}

/* The members of a type's schema, without its braces. */
static void write_members(struct sl_json_writer *json, struct type type, bool is_nullable,
                          const struct sv_field *field)
{
    type = without_null(type, &is_nullable);
    struct type one = first_choice(type);
    bool is_single = one.length == type.length;
    if (are_words(type))
        add_words(json, type, is_nullable);
    else if (is_single && is_reference(type) && !is_nullable)
        add_reference(json, type);
    else if (is_single && !is_reference(type))
        add_choice(json, type, is_nullable, field);
    else
        add_choices(json, type, is_nullable, field);
}

void sv_schema_write_type(struct sl_json_writer *json, const char *type)
{
    sv_schema_write_described(json, type, NULL);
}

void sv_schema_write_described(struct sl_json_writer *json, const char *type, const char *help)
{
    sl_json_begin_object(json);
    if (help)
        sl_json_add(json, "'description':%s", help);
    write_members(json, (struct type){type, strlen(type)}, /* is_nullable= */ false, NULL);
    sl_json_end_object(json);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static const char *type_of(const struct sv_field *field)
{
    switch (field->kind) {
    case SV_FIELD_BOOL: return "boolean";
    case SV_FIELD_INT: return "integer*";
    case SV_FIELD_NUMBER: return "number*";
    case SV_FIELD_STRING:
    case SV_FIELD_IGNORED: return "string*";
    case SV_FIELD_STRINGS: return "string|[string]*";
    case SV_FIELD_CUSTOM: return field->type->accepts;
    case SV_FIELD_KEYWORD:
    case SV_FIELD_ENUM:
    case SV_FIELD_UNSUPPORTED:
    case SV_FIELD_END: break;
    }
    return NULL;
}

static void add_keywords(struct sl_json_writer *json, const struct sv_field *field)
{
    sl_json_add(json, "'enum':[");
    for (const char *const *word = field->keywords; *word; word++)
        sl_json_add_string(json, *word);
    if (!field->required)
        sl_json_add_null(json);
    sl_json_end_array(json);
}

static void write_field(struct sl_json_writer *json, const struct sv_field *field)
{
    const char *type = type_of(field);
    assert(type || field->keywords);
    sl_json_add(json, "{'description':%s", field->help);
    if (field->keywords)
        add_keywords(json, field);
    else
        write_members(json, (struct type){type, strlen(type)}, !field->required, field);
    if (field->default_json)
        sl_json_add_raw(sl_json_key(json, "default"), field->default_json,
                        strlen(field->default_json));
    sl_json_end_object(json);
}

bool sv_schema_is_required(const struct sv_field *fields)
{
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++)
        if (f->required)
            return true;
    return false;
}

static void add_required(struct sl_json_writer *json, const struct sv_field *fields)
{
    if (!sv_schema_is_required(fields))
        return;
    sl_json_add(json, "'required':[");
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++)
        if (f->required)
            sl_json_add_string(json, f->name);
    sl_json_end_array(json);
}

/* The members of the schema of an object with these fields. */
static void write_object(struct sl_json_writer *json, const struct sv_field *fields,
                         bool is_nullable)
{
    add_json_type(json, "object", strlen("object"), is_nullable);
    add_required(json, fields);
    sl_json_add(json, "'properties':{");
    const struct sv_field *f = fields;
    for (; f->kind != SV_FIELD_END; f++)
        if (f->kind != SV_FIELD_UNSUPPORTED)
            write_field(sl_json_key(json, f->name), f);
    sl_json_add(json, "},'additionalProperties':%i", f->ignores_others);
}

// NOLINTEND(misc-no-recursion)

void sv_schema_write_fields(struct sl_json_writer *json, const struct sv_field *fields)
{
    sl_json_begin_object(json);
    write_object(json, fields, /* is_nullable= */ false);
    sl_json_end_object(json);
}
