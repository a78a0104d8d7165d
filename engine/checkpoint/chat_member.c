/* chat_member.c - the member "chat" of config.json. */
#include "checkpoint/chat_member.h"

#include "formats/json_io.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char member[] = "chat";
static const char template[] = "template", unknown[] = "unknown_template";
static const char bos[] = "bos_token", eos[] = "eos_token", end_tokens[] = "end_tokens";

/* A missing one stays "". */
static bool read_text(const json_t *chat, const char *key, char *out, size_t size,
                      struct sl_err *err)
{
    const char *text = json_object_get(chat, key) ? sl_json_text(chat, key, err) : "";
    if (!text)
        return false;
    if (strlen(text) >= size)
        return sl_fail(err, SL_CORRUPT, "'%s' has %zu bytes: expected at most %zu", key,
                       strlen(text), size - 1);
    (void)snprintf(out, size, "%s", text);
    return true;
}

static bool read_template(struct sl_chat_facts *facts, const json_t *chat, struct sl_err *err)
{
    char list[256];
    const char *name = json_object_get(chat, template) ? sl_json_text(chat, template, err) : "";
    if (!name || !*name)
        return name;
    facts->template = sl_chat_template_named(name);
    return facts->template || sl_fail(err, SL_CORRUPT, "unknown '%s' '%.64s': expected one of: %s",
                                      template, name, sl_chat_template_list(list));
}

static bool read_end(struct sl_chat_facts *facts, const json_t *chat, struct sl_err *err)
{
    const json_t *list = json_object_get(chat, end_tokens);
    if (list && (!json_is_array(list) || json_array_size(list) > SL_END_TOKENS_MAX))
        return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected an array of at most %d ids",
                       end_tokens, sl_json_type(list), SL_END_TOKENS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_is_integer(json_array_get(list, i)))
            return sl_fail(err, SL_CORRUPT, "%s: item %zu is %s: expected an id", end_tokens, i,
                           sl_json_type(json_array_get(list, i)));
        sl_chat_facts_add_end(facts, json_integer_value(json_array_get(list, i)));
    }
    return true;
}

bool sl_chat_member_read(struct sl_chat_facts *facts, const json_t *root, struct sl_err *err)
{
    static const char *const keys[] = {template, unknown, bos, eos, end_tokens, NULL};
    *facts = (struct sl_chat_facts){0};
    if (!json_object_get(root, member))
        return true;
    json_t *chat = sl_json_object(root, member, err);
    if (!chat)
        return false;
    bool ok = sl_json_keys(chat, keys, err) && read_template(facts, chat, err) &&
              read_text(chat, unknown, facts->unknown, sizeof facts->unknown, err) &&
              read_text(chat, bos, facts->bos, sizeof facts->bos, err) &&
              read_text(chat, eos, facts->eos, sizeof facts->eos, err) &&
              read_end(facts, chat, err);
    return ok || sl_wrap(err, member);
}

static bool print_text(json_t *chat, const char *key, const char *text)
{
    return !*text || json_object_set_new(chat, key, json_string(text)) == 0;
}

static bool print_end(json_t *chat, const struct sl_chat_facts *facts)
{
    json_t *list = json_array();
    for (int i = 0; list && i < facts->end_token_count; i++)
        if (json_array_append_new(list, json_integer(facts->end_tokens[i])) != 0)
            break;
    return json_object_set_new(chat, end_tokens, list) == 0;
}

bool sl_chat_member_print(json_t *root, const struct sl_chat_facts *facts)
{
    if (!facts->template && !facts->unknown[0] && facts->end_token_count == 0)
        return true;
    json_t *chat = json_object();
    return json_object_set_new(root, member, chat) == 0 &&
           print_text(chat, template, facts->template ? facts->template->name : "") &&
           print_text(chat, unknown, facts->unknown) && print_text(chat, bos, facts->bos) &&
           print_text(chat, eos, facts->eos) && print_end(chat, facts);
}
