/* pretrained_tokenizer.c - which of a directory's files say how texts become tokens. */
#include "formats/pretrained_tokenizer.h"

#include "base/file.h"
#include "formats/json_io.h"
#include "formats/tokenizer_json.h"
#include "formats/tokenizer_json_parts.h"
#include "formats/vocabulary.h"

#include <jansson.h>

/* The path is apart from the reason: who serves the file may not show where it is. */
static bool fail_at(const char *path, struct sl_err *err)
{
    return sl_err_set_path(err, path) || sl_wrap(err, "'%s'", path);
}

static struct sl_tokenizer *json_open(const char *path, struct sl_err *err)
{
    struct sl_map map = {0};
    struct sl_tokenizer *tokenizer = NULL;
    if (sl_map_open(&map, path, err))
        tokenizer = sl_tokenizer_json_read(map.data, map.size, err);
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

struct sl_tokenizer *sl_pretrained_tokenizer_open(const char *directory, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    bool lower = true;
    if (sl_path_find(path, directory, "tokenizer.json"))
        return json_open(path, err);
    if (sl_path_find(path, directory, "tokenizer_config.json") && !lower_read(path, &lower, err))
        return NULL;
    if (sl_path_find(path, directory, "vocab.txt"))
        return sl_vocabulary_open("wordpiece", lower, path, err);
    sl_fail(err, SL_NOT_FOUND, "it has neither tokenizer.json nor vocab.txt");
    (void)fail_at(directory, err);
    return NULL;
}
