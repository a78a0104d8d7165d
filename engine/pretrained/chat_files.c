/* chat_files.c - chat templates and end tokens, where Hugging Face's library and llama.cpp put
 * them. */
#include "pretrained/chat_files.h"

#include "base/file.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 16 << 20 };

/* -- members ---------------------------------------------------------------------------------- */

/* A token's text, or {"content": its text}; missing or null: it has none. */
static bool read_token(const json_t *root, const char *key, char out[SL_CHAT_TOKEN_MAX],
                       struct sl_err *err)
{
    const json_t *value = json_object_get(root, key);
    const json_t *text = json_is_object(value) ? json_object_get(value, "content") : value;
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(text))
        return sl_fail(err, SL_BAD_INPUT, "'%s' is %s: expected a string", key, sl_json_type(text));
    if (json_string_length(text) >= SL_CHAT_TOKEN_MAX)
        return sl_fail(err, SL_BAD_INPUT, "'%s' has %zu bytes: expected at most %d", key,
                       json_string_length(text), SL_CHAT_TOKEN_MAX - 1);
    (void)snprintf(out, SL_CHAT_TOKEN_MAX, "%s", json_string_value(text));
    return true;
}

/* A template, or a list of {"name", "template"}, of which the one named "default" is meant. */
static bool read_template(const json_t *root, struct sl_chat_facts *facts, struct sl_err *err)
{
    const json_t *value = json_object_get(root, "chat_template"), *text = value;
    size_t i;
    json_t *item;
    if (json_is_array(value))
        text = NULL;
    json_array_foreach (value, i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name && strcmp(name, "default") == 0)
            text = json_object_get(item, "template");
    }
    if (json_is_string(text))
        sl_chat_facts_set(facts, json_string_value(text), json_string_length(text));
    return !text || json_is_null(text) || json_is_string(text) ||
           sl_fail(err, SL_BAD_INPUT, "'chat_template' is %s: expected a string",
                   sl_json_type(text));
}

/* An id, or a list of ids. */
static bool read_end(const json_t *root, struct sl_chat_facts *facts, struct sl_err *err)
{
    static const char key[] = "eos_token_id";
    const json_t *value = json_object_get(root, key);
    size_t i;
    json_t *item;
    if (json_is_integer(value))
        sl_chat_facts_add_end(facts, json_integer_value(value));
    json_array_foreach (value, i, item) {
        if (!json_is_integer(item))
            return sl_fail(err, SL_BAD_INPUT, "'%s' has %s: expected ids", key, sl_json_type(item));
        sl_chat_facts_add_end(facts, json_integer_value(item));
    }
    return !value || json_is_null(value) || json_is_integer(value) || json_is_array(value) ||
           sl_fail(err, SL_BAD_INPUT, "'%s' is %s: expected an id or a list of ids", key,
                   sl_json_type(value));
}

/* -- files of a directory --------------------------------------------------------------------- */

static bool read_tokenizer_config(const char *path, struct sl_chat_facts *facts, struct sl_err *err)
{
    json_auto_t *root = sl_json_open_foreign(path, BYTES_MAX, err);
    bool ok = root && read_template(root, facts, err) &&
              read_token(root, "bos_token", facts->bos, err) &&
              read_token(root, "eos_token", facts->eos, err);
    return ok || sl_wrap(err, "'%s'", path);
}

static bool read_generation_config(const char *path, struct sl_chat_facts *facts,
                                   struct sl_err *err)
{
    json_auto_t *root = sl_json_open(path, BYTES_MAX, err);
    return (root && read_end(root, facts, err)) || sl_wrap(err, "'%s'", path);
}

static bool read_jinja(const char *path, struct sl_chat_facts *facts, struct sl_err *err)
{
    struct sl_map map = {0};
    if (!sl_map_open(&map, path, err))
        return false;
    const bool ok =
        map.size <= BYTES_MAX || sl_fail(err, SL_BAD_INPUT, "'%s': %zu bytes: expected at most %d",
                                         path, map.size, BYTES_MAX);
    if (ok)
        sl_chat_facts_set(facts, map.data, map.size);
    sl_map_close(&map);
    return ok;
}

/* A later one of a kind replaces what an earlier one said. */
static const struct {
    const char *name;
    bool (*read)(const char *path, struct sl_chat_facts *facts, struct sl_err *err);
} files[] = {{"tokenizer_config.json", read_tokenizer_config},
             {"chat_template.jinja", read_jinja},
             {"generation_config.json", read_generation_config}};

bool sl_chat_files_read(const char *directory, const json_t *config, struct sl_chat_facts *facts,
                        struct sl_err *err)
{
    char path[SL_PATH_MAX];
    *facts = (struct sl_chat_facts){0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (sl_path_find(path, directory, files[i].name) && !files[i].read(path, facts, err))
            return false;
    return facts->end_token_count > 0 || read_end(config, facts, err) ||
           sl_wrap(err, "config.json");
}

/* -- GGUF ------------------------------------------------------------------------------------- */

static void copy_piece(const struct sl_gguf *file, int64_t id, char out[SL_CHAT_TOKEN_MAX])
{
    const struct sl_gguf_array *tokens =
        sl_gguf_array_find(file, "tokenizer.ggml.tokens", SL_GGUF_STRING);
    size_t at = 0, bytes = 0;
    const char *text = NULL;
    if (!tokens || id < 0 || (uint64_t)id >= tokens->count)
        return;
    for (int64_t i = 0; i <= id; i++)
        text = sl_gguf_string_at(tokens, &at, &bytes);
    if (bytes < SL_CHAT_TOKEN_MAX)
        (void)snprintf(out, SL_CHAT_TOKEN_MAX, "%.*s", (int)bytes, text);
}

static int64_t metadata_id(const struct sl_gguf *file, const char *key)
{
    const json_t *value = json_object_get(file->metadata, key);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

bool sl_chat_metadata_read(const struct sl_gguf *file, struct sl_chat_facts *facts,
                           struct sl_err *err)
{
    static const char key[] = "tokenizer.chat_template";
    const json_t *text = json_object_get(file->metadata, key);
    *facts = (struct sl_chat_facts){0};
    if (text && !json_is_string(text))
        return sl_fail(err, SL_BAD_INPUT, "%s is %s: expected a string", key, sl_json_type(text));
    if (text)
        sl_chat_facts_set(facts, json_string_value(text), json_string_length(text));
    copy_piece(file, metadata_id(file, "tokenizer.ggml.bos_token_id"), facts->bos);
    copy_piece(file, metadata_id(file, "tokenizer.ggml.eos_token_id"), facts->eos);
    sl_chat_facts_add_end(facts, metadata_id(file, "tokenizer.ggml.eos_token_id"));
    sl_chat_facts_add_end(facts, metadata_id(file, "tokenizer.ggml.eot_token_id"));
    return true;
}
