/* json_chat.c - conversations as examples: each answer of the assistant that is to be learnt is a
 * label, and the turns before it are the text, one per line, without the system's.
 *
 * OpenAI's fine-tuning files, ShareGPT's, Gemini's and their mixtures differ in the names of
 * members and roles only. A turn of the assistant with "weight": 0 is not learnt. */
#include "base/dynarray.h"
#include "data/json_reader.h"
#include "data/record_format.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The names that a member has; the first is used in errors if there is none. */
static const char *const turn_lists[] = {"messages", "conversations", "conversation", "contents",
                                         NULL},
                         *const roles[] = {"role", "from", NULL},
                         *const contents[] = {"content", "value", "parts", NULL},
                         *const assistants[] = {"assistant", "gpt",   "chatgpt",
                                                "bot",       "model", NULL},
                         *const systems[] = {"system", "developer", NULL};

struct chat {
    const struct sl_chosen *chosen;
    struct sl_json_reader json;
    const char *list, *content_name; /* of the members */
    const json_t *turns;
    size_t next; /* the turn to go on with */
    char *text;  /* of the turns before */
    size_t room, used;
    char *content; /* of the turn that was read last */
    size_t content_room, content_bytes;
    bool learns_any; /* the conversation has an answer that is to be learnt */
};

static bool chat_open(void *state, const struct sl_record_input *input, struct sl_err *err)
{
    struct chat *c = state;
    (void)err;
    c->chosen = &input->chosen;
    c->json.by_lines = input->by_lines;
    return true;
}

static void chat_close(void *state)
{
    struct chat *c = state;
    sl_json_reader_release(&c->json);
    free(c->text);
    free(c->content);
}

static bool is_one_of(const char *role, const char *const *names)
{
    for (; *names; names++)
        if (strcasecmp(role, *names) == 0)
            return true;
    return false;
}

/* Appends to an array of bytes. */
static bool append(char **text, size_t *room, size_t *used, const char *more, size_t bytes,
                   struct sl_err *err)
{
    if (!sl_dynarray_reserve(text, room, *used + bytes + 1, 1, err))
        return false;
    if (bytes > 0)
        memcpy(*text + *used, more, bytes);
    *used += bytes;
    return true;
}

static bool fail_member(const struct chat *c, const char *why, struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT, "%s[%zu].%s %s", c->list, c->next, c->content_name, why);
}

static bool add_content(struct chat *c, const json_t *string, struct sl_err *err)
{
    return append(&c->content, &c->content_room, &c->content_bytes, json_string_value(string),
                  json_string_length(string), err);
}

/* A string, or parts that are strings or have a "text"; null is nothing. */
static bool read_content(struct chat *c, const json_t *content, struct sl_err *err)
{
    size_t i;
    const json_t *part;
    c->content_bytes = 0;
    if (json_is_string(content))
        return add_content(c, content, err);
    if (content && !json_is_null(content) && !json_is_array(content))
        return fail_member(c, "must be a string or a list of parts", err);
    json_array_foreach (content, i, part) {
        const json_t *text = json_is_string(part) ? part : json_object_get(part, "text");
        if (!json_is_string(text))
            return fail_member(c, "has a part that is not text", err);
        if (!add_content(c, text, err))
            return false;
    }
    return true;
}

/* *name: that of the member which the object has, or the first. NULL: it has none. */
static const json_t *find_member(const json_t *object, const char *const *names, const char **name)
{
    *name = names[0];
    for (; *names; names++) {
        const json_t *value = json_object_get(object, *names);
        if (!value)
            continue;
        *name = *names;
        return value;
    }
    return NULL;
}

static bool find_turns(struct chat *c, struct sl_err *err)
{
    c->turns = find_member(c->json.value, turn_lists, &c->list);
    c->next = c->used = 0;
    c->learns_any = false;
    if (!c->turns)
        return sl_fail(err, SL_BAD_INPUT,
                       "no 'messages': expected a list of turns, each with 'role' and 'content'");
    return (json_is_array(c->turns) && json_array_size(c->turns) > 0) ||
           sl_fail(err, SL_BAD_INPUT, "'%s' is %s: expected a list of turns", c->list,
                   json_is_array(c->turns) ? "empty" : sl_json_type_name(c->turns));
}

/* The turn that was read last is one of those before the next. */
static bool take_context(struct chat *c, struct sl_err *err)
{
    return c->content_bytes == 0 ||
           ((c->used == 0 || append(&c->text, &c->room, &c->used, "\n", 1, err)) &&
            append(&c->text, &c->room, &c->used, c->content, c->content_bytes, err));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Answers often begin or end with a space or a line break. */
static struct sl_field trimmed_content(const struct chat *c)
{
    size_t first = 0, end = c->content_bytes;
    while (first < end && is_blank(c->content[first]))
        first++;
    while (end > first && is_blank(c->content[end - 1]))
        end--;
    return (struct sl_field){end > first ? c->content + first : "", end - first};
}

static void fill_row(struct chat *c, struct sl_row *row, const char *left_out)
{
    const struct sl_field text = {c->used > 0 ? c->text : "", c->used};
    row->fields[0] = c->chosen->unlabelled ? text : trimmed_content(c);
    row->fields[c->chosen->labels] = text;
    row->count = c->chosen->count;
    row->left_out = left_out;
}

/* *role, *learns: of the next turn. */
static bool read_turn(struct chat *c, const char **role, bool *learns, struct sl_err *err)
{
    const json_t *turn = json_array_get(c->turns, c->next);
    const json_t *content = find_member(turn, contents, &c->content_name);
    const json_t *weight = json_object_get(turn, "weight");
    const char *role_name;
    *role = json_string_value(find_member(turn, roles, &role_name));
    if (!*role)
        return sl_fail(err, SL_BAD_INPUT, "%s[%zu].%s is missing or no string", c->list, c->next,
                       role_name);
    if (!read_content(c, content, err))
        return false;
    *learns = is_one_of(*role, assistants) &&
              !(json_is_number(weight) && json_number_value(weight) == 0.0);
    if (!*learns || trimmed_content(c).bytes > 0)
        return true;
    return fail_member(c,
                       json_is_string(content) || json_is_array(content)
                           ? "is empty: expected a label, or \"weight\": 0"
                           : "is null or missing: expected a label, or \"weight\": 0",
                       err);
}

/* Goes on to the next answer that is to be learnt, and fills the row. *found: false if the
 * conversation has no more. */
static bool find_answer(struct chat *c, struct sl_row *row, bool *found, struct sl_err *err)
{
    *found = false;
    while (!*found && c->next < json_array_size(c->turns)) {
        const char *role;
        if (!read_turn(c, &role, found, err))
            return false;
        if (*found)
            fill_row(c, row, c->used == 0 ? "no turn stands before the assistant's" : NULL);
        if (!*found && !is_one_of(role, systems) && !take_context(c, err))
            return false;
        c->next++;
    }
    if (!*found && !c->learns_any) {
        fill_row(c, row, "it has no turn of the assistant that is to be learnt");
        *found = true;
    }
    c->learns_any = true;
    return true;
}

static bool next_conversation(struct chat *c, struct sl_line_reader *lines, struct sl_row *row,
                              struct sl_err *err)
{
    c->turns = NULL;
    const bool read = sl_json_reader_next(&c->json, lines, err);
    row->line = c->json.line;
    if (!read || !c->json.value || find_turns(c, err))
        return read;
    c->turns = NULL;
    return sl_line_reader_wrap(lines, row->line, err);
}

static bool chat_next(void *state, struct sl_line_reader *lines, struct sl_row *row,
                      struct sl_err *err)
{
    struct chat *c = state;
    bool found = false;
    row->count = 0;
    row->is_list = false;
    if (c->turns && !take_context(c, err)) /* the answer of the row before */
        return false;
    while (!found) {
        if (!c->turns && !next_conversation(c, lines, row, err))
            return false;
        if (!c->turns)
            return true;
        const bool ok = find_answer(c, row, &found, err);
        if (!ok || !found)
            c->turns = NULL;
        if (!ok)
            return sl_line_reader_wrap(lines, row->line, err);
    }
    return true;
}

const struct sl_record_format sl_record_format_chat = {.name = "chat",
                                                       .extensions = {NULL},
                                                       .keyed = true,
                                                       .size = sizeof(struct chat),
                                                       .open = chat_open,
                                                       .next = chat_next,
                                                       .close = chat_close};
