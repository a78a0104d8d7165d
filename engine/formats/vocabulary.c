/* vocabulary.c - pieces to lines or JSON, and back. */
#include "formats/vocabulary.h"

#include "base/file.h"
#include "formats/json_io.h"
#include "formats/tokenizer_json.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/tokenizer_kinds.h"
#include "tokenizer/tokenizer_trainer.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char lines_file[] = "vocab.txt", json_file[] = "vocab.json",
                  pipeline_file[] = "tokenizer.json";

static const struct sl_tokenizer_kind *kind_of(const char *name)
{
    const struct sl_tokenizer_kind *kind = sl_tokenizer_kind_named(name);
    assert(kind);
    return kind;
}

const char *sl_vocabulary_file(const char *kind)
{
    const struct sl_tokenizer_kind *k = kind_of(kind);
    if (k->imported)
        return pipeline_file;
    return k->split_words ? lines_file : json_file;
}

const char *sl_vocabulary_file_in(const char *directory)
{
    char path[SL_PATH_MAX];
    if (sl_path_find(path, directory, pipeline_file))
        return pipeline_file;
    return sl_path_find(path, directory, lines_file) ? lines_file : json_file;
}

bool sl_vocabulary_splits(const char *kind)
{
    return kind_of(kind)->split_words;
}

/* -- lines ------------------------------------------------------------------------------------ */

static char *lines_print(const struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    size_t room = 1, bytes;
    for (int id = 0; id < tokenizer->count; id++)
        room += tokenizer->pieces[id].bytes + 1;
    char *text = malloc(room), *out = text;
    if (!text) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
        return NULL;
    }
    for (int id = 0; id < tokenizer->count; id++) {
        const char *piece = sl_tokenizer_piece(tokenizer, id, &bytes);
        memcpy(out, piece, bytes);
        out[bytes] = '\n';
        out += bytes + 1;
    }
    *out = '\0';
    return text;
}

/* The lines of a text, the last of which need not be ended; -1 when there are more than `most`. */
static int lines_cut(const char *text, size_t bytes, struct sl_piece *lines, int max)
{
    int count = 0;
    for (const char *end = text + bytes; text < end; count++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        if (count == max)
            return -1;
        lines[count] = (struct sl_piece){.text = text, .bytes = length};
        while (lines[count].bytes > 0 && text[lines[count].bytes - 1] == '\r')
            lines[count].bytes--; /* written on another system, perhaps twice */
        text += stop ? length + 1 : length;
    }
    return count;
}

static struct sl_tokenizer *lines_read(const char *kind, bool lower, const char *text, size_t bytes,
                                       struct sl_err *err)
{
    size_t room = bytes < SL_VOCAB_MAX ? bytes : SL_VOCAB_MAX;
    struct sl_piece *lines = calloc(room + 1, sizeof *lines);
    struct sl_tokenizer *tokenizer = NULL;
    int count = lines ? lines_cut(text, bytes, lines, (int)room) : 0;
    if (!lines)
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %zu bytes", bytes);
    else if (count < 1)
        sl_fail(err, SL_CORRUPT, "%s lines: expected 1 to %d, one piece per line",
                count == 0 ? "no" : "too many", SL_VOCAB_MAX);
    else
        tokenizer = sl_tokenizer_create(kind, lower, lines, count, err);
    free(lines);
    return tokenizer;
}

/* -- JSON ------------------------------------------------------------------------------------- */

static json_t *pieces_print(const struct sl_tokenizer *tokenizer)
{
    json_t *pieces = json_array();
    for (int id = 0; id < sl_tokenizer_size(tokenizer); id++) {
        size_t bytes;
        const char *text = sl_tokenizer_piece(tokenizer, id, &bytes);
        if (json_array_append_new(pieces, json_stringn(text, bytes)) != 0) {
            json_decref(pieces);
            return NULL;
        }
    }
    return pieces;
}

static char *json_print(const struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    json_auto_t *root = json_pack("{s:s}", "kind", tokenizer->kind->name);
    if (root && (tokenizer->kind->fixed ||
                 json_object_set_new(root, "pieces", pieces_print(tokenizer)) == 0))
        return sl_json_print(root, 15, err);
    sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
    return NULL;
}

/* The strings of an array, which keeps owning them. */
static bool pieces_read(struct sl_piece *pieces, const json_t *array, struct sl_err *err)
{
    size_t i;
    json_t *value;
    json_array_foreach (array, i, value) {
        if (!json_is_string(value))
            return sl_fail(err, SL_CORRUPT, "piece %zu is %s: expected a string", i,
                           sl_json_type(value));
        pieces[i] =
            (struct sl_piece){.text = json_string_value(value), .bytes = json_string_length(value)};
    }
    return true;
}

static struct sl_tokenizer *tokens_make(const char *kind, const json_t *array, struct sl_err *err)
{
    size_t count = json_array_size(array);
    if (!json_is_array(array) || count < 1 || count > SL_VOCAB_MAX) {
        sl_fail(err, SL_CORRUPT, "'pieces' is %s of %zu: expected an array of 1 to %d",
                sl_json_type(array), count, SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_piece *pieces = calloc(count, sizeof *pieces);
    if (!pieces) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %zu pieces", count);
        return NULL;
    }
    struct sl_tokenizer *tokenizer = NULL;
    if (pieces_read(pieces, array, err))
        tokenizer = sl_tokenizer_create(kind, /* lower= */ false, pieces, (int)count, err);
    free(pieces);
    return tokenizer;
}

static struct sl_tokenizer *json_read(const struct sl_tokenizer_kind *kind, const char *text,
                                      size_t bytes, struct sl_err *err)
{
    static const char *const keys[] = {"kind", "pieces", NULL}, *const fixed_keys[] = {"kind",
                                                                                       NULL};
    json_auto_t *root = sl_json_parse(text, bytes, err);
    if (!root || !sl_json_keys(root, kind->fixed ? fixed_keys : keys, err))
        return NULL;
    const char *name = sl_json_text(root, "kind", err);
    if (!name)
        return NULL;
    if (strcmp(name, kind->name) != 0) {
        sl_fail(err, SL_CORRUPT, "invalid kind '%.64s': expected '%s'", name, kind->name);
        return NULL;
    }
    return kind->fixed ? sl_tokenizer_train_default(kind->name, "", 0, err)
                       : tokens_make(kind->name, json_object_get(root, "pieces"), err);
}

/* -- either ----------------------------------------------------------------------------------- */

static char *source_print(const struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    const char *source = sl_pipeline_source(tokenizer);
    char *text = source[0] ? strdup(source) : NULL;
    if (!source[0])
        sl_fail(err, SL_BAD_INPUT,
                "the tokenizer of this GGUF file, which is not byte-level, cannot be stored as "
                "tokenizer.json; use the GGUF file itself as a model");
    else if (!text)
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary");
    return text;
}

char *sl_vocabulary_print(const struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    if (tokenizer->kind->imported)
        return source_print(tokenizer, err);
    return tokenizer->kind->split_words ? lines_print(tokenizer, err) : json_print(tokenizer, err);
}

struct sl_tokenizer *sl_vocabulary_read(const char *kind, bool lower, const char *text,
                                        size_t bytes, struct sl_err *err)
{
    const struct sl_tokenizer_kind *k = kind_of(kind);
    text = bytes > 0 ? text : ""; /* an empty file is mapped to nothing */
    if (k->imported)
        return sl_tokenizer_json_read(text, bytes, err);
    return k->split_words ? lines_read(kind, lower, text, bytes, err)
                          : json_read(k, text, bytes, err);
}

struct sl_tokenizer *sl_vocabulary_open(const char *kind, bool lower, const char *path,
                                        struct sl_err *err)
{
    struct sl_map map = {0};
    if (!kind_of(kind)->split_words) {
        sl_fail(err, SL_BAD_INPUT, "tokenizer '%s' takes no vocabulary file", kind);
        return NULL;
    }
    bool ok = sl_map_open(&map, path, err);
    struct sl_tokenizer *tokenizer =
        ok ? sl_vocabulary_read(kind, lower, map.data, map.size, err) : NULL;
    if (!tokenizer)
        sl_wrap(err, "vocabulary '%s'", path);
    sl_map_close(&map);
    return tokenizer;
}
