/* pretrained.c - opens a directory of Hugging Face's. */
#include "pretrained/pretrained.h"

#include "base/file.h"
#include "formats/json_io.h"
#include "formats/pretrained_tokenizer.h"
#include "pretrained/sentence_files.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char config_file[] = "config.json";

enum { CONFIG_BYTES_MAX = 4 << 20 };

static json_t *read_config(const char *directory, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_map map = {0};
    json_t *root = NULL;
    if (!sl_path_join(path, directory, config_file, err) || !sl_map_open(&map, path, err))
        return NULL;
    if (map.size > CONFIG_BYTES_MAX)
        sl_fail(err, SL_BAD_INPUT, "%zu bytes: expected at most %d", map.size, CONFIG_BYTES_MAX);
    else
        root = sl_json_parse(map.data, map.size, err);
    sl_map_close(&map);
    if (!root)
        sl_wrap(err, "%s", config_file);
    return root;
}

bool sl_pretrained_is(const char *directory)
{
    struct sl_err ignored;
    json_auto_t *root = read_config(directory, &ignored);
    return root && json_object_get(root, "model_type") && !json_object_get(root, "format");
}

static bool read_model(struct sl_pretrained *p, const char *directory, struct sl_err *err)
{
    const bool embeds = sl_sentence_files_are(directory);
    json_auto_t *root = read_config(directory, err);
    if (!root)
        return false;
    if (!sl_config_json_read(&p->published, root, embeds, err))
        return sl_wrap(err, "%s", config_file);
    return !embeds || sl_sentence_files_read(directory, &p->published, err);
}

static bool read_tokenizer(struct sl_pretrained *p, const char *directory, struct sl_err *err)
{
    struct sl_published *published = &p->published;
    p->tokens = sl_pretrained_tokenizer_open(directory, err);
    if (!p->tokens)
        return false;
    published->config.vocab = sl_tokenizer_size(p->tokens);
    return sl_config_check(published->arch, &published->config, err) ||
           sl_wrap(err, "%s", config_file);
}

bool sl_pretrained_open(struct sl_pretrained *p, const char *directory, struct sl_err *err)
{
    *p = (struct sl_pretrained){0};
    if (read_model(p, directory, err) && read_tokenizer(p, directory, err) &&
        sl_weights_open(&p->weights, directory, err))
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
    *p = (struct sl_pretrained){0};
}
