/* pretrained_tokenizer.c - which of a directory's files say how texts become tokens. */
#include "formats/pretrained_tokenizer.h"

#include "base/file.h"
#include "formats/json_io.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_json_parts.h"
#include "formats/vocabulary.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The path is apart from the reason: who serves the file may not show where it is. */
static bool fail_at(const char *path, struct sl_err *err)
{
    return sl_err_set_path(err, path) || sl_wrap(err, "'%s'", path);
}

static const char lowercase[] = "Lowercase";

static bool is_lowercase(const json_t *normalizer)
{
    const char *type = json_string_value(json_object_get(normalizer, "type"));
    return type && strcmp(type, lowercase) == 0;
}

/* As sentence-transformers adds it: before all others, unless one of them does the same. */
static bool add_lowercase(json_t *root)
{
    json_t *old = json_object_get(root, "normalizer"), *list = json_object_get(old, "normalizers");
    json_t *step;
    size_t i;
    json_array_foreach (list, i, step) {
        if (is_lowercase(step))
            return true;
    }
    if (is_lowercase(old))
        return true;
    json_t *steps = list ? json_copy(list) : json_array();
    bool ok = (list || !old || json_is_null(old) || json_array_append(steps, old) == 0) &&
              json_array_insert_new(steps, 0, json_pack("{s:s}", "type", lowercase)) == 0;
    return json_object_set_new(root, "normalizer",
                               json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps)) ==
               0 &&
           ok;
}

/* The text of the file with that step, to be freed. */
static char *lowered(const struct sl_map *map, struct sl_err *err)
{
    json_auto_t *root = sl_json_parse(map->data, map->size, err);
    if (!root)
        return NULL;
    if (add_lowercase(root))
        return sl_json_print(root, SL_JSON_EXACT, err);
    sl_fail(err, SL_NO_MEMORY, "no memory for a tokenizer");
    return NULL;
}

static struct sl_tokenizer *read_lowered(const struct sl_map *map, struct sl_err *err)
{
    char *text = lowered(map, err);
    struct sl_tokenizer *tokenizer = text ? sl_tokenizer_json_read(text, strlen(text), err) : NULL;
    free(text);
    return tokenizer;
}

static struct sl_tokenizer *json_open(const char *path, bool lowers, struct sl_err *err)
{
    struct sl_map map = {0};
    struct sl_tokenizer *tokenizer = NULL;
    if (sl_map_open(&map, path, err))
        tokenizer =
            lowers ? read_lowered(&map, err) : sl_tokenizer_json_read(map.data, map.size, err);
    if (!tokenizer)
        (void)fail_at(path, err);
    sl_map_close(&map);
    return tokenizer;
}

static bool lower_read(const char *path, bool *lower, struct sl_err *err)
{
    json_auto_t *root = sl_json_open_foreign(path, SL_TOKENIZER_JSON_MAX, err);
    return (root && sl_member_flag(root, "do_lower_case", lower, err)) || fail_at(path, err);
}

/* With it, WordPiece takes accents off, too. */
static bool check_lower(bool lower, bool lowers, struct sl_err *err)
{
    return lower || !lowers ||
           sl_fail(
               err, SL_BAD_INPUT,
               "'do_lower_case' is false here and true in sentence_bert_config.json: expected a "
               "tokenizer.json, or the same in both");
}

struct sl_tokenizer *sl_pretrained_tokenizer_open(const char *directory, bool lowers,
                                                  struct sl_err *err)
{
    char path[SL_PATH_MAX];
    bool lower = true;
    if (sl_path_find(path, directory, "tokenizer.json"))
        return json_open(path, lowers, err);
    if (sl_path_find(path, directory, "tokenizer_config.json") &&
        (!lower_read(path, &lower, err) ||
         !(check_lower(lower, lowers, err) || fail_at(path, err))))
        return NULL;
    if (sl_path_find(path, directory, "vocab.txt"))
        return sl_vocabulary_open("wordpiece", lower, path, err);
    sl_fail(err, SL_NOT_FOUND, "it has neither tokenizer.json nor vocab.txt");
    (void)fail_at(directory, err);
    return NULL;
}
