/* wire_messages.c - JSON into one text: messages and the parts of their content, as OpenAI has
 * them.
 *
 * A classifier reads one text, so what comes in parts is put together, a line each. */
#include "wire.h"
#include "wire_reader.h"

#include <jansson.h>
#include <string.h>

/* One part of a message's content. */
struct part {
    struct sv_string type, text;
};

static const struct sv_field part_fields[] = {
    {.name = "type",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct part, type),
     .most = SV_WORD_BYTES_MAX,
     .required = true},
    {.name = "text",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct part, text),
     .most = SV_TEXT_BYTES_MAX},
    {.name = "prompt_cache_breakpoint",
     .kind = SV_FIELD_REFUSED,
     .accepted = "Nothing is cached here; leave it out."},
    {.name = "image_url", .kind = SV_FIELD_REFUSED, .accepted = "Models here read texts."},
    {.name = "detail", .kind = SV_FIELD_REFUSED, .accepted = "Models here read texts."},
    {.name = "data", .kind = SV_FIELD_REFUSED, .accepted = "Send it as a part of type input_text."},
    {.kind = SV_FIELD_END},
};

struct message {
    struct sv_string role, type, content;
};

static const struct sv_field message_fields[] = {
    {.name = "role",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct message, role),
     .most = SV_WORD_BYTES_MAX,
     .required = true},
    {.name = "type",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct message, type),
     .most = SV_WORD_BYTES_MAX},
    {.name = "content",
     .kind = SV_FIELD_READ,
     .read = sv_read_content,
     .offset = offsetof(struct message, content),
     .required = true},
    {.kind = SV_FIELD_END},
};

/* The objects of an array, as structs of this size; NULL: see the problem. */
static void *read_objects(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                          const struct sv_field *inner, size_t size, int *count)
{
    struct sv_list list = {0};
    struct sv_reader reader = *r;
    reader.to = &list;
    const struct sv_field as_list = {.name = field->name,
                                     .kind = SV_FIELD_READ,
                                     .read = sv_read_list,
                                     .least = 1,
                                     .most = SV_PARTS_MAX,
                                     .inner = inner,
                                     .size = size};
    void *items = as_list.read(&reader, &as_list, value) ? list.items : NULL;
    *count = list.count;
    return items;
}

/* Joins texts with a line break between two. */
static bool join(const struct sv_reader *r, const struct sv_string *texts, int count,
                 struct sv_string *whole)
{
    size_t bytes = (size_t)count;
    for (int i = 0; i < count; i++)
        bytes += texts[i].bytes;
    char *to = sv_reader_take(r, bytes + 1, 1);
    *whole = (struct sv_string){.data = to, .bytes = bytes - 1};
    for (int i = 0; to && i < count; i++) {
        memcpy(to, texts[i].data, texts[i].bytes);
        to += texts[i].bytes;
        if (i + 1 < count)
            *to++ = '\n';
    }
    return to;
}

static bool is_word(const struct sv_string *string, const char *word)
{
    return string->data && strcmp(string->data, word) == 0;
}

static bool not_so(const struct sv_reader *r, const struct sv_field *field, const char *what,
                   const struct sv_string *found)
{
    char param[SV_PARAM_MAX];
    sv_reader_param(r, field, param);
    return sv_refuse(r->problem, SV_BAD_VALUE, param, "'%s' holds %s, not \"%.40s\".", param, what,
                     found->data ? found->data : "");
}

bool sv_read_content(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_string *whole = sv_reader_place(r, field->offset);
    int count;
    if (json_is_string(value))
        return sv_reader_string(r, field, value, whole);
    if (!json_is_array(value))
        return sv_reader_wrong(r, field, value, "a string or an array of parts");
    const struct part *parts = read_objects(r, field, value, part_fields, sizeof *parts, &count);
    struct sv_string *texts = parts ? sv_reader_take(r, (size_t)count, sizeof *texts) : NULL;
    for (int i = 0; texts && i < count; i++) {
        if (!is_word(&parts[i].type, "input_text") || !parts[i].text.data)
            return not_so(r, field, "parts of type \"input_text\" with a 'text'", &parts[i].type);
        texts[i] = parts[i].text;
    }
    return texts && join(r, texts, count, whole);
}

bool sv_read_messages(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_string *whole = sv_reader_place(r, field->offset);
    int count;
    if (json_is_string(value))
        return sv_reader_string(r, field, value, whole);
    if (!json_is_array(value))
        return sv_reader_wrong(r, field, value, "a string or an array of messages");
    const struct message *messages =
        read_objects(r, field, value, message_fields, sizeof *messages, &count);
    struct sv_string *texts = messages ? sv_reader_take(r, (size_t)count, sizeof *texts) : NULL;
    for (int i = 0; texts && i < count; i++) {
        if (messages[i].type.data && !is_word(&messages[i].type, "message"))
            return not_so(r, field, "items of type \"message\"", &messages[i].type);
        if (!is_word(&messages[i].role, "user"))
            return not_so(r, field, "messages of the role \"user\"", &messages[i].role);
        texts[i] = messages[i].content;
    }
    return texts && join(r, texts, count, whole);
}

bool sv_read_word(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_word *word = sv_reader_place(r, field->offset);
    word->is_boolean = json_is_boolean(value);
    if (!word->is_boolean)
        return json_is_string(value) ? sv_reader_string(r, field, value, &word->text)
                                     : sv_reader_wrong(r, field, value, "a string, true or false");
    word->text.data = json_is_true(value) ? "true" : "false";
    word->text.bytes = strlen(word->text.data);
    return true;
}
