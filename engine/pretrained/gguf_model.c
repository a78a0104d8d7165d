/* gguf_model.c - translates names of llama.cpp into those of Hugging Face's library. */
#include "pretrained/gguf_model.h"

#include "formats/json_io.h"
#include "layers/layers.h"
#include "pretrained/gguf_architecture.h"
#include "tokenizer/gguf_vocabulary.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MAX = 128 };

bool sl_gguf_model_is(const char *path)
{
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
              memcmp(magic, "GGUF", sizeof magic) == 0;
    (void)close(fd);
    return is;
}

/* -- what config.json would say --------------------------------------------------------------- */

static json_t *entry(const struct sl_gguf *file, const char *architecture, const char *key)
{
    char name[KEY_MAX];
    (void)snprintf(name, sizeof name, "%s.%s", architecture, key);
    return json_object_get(file->metadata, name);
}

/* Scaled positions, and heads that are rotated in part, are computed by none of the families. */
static bool check_rotation(const struct sl_gguf *file, const struct sl_gguf_architecture *a,
                           struct sl_err *err)
{
    const char *scaling = json_string_value(entry(file, a->name, "rope.scaling.type"));
    if (scaling && strcmp(scaling, "none") != 0)
        return sl_fail(err, SL_BAD_INPUT, "%s.rope.scaling.type is '%.32s': expected none", a->name,
                       scaling);
    const json_int_t heads = json_integer_value(entry(file, a->name, "attention.head_count")),
                     width = json_integer_value(entry(file, a->name, "embedding_length"));
    const json_t *length = entry(file, a->name, "attention.key_length"),
                 *rotated = entry(file, a->name, "rope.dimension_count");
    const json_int_t dims = length ? json_integer_value(length) : heads > 0 ? width / heads : 0;
    return !rotated || json_integer_value(rotated) == dims ||
           sl_fail(err, SL_BAD_INPUT, "%s.rope.dimension_count is %lld: expected %lld", a->name,
                   (long long)json_integer_value(rotated), (long long)dims);
}

static bool check_direction(const struct sl_gguf *file, const struct sl_gguf_architecture *a,
                            struct sl_err *err)
{
    const json_t *causal = entry(file, a->name, "attention.causal");
    return !causal || json_equal(causal, a->embeds ? json_false() : json_true()) ||
           sl_fail(err, SL_BAD_INPUT, "%s.attention.causal is not %s, which is not supported",
                   a->name, a->embeds ? "false" : "true");
}

/* By llama.cpp's numbers. A file without one is read as a directory without the files of
 * sentence-transformers. */
static bool read_pooling(struct sl_gguf_model *model, const struct sl_gguf_architecture *a,
                         struct sl_err *err)
{
    enum { NONE, RANK = 4 };

    static const int poolings[] = {
        [1] = SL_POOLING_MEAN, [2] = SL_POOLING_FIRST, [3] = SL_POOLING_LAST};
    const json_t *value = entry(&model->file, a->name, "pooling_type");
    const json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    const bool known = number > NONE && number < RANK;
    model->pooling = known ? poolings[number] : SL_POOLING_MEAN;
    if (!value || (a->embeds ? known : number == NONE))
        return true;
    if (!a->embeds)
        return sl_fail(err, SL_BAD_INPUT,
                       "%s.pooling_type is %lld: embeddings of this architecture are not supported",
                       a->name, (long long)number);
    return sl_fail(err, SL_BAD_INPUT,
                   "%s.pooling_type is %lld: expected 1 (mean), 2 (first token) or 3 (last "
                   "token)%s",
                   a->name, (long long)number,
                   number == RANK ? "; rerankers are read from directories of Hugging Face's" : "");
}

/* Rows of the table of token types; 0: there is none. */
static json_int_t count_types(const struct sl_gguf *file)
{
    const struct sl_weight *types = sl_weights_find(&file->weights, "token_types.weight");
    return types ? types->shape[0] : 0;
}

static json_t *config_of(const struct sl_gguf *file, const struct sl_gguf_architecture *a)
{
    const bool tied = !sl_weights_find(&file->weights, "output.weight");
    json_t *config =
        json_pack("{s:s, s:[s], s:b, s:I}", "model_type", a->name, "architectures", a->class,
                  "tie_word_embeddings", tied, "type_vocab_size", count_types(file));
    for (const struct sl_gguf_name *key = a->keys; config && key->theirs; key++) {
        json_t *value = entry(file, a->name, key->theirs);
        if (value && json_object_set(config, key->ours, value) != 0) {
            json_decref(config);
            return NULL;
        }
    }
    return config;
}

static const struct sl_gguf_architecture *find_architecture(const struct sl_gguf *file,
                                                            struct sl_err *err)
{
    char list[SL_GGUF_ARCHITECTURE_LIST];
    const char *name = sl_json_text(file->metadata, "general.architecture", err);
    const struct sl_gguf_architecture *found = name ? sl_gguf_architecture_find(name) : NULL;
    if (name && !found)
        sl_fail(err, SL_BAD_INPUT,
                "general.architecture is '%.32s': expected one of these in a GGUF file: %s", name,
                sl_gguf_architecture_list(list));
    return found;
}

/* -- tensors ---------------------------------------------------------------------------------- */

/* What # stands for if a name begins like a pattern, and what follows; NULL: it does not. */
static const char *match(const char *name, const char *pattern, int *layer)
{
    *layer = 0;
    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (*name++ != *pattern)
                return NULL;
            continue;
        }
        char *end;
        const long number = strtol(name, &end, 10);
        if (end == name || number < 0 || number > INT16_MAX)
            return NULL;
        *layer = (int)number;
        name = end;
    }
    return *name == '.' && !strchr(name + 1, '.') ? name : NULL;
}

/* The name in safetensors, to be freed; NULL: there is none. */
static char *translated(const struct sl_gguf_name *names, const char *name)
{
    for (; names->theirs; names++) {
        int layer;
        const char *suffix = match(name, names->theirs, &layer);
        const char *ours = names->ours, *number = strchr(ours, '#');
        char *text = NULL;
        if (!suffix)
            continue;
        const int made = number ? asprintf(&text, "%.*s%d%s%s", (int)(number - ours), ours, layer,
                                           number + 1, suffix)
                                : asprintf(&text, "%s%s", ours, suffix);
        return made < 0 ? NULL : text;
    }
    return NULL;
}

static bool translate(struct sl_weight *w, const json_t *config,
                      const struct sl_gguf_architecture *a, struct sl_err *err)
{
    const bool is_query = strstr(w->name, ".attn_q."), is_key = strstr(w->name, ".attn_k.");
    char *name = translated(a->tensors, w->name);
    if (!name)
        return sl_fail(err, SL_BAD_INPUT, "tensor '%s' is of no use in this architecture", w->name);
    free(w->name);
    w->name = name;
    if (a->permuted && (is_query || is_key)) {
        const json_t *heads = json_object_get(config, "num_key_value_heads");
        if (is_query || !heads)
            heads = json_object_get(config, "num_attention_heads");
        w->paired_heads = (int)json_integer_value(heads);
    }
    return true;
}

/* -- the tokenizer ---------------------------------------------------------------------------- */

/* missing: the id without the entry. */
static int32_t token_id(const struct sl_gguf *file, const char *key, int32_t missing)
{
    const json_t *id = json_object_get(file->metadata, key);
    const json_int_t value = json_is_integer(id) ? json_integer_value(id) : missing;
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

/* The strings of an array, each with a NUL behind it; free() the list. NULL: there is no such
 * array, or no memory. */
static struct sl_piece *strings_of(const struct sl_gguf_array *array)
{
    /* In the file each has its length before it, in 8 bytes. */
    const size_t texts = array ? (array->count + 1) * sizeof(struct sl_piece) : 0;
    struct sl_piece *list = array ? calloc(1, texts + array->bytes + 1) : NULL;
    if (!list)
        return NULL;
    char *text = (char *)list + texts;
    size_t at = 0;
    for (size_t i = 0; i < array->count; i++) {
        const char *from = sl_gguf_string_at(array, &at, &list[i].bytes);
        memcpy(text, from, list[i].bytes);
        list[i].text = text;
        text += list[i].bytes + 1;
    }
    return list;
}

/* A copy of `count` numbers of four bytes, which are not aligned in the file; NULL: there are not
 * as many. */
static void *numbers_of(const struct sl_gguf_array *array, size_t count)
{
    void *copy = array && array->count == count ? calloc(count + 1, sizeof(float)) : NULL;
    if (copy)
        memcpy(copy, array->data, array->bytes);
    return copy;
}

static const char *text_of(const struct sl_gguf *file, const char *key)
{
    const char *text = json_string_value(json_object_get(file->metadata, key));
    return text ? text : "";
}

/* Without the entry, what llama.cpp does. */
static bool flag_of(const json_t *metadata, const char *key, bool missing)
{
    const json_t *flag = json_object_get(metadata, key);
    return json_is_boolean(flag) ? json_is_true(flag) : missing;
}

static void set_specials(const struct sl_gguf *file, struct sl_gguf_vocabulary *v)
{
    const bool begins = strcmp(v->model, "llama") == 0 || strcmp(v->pre, "llama-bpe") == 0;
    v->begin = token_id(file, "tokenizer.ggml.bos_token_id", -1);
    v->end = token_id(file, "tokenizer.ggml.eos_token_id", -1);
    v->unknown = token_id(file, "tokenizer.ggml.unknown_token_id", -1);
    v->padding = token_id(file, "tokenizer.ggml.padding_token_id", -1);
    v->adds_begin = flag_of(file->metadata, "tokenizer.ggml.add_bos_token", begins);
    v->adds_end = flag_of(file->metadata, "tokenizer.ggml.add_eos_token", false);
    v->adds_blank = flag_of(file->metadata, "tokenizer.ggml.add_space_prefix", true);
}

/* Texts always have [CLS] before them and [SEP] after. */
static void set_specials_of_bert(const struct sl_gguf *file, struct sl_gguf_vocabulary *v)
{
    enum { UNKNOWN = 100, CLS, SEP };

    const int32_t cls = token_id(file, "tokenizer.ggml.cls_token_id", CLS);
    v->begin = token_id(file, "tokenizer.ggml.bos_token_id", cls);
    v->end = token_id(file, "tokenizer.ggml.seperator_token_id", SEP);
    v->unknown = token_id(file, "tokenizer.ggml.unknown_token_id", UNKNOWN);
    v->padding = token_id(file, "tokenizer.ggml.padding_token_id", 0);
    v->adds_begin = v->adds_end = true;
}

static struct sl_tokenizer *open_vocabulary(const struct sl_gguf *file,
                                            struct sl_gguf_vocabulary *v, struct sl_err *err)
{
    v->model = text_of(file, "tokenizer.ggml.model");
    v->pre = text_of(file, "tokenizer.ggml.pre");
    if (strcmp(v->model, "bert") == 0)
        set_specials_of_bert(file, v);
    else
        set_specials(file, v);
    return sl_gguf_vocabulary_open(v, err);
}

struct sl_tokenizer *sl_gguf_model_tokenizer(const struct sl_gguf_model *model, struct sl_err *err)
{
    const struct sl_gguf *file = &model->file;
    const struct sl_gguf_array *tokens =
        sl_gguf_array_find(file, "tokenizer.ggml.tokens", SL_GGUF_STRING);
    const struct sl_gguf_array *merges =
        sl_gguf_array_find(file, "tokenizer.ggml.merges", SL_GGUF_STRING);
    if (!tokens) {
        sl_fail(err, SL_BAD_INPUT, "tokenizer.ggml.tokens is missing");
        return NULL;
    }
    struct sl_piece *pieces = strings_of(tokens), *pairs = strings_of(merges);
    int32_t *types = numbers_of(
        sl_gguf_array_find(file, "tokenizer.ggml.token_type", SL_GGUF_INT32), tokens->count);
    float *scores = numbers_of(sl_gguf_array_find(file, "tokenizer.ggml.scores", SL_GGUF_FLOAT32),
                               tokens->count);
    struct sl_gguf_vocabulary v = {.pieces = pieces,
                                   .types = types,
                                   .scores = scores,
                                   .count = (int)tokens->count,
                                   .merges = pairs,
                                   .merge_count = pairs ? merges->count : 0};
    struct sl_tokenizer *tokenizer = NULL;
    if (!pieces || !types)
        sl_fail(err, SL_BAD_INPUT, "tokenizer.ggml.token_type has not %zu numbers", tokens->count);
    else
        tokenizer = open_vocabulary(file, &v, err);
    free(pieces);
    free(pairs);
    free(types);
    free(scores);
    return tokenizer;
}

/* -- the model -------------------------------------------------------------------------------- */

static bool take_weights(struct sl_gguf_model *model, const json_t *config,
                         const struct sl_gguf_architecture *a, struct sl_weights *weights,
                         struct sl_err *err)
{
    *weights = model->file.weights;
    model->file.weights = (struct sl_weights){0};
    for (size_t i = 0; i < weights->count; i++)
        if (!translate(&weights->list[i], config, a, err))
            return false;
    return sl_weights_sort(weights, err);
}

bool sl_gguf_model_open(struct sl_gguf_model *model, const char *path, json_t **config,
                        struct sl_weights *weights, struct sl_err *err)
{
    *model = (struct sl_gguf_model){0};
    *weights = (struct sl_weights){0};
    *config = NULL;
    const struct sl_gguf_architecture *a = NULL;
    bool ok = sl_weights_copy(&model->map, path, err) &&
              sl_gguf_parse(&model->file, model->map.data, model->map.size, err) &&
              (a = find_architecture(&model->file, err)) && check_direction(&model->file, a, err) &&
              read_pooling(model, a, err) && check_rotation(&model->file, a, err);
    if (ok) {
        *config = config_of(&model->file, a);
        ok = *config || sl_fail(err, SL_NO_MEMORY, "no memory for the metadata");
    }
    if (ok && take_weights(model, *config, a, weights, err))
        return true;
    json_decref(*config);
    sl_weights_close(weights);
    sl_gguf_model_close(model);
    return false;
}

void sl_gguf_model_close(struct sl_gguf_model *model)
{
    sl_gguf_close(&model->file);
    sl_map_close(&model->map);
    *model = (struct sl_gguf_model){0};
}
