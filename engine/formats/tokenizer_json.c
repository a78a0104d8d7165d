/* tokenizer_json.c - the sections in the order in which they are needed. */
#include "formats/tokenizer_json.h"

#include "formats/json_io.h"
#include "formats/tokenizer_json_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* -- added tokens ----------------------------------------------------------------------------- */

static bool added_read(const json_t *value, struct sl_added_token *token, struct sl_err *err)
{
    int id = -1;
    if (!json_is_object(value))
        return sl_fail(err, SL_CORRUPT, "%s: expected an object", sl_json_type(value));
    const json_t *content = json_object_get(value, "content");
    if (!json_is_string(content) || json_string_length(content) == 0)
        return sl_fail(err, SL_CORRUPT, "'content' is %s: expected a string that is not empty",
                       sl_json_type(content));
    token->text = (struct sl_piece){json_string_value(content), json_string_length(content)};
    if (!sl_member_whole(value, "id", SL_VOCAB_MAX - 1, &id, err) ||
        !sl_member_flag(value, "special", &token->special, err))
        return false;
    if (id < 0)
        return sl_fail(err, SL_CORRUPT, "'id' is missing");
    token->id = id;
    token->normalized = !token->special;
    return sl_member_flag(value, "normalized", &token->normalized, err) &&
           sl_member_flag(value, "single_word", &token->single_word, err) &&
           sl_member_flag(value, "lstrip", &token->strip_left, err) &&
           sl_member_flag(value, "rstrip", &token->strip_right, err);
}

static struct sl_added_token *added_list(const json_t *list, struct sl_err *err)
{
    size_t i, count = json_array_size(list);
    json_t *value;
    if (count > SL_VOCAB_MAX) {
        sl_fail(err, SL_CORRUPT, "'added_tokens' has %zu tokens: expected at most %d", count,
                SL_VOCAB_MAX);
        return NULL;
    }
    struct sl_added_token *tokens = calloc(count + 1, sizeof *tokens);
    if (!tokens) {
        sl_fail(err, SL_NO_MEMORY, "no memory for %zu added tokens", count);
        return NULL;
    }
    json_array_foreach (list, i, value)
        if (!added_read(value, &tokens[i], err)) {
            sl_wrap(err, "added_tokens[%zu]", i);
            free(tokens);
            return NULL;
        }
    return tokens;
}

/* An id of the model must be of the same text; the others, and all texts, must be distinct. */
static bool added_check(const struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_piece_table table = {0};
    struct sl_piece *texts = calloc((size_t)parts->added_count + 1, sizeof *texts);
    int32_t twin = -1;
    bool ok = texts || sl_fail(err, SL_NO_MEMORY, "no memory for added tokens");
    for (int i = 0; i < parts->added_count && ok; i++) {
        const struct sl_added_token *token = &parts->added[i];
        const struct sl_piece *piece =
            token->id < parts->model.count ? &parts->model.pieces[token->id] : NULL;
        texts[i] = token->text;
        if (piece && piece->text && strcmp(piece->text, token->text.text) != 0)
            ok = sl_fail(err, SL_CORRUPT, "added_tokens[%d]: id %d is '%.64s', not '%.64s'", i,
                         token->id, piece->text, token->text.text);
    }
    ok = ok && sl_piece_table_fill(&table, texts, parts->added_count, &twin, err);
    if (ok && twin >= 0)
        ok = sl_fail(err, SL_CORRUPT, "added_tokens[%d]: '%.64s' is there twice", twin,
                     texts[twin].text);
    sl_piece_table_release(&table);
    free(texts);
    return ok;
}

/* -- the rest --------------------------------------------------------------------------------- */

static bool version_check(const json_t *root, struct sl_err *err)
{
    const char *version = "1.0";
    if (!sl_member_text(root, "version", &version, err))
        return false;
    return strcmp(version, "1.0") == 0 ||
           sl_fail(err, SL_CORRUPT, "unknown version '%.64s': expected 1.0", version);
}

static bool side_read(const json_t *root, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    const json_t *padding = json_object_get(root, "padding");
    const char *direction = "Right";
    int pad = -1;
    if (!sl_member_text(json_object_get(root, "truncation"), "direction", &direction, err) ||
        !sl_member_whole(padding, "pad_id", SL_VOCAB_MAX - 1, &pad, err))
        return false;
    parts->padding = pad;
    parts->side = strcmp(direction, "Left") == 0 ? SL_TRUNCATE_LEFT : SL_TRUNCATE_RIGHT;
    return true;
}

static bool is_bert_split(const struct sl_pipeline_parts *parts)
{
    return parts->pre_tokenizer_count == 1 && parts->pre_tokenizers[0].kind == SL_SPLIT_BERT;
}

static bool parts_read(const json_t *root, struct sl_pipeline_parts *parts,
                       struct sl_model_lists *lists, struct sl_err *err)
{
    if (!version_check(root, err) || !side_read(root, parts, err) ||
        !sl_step_section_read(&sl_normalizer_section, root, parts, err))
        return false;
    int bert_steps = parts->bert_lower ? 5 : 2;
    if (!sl_step_section_read(&sl_pre_tokenizer_section, root, parts, err) ||
        !sl_step_section_read(&sl_post_processor_section, root, parts, err) ||
        !sl_step_section_read(&sl_decoder_section, root, parts, err))
        return false;
    parts->is_bert =
        parts->is_bert && is_bert_split(parts) && parts->normalizer_count == bert_steps;
    if (parts->post.single.count == 0) /* without a template, the texts follow each other */
        sl_post_processor_init(&parts->post, -1, -1);
    return sl_model_read(root, parts, lists, err);
}

static struct sl_tokenizer *root_read(const json_t *root, struct sl_pipeline_parts *parts,
                                      struct sl_err *err)
{
    struct sl_model_lists lists = {0};
    struct sl_tokenizer *tokenizer = NULL;
    struct sl_added_token *added = added_list(json_object_get(root, "added_tokens"), err);
    parts->added = added;
    parts->added_count = (int)json_array_size(json_object_get(root, "added_tokens"));
    if (added && parts_read(root, parts, &lists, err) && added_check(parts, err))
        tokenizer = sl_pipeline_create(parts, err);
    sl_pipeline_parts_release(parts);
    sl_model_lists_release(&lists);
    free(added);
    return tokenizer;
}

struct sl_tokenizer *sl_tokenizer_json_read(const char *text, size_t bytes, struct sl_err *err)
{
    if (bytes > SL_TOKENIZER_JSON_MAX) {
        sl_fail(err, SL_CORRUPT, "%zu bytes: expected at most %d", bytes, SL_TOKENIZER_JSON_MAX);
        return NULL;
    }
    json_auto_t *root = sl_json_parse(text, bytes, err);
    struct sl_pipeline_parts *parts = root ? calloc(1, sizeof *parts) : NULL;
    if (!root)
        return NULL;
    if (!parts) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a tokenizer");
        return NULL;
    }
    parts->source = text;
    parts->source_bytes = bytes;
    struct sl_tokenizer *tokenizer = root_read(root, parts, err);
    free(parts);
    return tokenizer;
}
