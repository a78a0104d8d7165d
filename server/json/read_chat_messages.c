/* read_chat_messages.c - JSON into the parts of one text: messages and their content, as OpenAI has
 * them. */
#include "json/json_field_reader.h"
#include "json/json_schema.h"

#include <jansson.h>
#include <string.h>

/* One part of a message's content. */
struct part {
    struct sv_string type, text;
};

static const struct sv_field part_fields[] = {
    SV_FIELD("type", STRING, offsetof(struct part, type), 0, SV_KEYWORD_BYTES_MAX, .required = true,
             .help = "\"input_text\""),
    SV_FIELD("text", STRING, offsetof(struct part, text), 0, SV_TEXT_BYTES_MAX, .help = "the text"),
    SV_UNSUPPORTED_FIELD("prompt_cache_breakpoint",
                         "Prompt caching is not supported; leave it out."),
    SV_UNSUPPORTED_FIELD("image_url", "Only text is supported."),
    SV_UNSUPPORTED_FIELD("detail", "Only text is supported."),
    SV_UNSUPPORTED_FIELD("data", "Send it as a part of type input_text."),
    {.kind = SV_FIELD_END},
};

struct message {
    struct sv_string role, type;
    struct sv_texts content;
};

static bool read_parts(const struct sv_reader *r, const struct sv_field *field, json_t *value);

static const struct sv_field message_fields[] = {
    SV_FIELD("role", STRING, offsetof(struct message, role), 0, SV_KEYWORD_BYTES_MAX,
             .required = true, .help = "\"user\""),
    SV_FIELD("type", STRING, offsetof(struct message, type), 0, SV_KEYWORD_BYTES_MAX,
             .help = "\"message\""),
    SV_CUSTOM_FIELD("content", read_parts, offsetof(struct message, content), 0, 0,
                    .required = true, .help = "text, or parts of type \"input_text\""),
    {.kind = SV_FIELD_END},
};

/* Reads an array of objects into structs of this size. NULL: see error. */
static void *read_objects(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                          const struct sv_field *subfields, size_t size, int *count)
{
    struct sv_list list = {0};
    struct sv_reader reader = *r;
    reader.to = &list;
    const struct sv_field as_list = {.name = field->name,
                                     .kind = SV_FIELD_CUSTOM,
                                     .read = sv_read_list,
                                     .min = 1,
                                     .max = SV_PARTS_MAX,
                                     .subfields = subfields,
                                     .size = size};
    void *items = as_list.read(&reader, &as_list, value) ? list.items : NULL;
    *count = list.count;
    return items;
}

static bool is_keyword(const struct sv_string *string, const char *keyword)
{
    return string->data && strcmp(string->data, keyword) == 0;
}

static bool fail_content(const struct sv_reader *r, const struct sv_field *field, const char *what,
                         const struct sv_string *found)
{
    char param[SV_PARAM_MAX];
    sv_reader_param(r, field, param);
    return sv_fail(r->error, SV_INVALID_VALUE, param, "'%s' holds %s, not \"%.40s\".", param, what,
                   found->data ? found->data : "");
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
    const struct part *parts = read_objects(r, field, value, part_fields, sizeof *parts, &count);
    if (!parts || !make_texts(r, texts, count))
        return false;
    texts->is_array = true;
    for (int i = 0; i < count; i++) {
        if (!is_keyword(&parts[i].type, "input_text") || !parts[i].text.data)
            return fail_content(r, field, "parts of type \"input_text\" with a 'text'",
                                &parts[i].type);
        texts->items[i] = parts[i].text;
    }
    return true;
}

static bool read_parts(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    return take_parts(r, field, value, sv_reader_target(r, field->offset));
}

bool sv_read_content(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts parts = {0};
    return take_parts(r, field, value, &parts) &&
           sv_texts_join(r->document, &parts, '\n', sv_reader_target(r, field->offset), r->error);
}

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

bool sv_read_messages(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    int count;
    if (json_is_string(value))
        return take_parts(r, field, value, texts);
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value, "a string or an array of messages");
    const struct message *messages =
        read_objects(r, field, value, message_fields, sizeof *messages, &count);
    for (int i = 0; messages && i < count; i++) {
        if (messages[i].type.data && !is_keyword(&messages[i].type, "message"))
            return fail_content(r, field, "items of type \"message\"", &messages[i].type);
        if (!is_keyword(&messages[i].role, "user"))
            return fail_content(r, field, "messages of the role \"user\"", &messages[i].role);
    }
    return messages && collect(r, messages, count, texts);
}

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

bool sv_read_string_or_bool(const struct sv_reader *r, const struct sv_field *field, json_t *value)
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
