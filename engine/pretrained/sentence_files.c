/* sentence_files.c - config_sentence_transformers.json, sentence_bert_config.json, and what kind of
 * model they are of. */
#include "pretrained/sentence_files.h"

#include "base/file.h"
#include "formats/json_io.h"
#include "formats/prompts_json.h"
#include "pretrained/sentence_modules.h"

#include <jansson.h>
#include <string.h>

static const char transformer_file[] = "sentence_bert_config.json";

/* A file that may be missing: then NULL and no error. */
static bool read_optional(const char *directory, const char *name, char path[SL_PATH_MAX],
                          json_t **root, struct sl_err *err)
{
    *root = NULL;
    if (!sl_path_find(path, directory, name))
        return true;
    *root = sl_sentence_json_open(path, err);
    return *root;
}

/* Since version 6, rerankers have these files, too. */
enum sl_sentence_kind sl_sentence_files_kind(const char *directory)
{
    char path[SL_PATH_MAX];
    struct sl_err ignored;
    json_t *root;
    if (!sl_sentence_modules_are(directory))
        return SL_SENTENCE_NONE;
    (void)read_optional(directory, transformer_file, path, &root, &ignored);
    const char *task = json_string_value(json_object_get(root, "transformer_task"));
    const bool ranks = task && strcmp(task, "sequence-classification") == 0;
    json_decref(root);
    if (ranks)
        return SL_SENTENCE_RANKER;
    return sl_sentence_modules_are_sparse(directory) ? SL_SENTENCE_SPARSE : SL_SENTENCE_ENCODER;
}

static bool read_prompts(const char *directory, struct sl_published *p, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    json_t *root;
    if (!read_optional(directory, "config_sentence_transformers.json", path, &root, err))
        return false;
    bool ok = sl_prompts_read(&p->prompts, root, err) || sl_wrap(err, "'%s'", path);
    json_decref(root);
    return ok;
}

/* Those of a reranker could only be chosen in Python. */
static bool drop_prompts(struct sl_published *p, struct sl_err *err)
{
    const struct sl_prompt *usual = p->prompts.default_prompt;
    if (usual && usual->text[0])
        return sl_fail(err, SL_BAD_INPUT,
                       "a reranker with the default prompt '%s' is not supported", usual->name);
    sl_prompts_release(&p->prompts);
    return true;
}

/* The member of a file, which both may be missing: then *length stays. */
static bool read_length_of(const char *directory, const char *name, const char *key,
                           int64_t *length, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    json_t *root;
    if (!read_optional(directory, name, path, &root, err))
        return false;
    const json_t *value = json_object_get(root, key);
    const double number = json_number_value(value);
    bool ok = true;
    if (json_is_number(value) && number >= 2)
        *length = number < INT32_MAX ? (int64_t)number : INT32_MAX;
    else if (value && !json_is_null(value))
        ok = sl_fail(err, SL_BAD_INPUT, "'%s': '%s' is %s: expected a number from 2 on", path, key,
                     json_is_number(value) ? "too small" : sl_json_type(value));
    json_decref(root);
    return ok;
}

/* Texts are cut here, whatever tokenizer.json says. Since version 5.4 it is the tokenizer's length,
 * which a model without one has as 1e30. */
static bool read_length(const char *directory, struct sl_published *p, struct sl_err *err)
{
    int64_t length = INT32_MAX;
    const int max = p->config.context_length;
    if (!read_length_of(directory, "tokenizer_config.json", "model_max_length", &length, err) ||
        !read_length_of(directory, transformer_file, "max_seq_length", &length, err))
        return false;
    p->config.context_length = length < max ? (int)length : max;
    return true;
}

static bool read_case(const char *directory, struct sl_published *p, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    json_t *root;
    if (!read_optional(directory, transformer_file, path, &root, err))
        return false;
    p->lowers = json_is_true(json_object_get(root, "do_lower_case"));
    json_decref(root);
    return true;
}

bool sl_sentence_files_read(const char *directory, struct sl_published *p, struct sl_err *err)
{
    const bool ranks = sl_sentence_files_kind(directory) == SL_SENTENCE_RANKER;
    return read_prompts(directory, p, err) && (!ranks || drop_prompts(p, err)) &&
           sl_sentence_modules_read(directory, ranks, p, err) && read_length(directory, p, err) &&
           read_case(directory, p, err);
}
