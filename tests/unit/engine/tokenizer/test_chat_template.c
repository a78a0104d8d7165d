/* test_chat_template.c - prompts are those that the Python package `transformers` makes with the
 * models' own templates (golden/record_chat.py), and what a message spells out stays text. */
#include "formats/tokenizer_json.h"
#include "support/test.h"
#include "tokenizer/chat_template.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 1 << 12, MESSAGES_MAX = 8 };

static struct {
    json_t *root;
    struct sl_tokenizer *tokens;
} golden;

static void start(void)
{
    json_error_t error;
    struct sl_err err;
    golden.root = json_load_file(SL_SOURCE_DIR "/tests/golden/chat.json", 0, &error);
    cr_assert(golden.root, "%s", error.text);
    char *text = json_dumps(json_object_get(golden.root, "tokenizer"), 0);
    golden.tokens = sl_tokenizer_json_read(text, strlen(text), &err);
    cr_assert(golden.tokens, "%s", err.text);
    free(text);
}

static void stop(void)
{
    sl_tokenizer_destroy(golden.tokens);
    json_decref(golden.root);
}

TestSuite(chat_template, .init = start, .fini = stop);

static const json_t *templates_of(const char *name)
{
    return json_object_get(json_object_get(golden.root, "templates"), name);
}

static struct sl_chat_facts facts_of(const char *text)
{
    struct sl_chat_facts facts = {.bos = "<s>", .eos = "</s>"};
    sl_chat_facts_set(&facts, text, strlen(text));
    return facts;
}

static struct sl_chat_facts named(const char *name)
{
    return facts_of(json_string_value(json_array_get(templates_of(name), 0)));
}

static struct sl_chat chat_of(const json_t *conversation, struct sl_chat_message *messages)
{
    static const char *const roles[] = {"system", "user", "assistant"};
    size_t i;
    json_t *message;
    cr_assert_leq(json_array_size(conversation), (size_t)MESSAGES_MAX);
    json_array_foreach (conversation, i, message) {
        const json_t *content = json_object_get(message, "content");
        messages[i] = (struct sl_chat_message){.text = json_string_value(content),
                                               .bytes = json_string_length(content)};
        for (int r = 0; r < SL_CHAT_ROLES; r++)
            if (strcmp(json_string_value(json_object_get(message, "role")), roles[r]) == 0)
                messages[i].role = (enum sl_chat_role)r;
    }
    return (struct sl_chat){messages, (int)json_array_size(conversation)};
}

static long encode(const struct sl_chat_prompt *prompt, int32_t ids[TOKENS_MAX])
{
    struct sl_err err;
    struct sl_encoding job = {.text = prompt->text,
                              .bytes = prompt->bytes,
                              .plain = prompt->plain,
                              .plain_count = prompt->plain_count,
                              .capacity = TOKENS_MAX};
    job.ids = ids;
    const long count = sl_tokenizer_tokenize(golden.tokens, &job, &err);
    cr_assert(count >= 0 && count <= TOKENS_MAX, "%s", err.text);
    return count;
}

/* -- recognising ------------------------------------------------------------------------------ */

Test(chat_template, is_recognised_by_its_text)
{
    const char *name;
    json_t *texts, *value;
    size_t i;
    char list[256];
    json_object_foreach (json_object_get(golden.root, "templates"), name, texts) {
        json_array_foreach (texts, i, value) {
            char text[1 << 13];
            struct sl_chat_facts facts = facts_of(json_string_value(value));
            cr_assert(facts.template, "%s is not recognised", name);
            cr_expect_str_eq(facts.template->name, name);
            (void)snprintf(text, sizeof text, "%s\n", json_string_value(value));
            cr_expect_str_eq(facts_of(text).template->name, name, "with a final newline");
            text[strlen(text) / 2]++;
            facts = facts_of(text);
            cr_expect_null(facts.template, "%s, changed", name);
            cr_expect_eq(strlen(facts.unknown), 64);
        }
        cr_expect_eq(sl_chat_template_named(name),
                     facts_of(json_string_value(json_array_get(texts, 0))).template);
        cr_expect(strstr(sl_chat_template_list(list), name), "%s", list);
    }
}

/* As files of Hugging Face's spell them. */
Test(chat_template, is_the_same_with_line_breaks_spelled_out)
{
    const char *plain = json_string_value(json_array_get(templates_of("smollm2"), 0));
    char spelled[1 << 12];
    size_t used = 0;
    for (const char *c = plain; *c; c++)
        used += (size_t)snprintf(spelled + used, 3, *c == '\n' ? "\\n" : "%c", *c);
    cr_expect_str_eq(facts_of(spelled).template->name, "smollm2");
}

/* -- prompts ---------------------------------------------------------------------------------- */

static void expect_ids(const struct sl_chat_prompt *prompt, const char *want, const char *what)
{
    int32_t ids[TOKENS_MAX];
    const long count = encode(prompt, ids);
    const char *rest = want;
    for (long i = 0; i < count; i++) {
        char *next;
        cr_assert_eq(strtol(rest, &next, 10), ids[i], "%s: token %ld", what, i);
        rest = next;
    }
    cr_expect_eq(*rest, '\0', "%s: more tokens", what);
}

/* A message that a template would leave out is refused. */
static bool leaves_out(const char *name, size_t conversation)
{
    return strcmp(name, "llama2") == 0 && (conversation == 12 || conversation == 13);
}

Test(chat_template, prompts_are_those_of_transformers)
{
    const json_t *conversations = json_object_get(golden.root, "conversations");
    const char *name;
    json_t *texts, *conversation;
    size_t i;
    int refused = 0;
    json_object_foreach (json_object_get(golden.root, "prompts"), name, texts) {
        json_array_foreach (conversations, i, conversation) {
            struct sl_chat_message messages[MESSAGES_MAX];
            struct sl_chat_prompt prompt;
            struct sl_err err;
            const struct sl_chat chat = chat_of(conversation, messages);
            const struct sl_chat_facts facts = named(name);
            const char *want = json_string_value(json_array_get(texts, i));
            if (!want || leaves_out(name, i)) {
                cr_expect_not(sl_chat_write(&facts, golden.tokens, &chat, &prompt, &err));
                cr_expect_eq(err.code, SL_BAD_INPUT);
                cr_expect(strstr(err.text, name), "%s", err.text);
                refused++;
            } else {
                EXPECT_OK(sl_chat_write(&facts, golden.tokens, &chat, &prompt, &err), err);
                cr_expect_str_eq(prompt.text, want, "%s, conversation %zu", name, i);
                expect_ids(&prompt,
                           json_string_value(json_array_get(
                               json_object_get(json_object_get(golden.root, "ids"), name), i)),
                           name);
            }
            sl_chat_prompt_release(&prompt);
        }
    }
    cr_expect_eq(refused, 4);
}

/* -- what a message spells out ---------------------------------------------------------------- */

static long count_special(const struct sl_chat_prompt *prompt)
{
    struct sl_err err;
    int32_t ids[TOKENS_MAX];
    char text[TOKENS_MAX];
    const long count = encode(prompt, ids);
    long special = 0;
    struct sl_decoding decoding = {
        .ids = ids, .count = count, .text = text, .capacity = sizeof text};
    cr_expect_eq(sl_tokenizer_decode(golden.tokens, &decoding, &err), (long)prompt->bytes);
    cr_expect_eq(memcmp(text, prompt->text, prompt->bytes), 0, "it is not all there");
    for (long i = 0; i < count; i++) {
        decoding = (struct sl_decoding){.ids = &ids[i], .count = 1, .skip_special = true};
        special += sl_tokenizer_decode(golden.tokens, &decoding, &err) == 0;
    }
    return special;
}

static long special_with(const char *name, const char *text)
{
    struct sl_err err;
    struct sl_chat_prompt prompt;
    const size_t bytes = strlen(text);
    const struct sl_chat_message messages[] = {{SL_CHAT_SYSTEM, text, bytes},
                                               {SL_CHAT_USER, text, bytes},
                                               {SL_CHAT_ASSISTANT, text, bytes},
                                               {SL_CHAT_USER, text, bytes}};
    const struct sl_chat_facts facts = named(name);
    EXPECT_OK(sl_chat_write(&facts, golden.tokens, &(struct sl_chat){messages, 4}, &prompt, &err),
              err);
    const long special = count_special(&prompt);
    sl_chat_prompt_release(&prompt);
    return special;
}

Test(chat_template, messages_never_become_special_tokens)
{
    static const char *const forms[] = {"%s", "%s%s", "a %s b", "%s\n", " %s ", "<|im_%s", "<%s>"};
    const char *name;
    json_t *texts, *token;
    size_t k;
    json_object_foreach (json_object_get(golden.root, "templates"), name, texts) {
        const long usual = special_with(name, "harmless");
        cr_assert_gt(usual, 2, "%s", name);
        json_array_foreach (json_object_get(golden.root, "special"), k, token) {
            for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
                char text[128];
                const char *t = json_string_value(token);
/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral) */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                (void)snprintf(text, sizeof text, forms[f], t, t);
#pragma GCC diagnostic pop
                cr_expect_eq(special_with(name, text), usual, "%s: '%s'", name, text);
            }
        }
    }
}

/* Half of one in a message, the other half in the template. */
Test(chat_template, half_a_special_token_is_none)
{
    struct sl_err err;
    int32_t ids[TOKENS_MAX];
    const struct sl_byte_range halves[] = {{0, 5}, {10, 20}, {25, 26}};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        const struct sl_encoding job = {.text = "<|im_end|><|im_end|><|im_end|>",
                                        .bytes = 30,
                                        .plain = &halves[i],
                                        .plain_count = 1,
                                        .ids = ids,
                                        .capacity = TOKENS_MAX};
        cr_expect_eq(sl_tokenizer_tokenize(golden.tokens, &job, &err), 12);
    }
}

/* -- errors ----------------------------------------------------------------------------------- */

static void expect_refused(const struct sl_chat_facts *facts, const char *part)
{
    struct sl_err err;
    struct sl_chat_prompt prompt;
    const struct sl_chat_message hello = {SL_CHAT_USER, "Hello", 5};
    cr_expect_not(sl_chat_write(facts, golden.tokens, &(struct sl_chat){&hello, 1}, &prompt, &err));
    cr_expect_eq(err.code, SL_NOT_FOUND);
    cr_expect(strstr(err.text, part), "%s", err.text);
    sl_chat_prompt_release(&prompt);
}

Test(chat_template, what_is_missing_is_named)
{
    struct sl_chat_facts facts = {0};
    expect_refused(&facts, "the model has no chat template");
    facts = facts_of("{{ messages }}");
    expect_refused(&facts, "chatml, smollm2, qwen1.5, qwen2, qwen2.5, zephyr, llama2, llama3");
    expect_refused(&facts, "unknown (SHA-256 ");
    facts = named("zephyr");
    (void)snprintf(facts.eos, sizeof facts.eos, "<end>");
    expect_refused(&facts, "needs the special token '{eos}'");
    facts = named("llama3");
    facts.bos[0] = '\0';
    expect_refused(&facts, "needs the special token '{bos}'");
}

Test(chat_template, texts_end_with_the_template_s_token)
{
    struct sl_chat_facts facts = named("chatml");
    sl_chat_facts_complete(&facts, golden.tokens);
    cr_assert_eq(facts.end_token_count, 1);
    size_t bytes;
    cr_expect_str_eq(sl_tokenizer_piece(golden.tokens, facts.end_tokens[0], &bytes), "<|im_end|>");
    cr_expect(sl_chat_facts_ends(&facts, facts.end_tokens[0]));
    cr_expect_not(sl_chat_facts_ends(&facts, facts.end_tokens[0] + 1));
    sl_chat_facts_add_end(&facts, -1);
    sl_chat_facts_add_end(&facts, facts.end_tokens[0]);
    cr_expect_eq(facts.end_token_count, 1);
}
