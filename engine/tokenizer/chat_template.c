/* chat_template.c - the table of chat templates, and a conversation written by a row of it. */
#include "tokenizer/chat_template.h"

#include "base/comma_list.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

#include <stdlib.h>
#include <string.h>

/* -- the table -------------------------------------------------------------------------------- */

/* Qwen's way, which many took over. */
#define CHATML_PARTS                                                                               \
    .roles = {{"<|im_start|>system\n", "<|im_end|>\n"},                                            \
              {"<|im_start|>user\n", "<|im_end|>\n"},                                              \
              {"<|im_start|>assistant\n", "<|im_end|>\n"}},                                        \
    .answer = "<|im_start|>assistant\n", .special = {"<|im_start|>", "<|im_end|>"}

static const struct sl_chat_template templates[] = {
    {.name = "chatml",
     .digests = {"153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3",
                 "58c1a1f04baa7adaeaba1f90267c3d57d9396f0c1f0129bdde9e76d3c6784af7"},
     CHATML_PARTS},
    {.name = "smollm2",
     .digests = {"872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788"},
     .default_system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
     CHATML_PARTS},
    {.name = "qwen1.5",
     .digests = {"af9c0233881b083b52ff773580215222b5440ac3d0beeeca99b76329b048f8db"},
     .default_system = "You are a helpful assistant",
     CHATML_PARTS},
    {.name = "qwen2",
     .digests = {"793202280c0910ab26bc6eb57c8212c2417324c6d8c4efd0d10d59092ab3e3eb"},
     .default_system = "You are a helpful assistant.",
     CHATML_PARTS},
    {.name = "qwen2.5",
     .digests = {"a18cc698dd45623eb707279d08e66f7bb8d76afc89ead84016b88487b395b5cc"},
     .default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
     CHATML_PARTS},
    {.name = "zephyr",
     .digests = {"66291cf0045c2425a3a667cf3cbb7af2b11f09e025c02f97245323ab79119362"},
     .roles = {{"<|system|>\n", "{eos}\n"},
               {"<|user|>\n", "{eos}\n"},
               {"<|assistant|>\n", "{eos}\n"}},
     .answer = "<|assistant|>\n",
     .special = {"{eos}"}},
    {.name = "llama2",
     .digests = {"9780fae5bfea3cfd7be37d328c6edfd296a8869be8131495bbe7eb37e780c88c"},
     .roles = {{"<<SYS>>\n", "\n<</SYS>>\n\n"}, {"{bos}[INST] ", " [/INST]"}, {" ", " {eos}"}},
     .answer = "",
     .special = {"{bos}", "{eos}"},
     .trims = true,
     .joins_system = true},
    {.name = "llama3",
     .digests = {"ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122",
                 "b48c47f6443892716176eb200bf4ef108f64e06ca26ed0fa8ebc0a4b3992fcb2"},
     .begin = "{bos}",
     .roles = {{"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
               {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
               {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"}},
     .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .special = {"{bos}", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
     .trims = true},
};

enum { TEMPLATES = sizeof templates / sizeof *templates };

const struct sl_chat_template *sl_chat_template_named(const char *name)
{
    for (int i = 0; i < TEMPLATES; i++)
        if (strcmp(templates[i].name, name) == 0)
            return &templates[i];
    return NULL;
}

const char *sl_chat_template_list(char list[256])
{
    list[0] = '\0';
    for (int i = 0; i < TEMPLATES; i++)
        sl_list_add(list, 256, templates[i].name);
    return list;
}

static const struct sl_chat_template *find_digest(const char *digest)
{
    for (int i = 0; i < TEMPLATES; i++)
        for (int k = 0; k < SL_CHAT_DIGESTS_MAX && templates[i].digests[k]; k++)
            if (strcmp(templates[i].digests[k], digest) == 0)
                return &templates[i];
    return NULL;
}

/* -- what a model says ------------------------------------------------------------------------ */

/* Jinja leaves out a final newline, and in its strings "\n" is one. */
void sl_chat_facts_set(struct sl_chat_facts *facts, const char *text, size_t bytes)
{
    struct sl_buffer plain = {0};
    for (size_t i = 0; i < bytes; i++) {
        const bool newline = text[i] == '\\' && i + 1 < bytes && text[i + 1] == 'n';
        sl_buffer_append(&plain, newline ? "\n" : &text[i], 1);
        i += newline;
    }
    if (plain.bytes > 0 && plain.data[plain.bytes - 1] == '\n')
        plain.bytes--;
    sl_sha256_hex(plain.bytes > 0 ? plain.data : "", plain.bytes, facts->unknown);
    sl_buffer_release(&plain);
    facts->template = find_digest(facts->unknown);
    if (facts->template)
        facts->unknown[0] = '\0';
}

bool sl_chat_facts_ends(const struct sl_chat_facts *facts, int32_t id)
{
    for (int i = 0; i < facts->end_token_count; i++)
        if (facts->end_tokens[i] == id)
            return true;
    return false;
}

void sl_chat_facts_add_end(struct sl_chat_facts *facts, int64_t id)
{
    const bool is_id = id >= 0 && id < SL_VOCAB_MAX;
    if (is_id && facts->end_token_count < SL_END_TOKENS_MAX &&
        !sl_chat_facts_ends(facts, (int32_t)id))
        facts->end_tokens[facts->end_token_count++] = (int32_t)id;
}

/* -- pieces of a row -------------------------------------------------------------------------- */

static void add_piece(struct sl_buffer *out, const struct sl_chat_facts *facts, const char *piece)
{
    const struct {
        const char *name, *text;
    } tokens[] = {{"{bos}", facts->bos}, {"{eos}", facts->eos}};

    for (const char *at = piece ? piece : ""; *at;) {
        const char *text = NULL;
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens && !text; i++)
            if (strncmp(at, tokens[i].name, strlen(tokens[i].name)) == 0)
                text = tokens[i].text;
        if (text)
            sl_buffer_append_string(out, text);
        else
            sl_buffer_append(out, at, 1);
        at += text ? strlen("{bos}") : 1;
    }
}

/* The id of a special token that a piece spells; -1: it spells none. */
static int32_t special_id(const struct sl_chat_facts *facts, const struct sl_tokenizer *tokenizer,
                          const char *piece)
{
    struct sl_buffer text = {0};
    struct sl_err ignored;
    int32_t id = -1;
    add_piece(&text, facts, piece);
    const long count = text.bytes > 0 ? sl_tokenizer_encode(tokenizer, text.data, text.bytes,
                                                            SL_UNKNOWN_FAIL, &id, 1, &ignored)
                                      : 0;
    const struct sl_decoding decoding = {.ids = &id, .count = 1, .skip_special = true};
    const bool is_special = count == 1 && sl_tokenizer_decode(tokenizer, &decoding, &ignored) == 0;
    sl_buffer_release(&text);
    return is_special ? id : -1;
}

void sl_chat_facts_complete(struct sl_chat_facts *facts, const struct sl_tokenizer *tokenizer)
{
    const struct sl_chat_template *t = facts->template;
    int last = 0;
    while (t && last + 1 < SL_CHAT_SPECIAL_MAX && t->special[last + 1])
        last++;
    if (t)
        sl_chat_facts_add_end(facts, special_id(facts, tokenizer, t->special[last]));
}

/* -- checks ----------------------------------------------------------------------------------- */

static bool find_template(const struct sl_chat_facts *facts, struct sl_err *err)
{
    char list[256];
    if (facts->template)
        return true;
    if (!facts->unknown[0])
        return sl_fail(err, SL_NOT_FOUND, "the model has no chat template");
    return sl_fail(err, SL_NOT_FOUND,
                   "the model's chat template is unknown (SHA-256 %.16s...): expected that of %s",
                   facts->unknown, sl_chat_template_list(list));
}

static bool check_special(const struct sl_chat_facts *facts, const struct sl_tokenizer *tokenizer,
                          struct sl_err *err)
{
    const struct sl_chat_template *t = facts->template;
    for (int i = 0; i < SL_CHAT_SPECIAL_MAX && t->special[i]; i++)
        if (special_id(facts, tokenizer, t->special[i]) < 0)
            return sl_fail(err, SL_NOT_FOUND,
                           "the chat template %s needs the special token '%s', which the "
                           "tokenizer does not have",
                           t->name, t->special[i]);
    return true;
}

static bool has_system(const struct sl_chat *chat)
{
    return chat->count > 0 && chat->messages[0].role == SL_CHAT_SYSTEM;
}

/* Where user and assistant take turns. */
static bool check_turns(const struct sl_chat_template *t, const struct sl_chat *chat,
                        struct sl_err *err)
{
    const int first = has_system(chat);
    if (t->joins_system && chat->count == first)
        return sl_fail(err, SL_BAD_INPUT, "the chat template %s needs a user's message", t->name);
    for (int i = first; t->joins_system && i < chat->count; i++)
        if (chat->messages[i].role != ((i - first) % 2 == 0 ? SL_CHAT_USER : SL_CHAT_ASSISTANT)) {
            sl_fail(err, SL_BAD_INPUT,
                    "the chat template %s wants user and assistant to take turns, after at most "
                    "one message of the system",
                    t->name);
            if (err)
                err->index = i;
            return false;
        }
    return true;
}

static bool check_texts(const struct sl_chat *chat, struct sl_err *err)
{
    for (int i = 0; i < chat->count; i++)
        if (!sl_utf8_check(chat->messages[i].text, chat->messages[i].bytes, err))
            return sl_wrap(err, "message %d", i + 1);
    return chat->count > 0 || sl_fail(err, SL_BAD_INPUT, "a conversation without messages");
}

/* -- writing ---------------------------------------------------------------------------------- */

struct writer {
    const struct sl_chat_facts *facts;
    struct sl_chat_prompt *prompt;
    struct sl_buffer out;
};

/* Python's str.isspace. */
static bool is_space(const char *text, size_t at)
{
    const uint32_t point = sl_char_next(text, &at);
    return (point >= 0x1C && point <= 0x1F) || (sl_char_classes(point) & SL_CHAR_SPACE);
}

static size_t skip_spaces(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && is_space(text, at))
        at += sl_char_bytes(text[at]);
    return at;
}

/* Removes white space from the end of what was written, down to a place. */
static void trim_end(struct sl_buffer *out, size_t from)
{
    while (out->bytes > from && !out->failed) {
        size_t at = out->bytes - 1;
        while (at > from && sl_utf8_is_continuation(out->data[at]))
            at--;
        if (!is_space(out->data, at))
            break;
        out->bytes = at;
        out->data[at] = '\0';
    }
}

/* A part that no special token is found in. */
static void add_content(struct writer *w, const struct sl_chat_message *m, bool trims)
{
    const size_t skipped = trims ? skip_spaces(m->text, m->bytes) : 0;
    const size_t start = w->out.bytes;
    sl_buffer_append(&w->out, m->text + skipped, m->bytes - skipped);
    if (trims)
        trim_end(&w->out, start);
    if (w->out.bytes > start)
        w->prompt->plain[w->prompt->plain_count++] = (struct sl_byte_range){start, w->out.bytes};
}

/* Plain parts end where the text does. */
static void cut_plain(struct writer *w)
{
    struct sl_chat_prompt *prompt = w->prompt;
    while (prompt->plain_count > 0 && prompt->plain[prompt->plain_count - 1].start >= w->out.bytes)
        prompt->plain_count--;
    if (prompt->plain_count > 0 && prompt->plain[prompt->plain_count - 1].stop > w->out.bytes)
        prompt->plain[prompt->plain_count - 1].stop = w->out.bytes;
}

/* With the system's message before it, or NULL: then only the end of both together is trimmed. */
static void add_message(struct writer *w, const struct sl_chat_message *system,
                        const struct sl_chat_message *m)
{
    const struct sl_chat_template *t = w->facts->template;
    add_piece(&w->out, w->facts, t->roles[m->role].before);
    const size_t start = w->out.bytes;
    if (system) {
        add_piece(&w->out, w->facts, t->roles[SL_CHAT_SYSTEM].before);
        add_content(w, system, false);
        add_piece(&w->out, w->facts, t->roles[SL_CHAT_SYSTEM].after);
        add_content(w, m, false);
        trim_end(&w->out, start);
        cut_plain(w);
    } else {
        add_content(w, m, t->trims);
    }
    add_piece(&w->out, w->facts, t->roles[m->role].after);
}

static void add_messages(struct writer *w, const struct sl_chat *chat)
{
    const struct sl_chat_template *t = w->facts->template;
    const bool joins = t->joins_system && has_system(chat);
    add_piece(&w->out, w->facts, t->begin);
    if (t->default_system && !has_system(chat)) {
        add_piece(&w->out, w->facts, t->roles[SL_CHAT_SYSTEM].before);
        sl_buffer_append_string(&w->out, t->default_system);
        add_piece(&w->out, w->facts, t->roles[SL_CHAT_SYSTEM].after);
    }
    for (int i = joins; i < chat->count; i++)
        add_message(w, joins && i == 1 ? chat->messages : NULL, &chat->messages[i]);
    add_piece(&w->out, w->facts, t->answer);
}

static bool write_all(struct writer *w, const struct sl_chat *chat, struct sl_err *err)
{
    struct sl_chat_prompt *prompt = w->prompt;
    prompt->plain = calloc((size_t)chat->count + 1, sizeof *prompt->plain);
    if (!prompt->plain)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d messages", chat->count);
    add_messages(w, chat);
    if (!sl_buffer_check(&w->out, err))
        return false;
    prompt->bytes = w->out.bytes;
    prompt->text = sl_buffer_take(&w->out);
    return prompt->text || sl_fail(err, SL_NO_MEMORY, "no memory for a prompt");
}

bool sl_chat_write(const struct sl_chat_facts *facts, const struct sl_tokenizer *tokenizer,
                   const struct sl_chat *chat, struct sl_chat_prompt *prompt, struct sl_err *err)
{
    struct writer w = {.facts = facts, .prompt = prompt};
    *prompt = (struct sl_chat_prompt){0};
    if (!find_template(facts, err) || !check_special(facts, tokenizer, err) ||
        !check_texts(chat, err) || !check_turns(facts->template, chat, err))
        return false;
    bool ok = write_all(&w, chat, err);
    sl_buffer_release(&w.out);
    return ok;
}
