/* read_chat_messages.c - JSON into the parts of one text: messages and their content, as OpenAI has
 * them. */
#include "params/completion_params.h"
#include "json/json_field_reader.h"

#include <jansson.h>
#include <string.h>

/* One part of a message's content. */
struct part {
    struct sv_string text;
};

static const char *const part_types[] = {"input_text", NULL};

const struct sv_field sv_part_fields[] = {
    SV_KEYWORD_FIELD("type", part_types, .required = true, .help = "type of the part"),
    SV_FIELD("text", STRING, offsetof(struct part, text), 0, SV_TEXT_BYTES_MAX, .required = true,
             .help = "the text"),
    SV_UNSUPPORTED_FIELD("prompt_cache_breakpoint",
                         "Prompt caching is not supported; leave it out."),
    SV_UNSUPPORTED_FIELD("image_url", "Only text is supported."),
    SV_UNSUPPORTED_FIELD("detail", "Only text is supported."),
    SV_UNSUPPORTED_FIELD("data", "Send it as a part of type input_text."),
    {.kind = SV_FIELD_END},
};

struct message {
    struct sv_texts content;
};

static const char *const roles[] = {"user", NULL};
static const char *const message_types[] = {"message", NULL};

const struct sv_field sv_message_fields[] = {
    SV_KEYWORD_FIELD("role", roles, .required = true, .help = "who says it"),
    SV_KEYWORD_FIELD("type", message_types, .help = "type of the item"),
    SV_CUSTOM_FIELD("content", sv_type_parts, offsetof(struct message, content), 1, SV_PARTS_MAX,
                    .required = true, .subfields = sv_part_fields, .help = "text, or its parts"),
    {.kind = SV_FIELD_END},
};

/* -- a conversation --------------------------------------------------------------------------- */

static const char *const chat_part_types[] = {"text", NULL};

static const struct sv_field chat_part_fields[] = {
    SV_KEYWORD_FIELD("type", chat_part_types, .required = true, .help = "type of the part"),
    SV_FIELD("text", STRING, offsetof(struct part, text), 0, SV_TEXT_BYTES_MAX, .required = true,
             .help = "the text"),
    SV_UNSUPPORTED_FIELD("image_url", "Only text is supported."),
    SV_UNSUPPORTED_FIELD("input_audio", "Only text is supported."),
    SV_UNSUPPORTED_FIELD("file", "Only text is supported."),
    SV_UNSUPPORTED_FIELD("refusal", "Send it as a part of type text."),
    {.kind = SV_FIELD_END},
};

/* In the order of enum sl_chat_role. */
static const char *const chat_roles[] = {"system", "user", "assistant", "developer", NULL};

const struct sv_field sv_chat_message_fields[] = {
    SV_ENUM_FIELD("role", offsetof(struct sv_message, role), SL_CHAT_SYSTEM, chat_roles,
                  .required = true, .help = "who says it; the developer is the system"),
    SV_CUSTOM_FIELD("content", sv_type_content, offsetof(struct sv_message, content), 1,
                    SV_PARTS_MAX, .required = true, .subfields = chat_part_fields,
                    .help = "text, or its parts, which become its lines"),
    SV_IGNORED_FIELD("name", SV_NAME_BYTES_MAX),
    SV_CUSTOM_FIELD("annotations", sv_type_ignored, 0, 0, 0, .help = "ignored"),
    SV_UNSUPPORTED_FIELD("refusal", "Send it as 'content'."),
    SV_UNSUPPORTED_FIELD("tool_calls", "Tools are not supported."),
    SV_UNSUPPORTED_FIELD("tool_call_id", "Tools are not supported."),
    SV_UNSUPPORTED_FIELD("function_call", "Functions are not supported."),
    SV_UNSUPPORTED_FIELD("audio", "Only text is supported."),
    {.kind = SV_FIELD_END},
};

static bool read_ignored(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    (void)r;
    (void)field;
    (void)value;
    return true;
}

const struct sv_field_type sv_type_ignored = {read_ignored, "any"};

/* -- parts of one text ------------------------------------------------------------------------ */

/* Reads an array of the field's objects into structs of this size. NULL: see error. */
static void *read_objects(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                          size_t size, int *count)
{
    struct sv_list list = {0};
    struct sv_reader reader = *r;
    reader.to = &list;
    const struct sv_field as_list = {.name = field->name,
                                     .kind = SV_FIELD_CUSTOM,
                                     .type = &sv_type_list,
                                     .min = field->min,
                                     .max = field->max,
                                     .subfields = field->subfields,
                                     .size = size};
    void *items = as_list.type->read(&reader, &as_list, value) ? list.items : NULL;
    *count = list.count;
    return items;
}

static struct sv_string *make_texts(const struct sv_reader *r, struct sv_texts *texts, int count)
{
    texts->items = sv_reader_alloc(r, (size_t)count, sizeof *texts->items);
    texts->count = count;
    return texts->items;
}

static bool take_parts(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                       struct sv_texts *texts)
{
    int count;
    if (json_is_string(value))
        return make_texts(r, texts, 1) && sv_reader_string(r, field, value, texts->items);
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value, "a string or an array of parts");
    const struct part *parts = read_objects(r, field, value, sizeof *parts, &count);
    if (!parts || !make_texts(r, texts, count))
        return false;
    texts->is_array = true;
    for (int i = 0; i < count; i++)
        texts->items[i] = parts[i].text;
    return true;
}

static bool read_parts(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    return take_parts(r, field, value, sv_reader_target(r, field->offset));
}

const struct sv_field_type sv_type_parts = {read_parts, "string|[@]*"};

static bool read_content(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts parts = {0};
    return take_parts(r, field, value, &parts) &&
           sv_texts_join(r->document, &parts, '\n', sv_reader_target(r, field->offset), r->error);
}

const struct sv_field_type sv_type_content = {read_content, "string|[@]*"};

/* The parts of all messages, in their order. */
static bool collect(const struct sv_reader *r, const struct message *messages, int count,
                    struct sv_texts *texts)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += messages[i].content.count;
    struct sv_string *to = make_texts(r, texts, total);
    texts->is_array = true;
    for (int i = 0; to && i < count; i++) {
        const struct sv_texts *content = &messages[i].content;
        memcpy(to, content->items, (size_t)content->count * sizeof *to);
        to += content->count;
    }
    return to;
}

static bool read_messages(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    int count;
    if (json_is_string(value))
        return take_parts(r, field, value, texts);
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value, "a string or an array of messages");
    const struct message *messages = read_objects(r, field, value, sizeof *messages, &count);
    return messages && collect(r, messages, count, texts);
}

const struct sv_field_type sv_type_messages = {read_messages, "string|[@]*"};

bool sv_texts_join(struct sv_json_document *document, const struct sv_texts *texts, char separator,
                   struct sv_string *whole, struct sv_error *error)
{
    const struct sv_reader reader = {.document = document, .error = error};
    size_t bytes = (size_t)texts->count;
    for (int i = 0; i < texts->count; i++)
        bytes += texts->items[i].bytes;
    char *to = sv_reader_alloc(&reader, bytes + 1, 1);
    *whole = (struct sv_string){.data = to, .bytes = bytes - 1};
    for (int i = 0; to && i < texts->count; i++) {
        memcpy(to, texts->items[i].data, texts->items[i].bytes);
        to += texts->items[i].bytes;
        if (i + 1 < texts->count)
            *to++ = separator;
    }
    return to;
}

static bool read_string_or_bool(const struct sv_reader *r, const struct sv_field *field,
                                json_t *value)
{
    struct sv_string_or_bool *keyword = sv_reader_target(r, field->offset);
    keyword->is_boolean = json_is_boolean(value);
    if (!keyword->is_boolean)
        return json_is_string(value)
                   ? sv_reader_bounded_string(r, field, value, &keyword->text)
                   : sv_reader_invalid(r, field, value, "a string, true or false");
    keyword->text.data = json_is_true(value) ? "true" : "false";
    keyword->text.bytes = strlen(keyword->text.data);
    return true;
}

const struct sv_field_type sv_type_string_or_bool = {read_string_or_bool, "string*|boolean"};
