/* vocabulary.c - pieces to JSON and back. */
#include "model/vocabulary.h"

#include "model/json.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *pieces_print(const struct sl_tokenizer *tokens)
{
    json_t *pieces = json_array();
    for (int id = 0; id < sl_tokenizer_size(tokens); id++) {
        size_t bytes;
        const char *text = sl_tokenizer_piece(tokens, id, &bytes);
        if (json_array_append_new(pieces, json_stringn(text, bytes)) != 0) {
            json_decref(pieces);
            return NULL;
        }
    }
    return pieces;
}

char *sl_vocabulary_print(const struct sl_tokenizer *tokens, struct sl_err *err)
{
    json_auto_t *root =
        json_pack("{s:s, s:o}", "kind", sl_tokenizer_kind(tokens), "pieces", pieces_print(tokens));
    if (root)
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
            return sl_fail(err, SL_CORRUPT, "piece %zu is %s, want a string", i,
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
        sl_fail(err, SL_CORRUPT, "'pieces' is %s of %zu, want an array of 1 to %d",
                sl_json_type(array), count, SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_piece *pieces = calloc(count, sizeof *pieces);
    if (!pieces) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %zu pieces", count);
        return NULL;
    }
    struct sl_tokenizer *tokens = NULL;
    if (pieces_read(pieces, array, err))
        tokens = sl_tokenizer_create(kind, pieces, (int)count, err);
    free(pieces);
    return tokens;
}

struct sl_tokenizer *sl_vocabulary_read(const char *text, size_t bytes, struct sl_err *err)
{
    static const char *const keys[] = {"kind", "pieces", NULL};
    json_auto_t *root = sl_json_parse(text, bytes, err);
    if (!root || !sl_json_keys(root, keys, err))
        return NULL;
    const char *kind = sl_json_text(root, "kind", err);
    return kind ? tokens_make(kind, json_object_get(root, "pieces"), err) : NULL;
}
