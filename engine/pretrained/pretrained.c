/* pretrained.c - opens a directory of Hugging Face's, or a GGUF file. */
#include "pretrained/pretrained.h"

#include "base/file.h"
#include "base/sha256.h"
#include "formats/json_io.h"
#include "formats/pretrained_tokenizer.h"
#include "pretrained/chat_files.h"
#include "pretrained/sentence_files.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char config_file[] = "config.json";

enum { CONFIG_BYTES_MAX = 4 << 20 };

static json_t *read_config(const char *directory, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    json_t *root = sl_path_join(path, directory, config_file, err)
                       ? sl_json_open(path, CONFIG_BYTES_MAX, err)
                       : NULL;
    if (!root)
        sl_wrap(err, "%s", config_file);
    return root;
}

static int is_gguf_name(const struct dirent *entry)
{
    const char *suffix = strrchr(entry->d_name, '.');
    return suffix && strcmp(suffix, ".gguf") == 0;
}

/* How many GGUF files are at a path, which may be one; `file` is the path of the only one. */
static int find_gguf(const char *path, char file[SL_PATH_MAX])
{
    struct dirent **entries;
    const int count = scandir(path, &entries, is_gguf_name, NULL);
    if (count == 1)
        (void)snprintf(file, SL_PATH_MAX, "%s/%s", path, entries[0]->d_name);
    else
        (void)snprintf(file, SL_PATH_MAX, "%s", path);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
    return count > 1 ? count : sl_gguf_model_is(file);
}

/* Not one of ours, which has a format. */
static bool is_published(const json_t *config)
{
    return json_object_get(config, "model_type") && !json_object_get(config, "format");
}

bool sl_pretrained_is(const char *path)
{
    char file[SL_PATH_MAX];
    struct sl_err ignored;
    json_auto_t *config = read_config(path, &ignored);
    return is_published(config) || find_gguf(path, file) > 0;
}

static bool read_model(struct sl_pretrained *p, const char *directory, const json_t *config,
                       struct sl_err *err)
{
    const enum sl_sentence_kind kind = sl_sentence_files_kind(directory);
    if (!sl_config_json_read(&p->published, config, kind == SL_SENTENCE_ENCODER, err))
        return sl_wrap(err, "%s", config_file);
    return kind == SL_SENTENCE_NONE || sl_sentence_files_read(directory, &p->published, err);
}

/* The vocabulary's size comes last of the sizes: only now can they be checked together. */
static bool set_tokenizer(struct sl_pretrained *p, struct sl_tokenizer *tokens, struct sl_err *err)
{
    struct sl_published *published = &p->published;
    p->tokens = tokens;
    if (!tokens)
        return false;
    published->config.vocab = sl_tokenizer_size(tokens);
    sl_chat_facts_complete(&p->chat, tokens);
    return sl_config_check(published->arch, &published->config, err);
}

/* Dense layers of a sentence encoder have files of their own. */
static bool open_weights(struct sl_pretrained *p, const char *directory, struct sl_err *err)
{
    char prefix[32];
    bool ok = sl_weights_open(&p->weights, directory, err);
    for (int i = 0; i < SL_DENSE_MAX && p->published.dense[i][0] && ok; i++) {
        (void)snprintf(prefix, sizeof prefix, "dense_%d", i + 1);
        ok = sl_weights_add(&p->weights, directory, p->published.dense[i], prefix, err);
    }
    return ok;
}

static bool open_directory(struct sl_pretrained *p, const char *directory, const json_t *config,
                           struct sl_err *err)
{
    if (!read_model(p, directory, config, err) ||
        !sl_chat_files_read(directory, config, &p->chat, err) ||
        !set_tokenizer(p, sl_pretrained_tokenizer_open(directory, p->published.lowers, err), err) ||
        !open_weights(p, directory, err))
        return false;
    sl_weights_digest(&p->weights, p->sha256);
    return true;
}

static bool open_file(struct sl_pretrained *p, const char *path, struct sl_err *err)
{
    json_t *config;
    if (!sl_gguf_model_open(&p->gguf, path, &config, &p->weights, err))
        return false;
    bool ok = sl_config_json_read(&p->published, config, /* embeds= */ false, err);
    json_decref(config);
    p->published.config.pooling = p->gguf.pooling;
    sl_sha256_hex(p->gguf.map.data, p->gguf.map.size, p->sha256);
    return ok && sl_chat_metadata_read(&p->gguf.file, &p->chat, err) &&
           set_tokenizer(p, sl_gguf_model_tokenizer(&p->gguf, err), err);
}

/* It is there, and has no config.json, not even one that cannot be read. */
static bool lacks_config(const char *path)
{
    char config[SL_PATH_MAX];
    return access(path, F_OK) == 0 && !sl_path_find(config, path, config_file);
}

static bool fail_unknown(const char *path, struct sl_err *err)
{
    char manifest[SL_PATH_MAX];
    if (sl_path_find(manifest, path, "manifest.json"))
        return sl_fail(err, SL_BAD_INPUT, "it is a version already: copy or load it as it is");
    return sl_fail(err, SL_BAD_INPUT,
                   "it is neither a directory of Hugging Face's, which has a config.json, nor a "
                   "GGUF file");
}

static bool open_any(struct sl_pretrained *p, const char *path, struct sl_err *err)
{
    char file[SL_PATH_MAX];
    struct sl_err why = {0};
    json_auto_t *config = read_config(path, &why);
    const int files = is_published(config) ? 0 : find_gguf(path, file);
    if (files > 1)
        return sl_fail(err, SL_BAD_INPUT, "it has %d GGUF files, each of them a model: keep one",
                       files);
    if (files == 1)
        return open_file(p, file, err);
    if (json_object_get(config, "format") || lacks_config(path))
        return fail_unknown(path, err);
    if (config)
        return open_directory(p, path, config, err);
    if (err)
        *err = why;
    return false;
}

bool sl_pretrained_open(struct sl_pretrained *p, const char *path, struct sl_err *err)
{
    *p = (struct sl_pretrained){0};
    if (open_any(p, path, err))
        return true;
    sl_pretrained_close(p);
    return false;
}

bool sl_pretrained_load(struct sl_pretrained *p, const struct sl_parameter *parameters, int count,
                        struct sl_err *err)
{
    return sl_weights_load(&p->weights, &p->published, parameters, count, err);
}

void sl_pretrained_close(struct sl_pretrained *p)
{
    sl_published_release(&p->published);
    sl_tokenizer_destroy(p->tokens);
    sl_weights_close(&p->weights);
    sl_gguf_model_close(&p->gguf);
    *p = (struct sl_pretrained){0};
}
