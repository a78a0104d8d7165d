/* json_messages.c - JSON into the parts of one text: messages and their content, as OpenAI has
 * them. */
#include "json/json_reader.h"
#include "json/json_schema.h"

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
    struct sv_string role, type;
    struct sv_texts content;
};

static bool read_parts(const struct sv_reader *r, const struct sv_field *field, json_t *value);

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
     .read = read_parts,
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

static struct sv_string *make_texts(const struct sv_reader *r, struct sv_texts *texts, int count)
{
    texts->items = sv_reader_take(r, (size_t)count, sizeof *texts->items);
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
        return sv_reader_wrong(r, field, value, "a string or an array of parts");
    const struct part *parts = read_objects(r, field, value, part_fields, sizeof *parts, &count);
    if (!parts || !make_texts(r, texts, count))
        return false;
    texts->several = true;
    for (int i = 0; i < count; i++) {
        if (!is_word(&parts[i].type, "input_text") || !parts[i].text.data)
            return not_so(r, field, "parts of type \"input_text\" with a 'text'", &parts[i].type);
        texts->items[i] = parts[i].text;
    }
    return true;
}

static bool read_parts(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    return take_parts(r, field, value, sv_reader_place(r, field->offset));
}

bool sv_read_content(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts parts = {0};
    return take_parts(r, field, value, &parts) &&
           sv_texts_join(r->document, &parts, '\n', sv_reader_place(r, field->offset), r->problem);
}

/* The parts of all messages, in their order. */
static bool collect(const struct sv_reader *r, const struct message *messages, int count,
                    struct sv_texts *texts)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += messages[i].content.count;
    struct sv_string *to = make_texts(r, texts, total);
    texts->several = true;
    for (int i = 0; to && i < count; i++) {
        const struct sv_texts *content = &messages[i].content;
        memcpy(to, content->items, (size_t)content->count * sizeof *to);
        to += content->count;
    }
    return to;
}

bool sv_read_messages(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts *texts = sv_reader_place(r, field->offset);
    int count;
    if (json_is_string(value))
        return take_parts(r, field, value, texts);
    if (!json_is_array(value))
        return sv_reader_wrong(r, field, value, "a string or an array of messages");
    const struct message *messages =
        read_objects(r, field, value, message_fields, sizeof *messages, &count);
    for (int i = 0; messages && i < count; i++) {
        if (messages[i].type.data && !is_word(&messages[i].type, "message"))
            return not_so(r, field, "items of type \"message\"", &messages[i].type);
        if (!is_word(&messages[i].role, "user"))
            return not_so(r, field, "messages of the role \"user\"", &messages[i].role);
    }
    return messages && collect(r, messages, count, texts);
}

bool sv_texts_join(struct sv_document *document, const struct sv_texts *texts, char joint,
                   struct sv_string *whole, struct sv_problem *problem)
{
    const struct sv_reader reader = {.document = document, .problem = problem};
    size_t bytes = (size_t)texts->count;
    for (int i = 0; i < texts->count; i++)
        bytes += texts->items[i].bytes;
    char *to = sv_reader_take(&reader, bytes + 1, 1);
    *whole = (struct sv_string){.data = to, .bytes = bytes - 1};
    for (int i = 0; to && i < texts->count; i++) {
        memcpy(to, texts->items[i].data, texts->items[i].bytes);
        to += texts->items[i].bytes;
        if (i + 1 < texts->count)
            *to++ = joint;
    }
    return to;
}

bool sv_read_word(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_word *word = sv_reader_place(r, field->offset);
    word->is_boolean = json_is_boolean(value);
    if (!word->is_boolean)
        return json_is_string(value) ? sv_reader_short(r, field, value, &word->text)
                                     : sv_reader_wrong(r, field, value, "a string, true or false");
    word->text.data = json_is_true(value) ? "true" : "false";
    word->text.bytes = strlen(word->text.data);
    return true;
}
