/* gguf_file.c - reads and checks what comes before the tensors' bytes. */
#include "pretrained/gguf_file.h"

#include "base/byte_string.h"
#include "base/utf8.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_MAX = 4096,
    TENSORS_MAX = 1 << 16,
    ITEMS_MAX = 1 << 22, /* of an array */
    NAME_MAX_BYTES = 255,
    TEXT_MAX = 1 << 20, /* a value that is a string, such as a chat template */
    ALIGNMENT_DEFAULT = 32,
    ALIGNMENT_MAX = 1 << 16
};

/* -- reading ---------------------------------------------------------------------------------- */

/* What is not read yet. */
struct cursor {
    const char *at;
    size_t left;
};

static bool take(struct cursor *c, size_t bytes, const char **data, struct sl_err *err)
{
    if (bytes > c->left)
        return sl_fail(err, SL_CORRUPT, "the file ends within its header");
    *data = c->at;
    c->at += bytes;
    c->left -= bytes;
    return true;
}

static bool take_number(struct cursor *c, void *out, size_t bytes, struct sl_err *err)
{
    const char *data = NULL;
    if (!take(c, bytes, &data, err))
        return false;
    assert(data && out);
    memcpy(out, data, bytes);
    return true;
}

/* A count or a length that must be at most `max`. */
static bool take_count(struct cursor *c, const char *what, uint64_t max, size_t *out,
                       struct sl_err *err)
{
    uint64_t count = 0;
    if (!take_number(c, &count, sizeof count, err))
        return false;
    *out = (size_t)count;
    return count <= max || sl_fail(err, SL_CORRUPT, "%s is %llu: expected at most %llu", what,
                                   (unsigned long long)count, (unsigned long long)max);
}

/* A copy with a NUL at its end; free() it. */
static char *take_name(struct cursor *c, struct sl_err *err)
{
    size_t bytes = 0;
    const char *data = "";
    if (!take_count(c, "the length of a name", NAME_MAX_BYTES, &bytes, err) ||
        !take(c, bytes, &data, err))
        return NULL;
    char *name = bytes > 0 && !memchr(data, '\0', bytes) ? sl_bytes_copy(data, bytes) : NULL;
    if (name && sl_utf8_is_valid(name, bytes))
        return name;
    sl_fail(err, SL_CORRUPT, "a name is empty, has a NUL in it or is not UTF-8");
    free(name);
    return NULL;
}

/* -- metadata --------------------------------------------------------------------------------- */

/* Bytes of an element; 0: they differ. */
static const unsigned char type_bytes[SL_GGUF_TYPES] = {
    [SL_GGUF_UINT8] = 1,  [SL_GGUF_INT8] = 1,  [SL_GGUF_UINT16] = 2,  [SL_GGUF_INT16] = 2,
    [SL_GGUF_UINT32] = 4, [SL_GGUF_INT32] = 4, [SL_GGUF_FLOAT32] = 4, [SL_GGUF_BOOL] = 1,
    [SL_GGUF_UINT64] = 8, [SL_GGUF_INT64] = 8, [SL_GGUF_FLOAT64] = 8};

static bool take_type(struct cursor *c, enum sl_gguf_type *type, struct sl_err *err)
{
    uint32_t number;
    if (!take_number(c, &number, sizeof number, err))
        return false;
    *type = (enum sl_gguf_type)number;
    return number < SL_GGUF_TYPES ||
           sl_fail(err, SL_CORRUPT, "a value has type %u: expected 0 to %d", number,
                   SL_GGUF_TYPES - 1);
}

static json_t *take_text(struct cursor *c, struct sl_err *err)
{
    size_t bytes = 0;
    const char *data = "";
    if (!take_count(c, "the length of a string", TEXT_MAX, &bytes, err) ||
        !take(c, bytes, &data, err))
        return NULL;
    json_t *text = json_stringn(data, bytes);
    if (!text)
        sl_fail(err, SL_CORRUPT, "a string is not UTF-8");
    return text;
}

static json_t *integer(const char *data, enum sl_gguf_type type)
{
    const size_t bytes = type_bytes[type];
    const bool is_signed = type == SL_GGUF_INT8 || type == SL_GGUF_INT16 || type == SL_GGUF_INT32;
    uint64_t bits = 0;
    memcpy(&bits, data, bytes);
    const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    return json_integer((json_int_t)(is_signed ? (bits ^ sign) - sign : bits));
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *take_scalar(struct cursor *c, enum sl_gguf_type type, struct sl_err *err)
{
    const char *data = "";
    float single;
    double number;
    if (!take(c, type_bytes[type], &data, err))
        return NULL;
    if (type == SL_GGUF_BOOL)
        return json_boolean(*data);
    if (type == SL_GGUF_FLOAT32) {
        memcpy(&single, data, sizeof single);
        return real((double)single);
    }
    if (type == SL_GGUF_FLOAT64) {
        memcpy(&number, data, sizeof number);
        return real(number);
    }
    return integer(data, type);
}

static bool take_strings(struct cursor *c, size_t count, struct sl_err *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        const char *data;
        if (!take_count(c, "the length of a string", TEXT_MAX, &bytes, err) ||
            !take(c, bytes, &data, err))
            return false;
    }
    return true;
}

static bool take_array(struct cursor *c, struct sl_gguf_array *array, struct sl_err *err)
{
    const char *data;
    if (!take_type(c, &array->type, err) ||
        !take_count(c, "the number of elements", ITEMS_MAX, &array->count, err))
        return false;
    array->data = c->at;
    if (array->type == SL_GGUF_ARRAY)
        return sl_fail(err, SL_CORRUPT, "an array of arrays");
    bool ok = array->type == SL_GGUF_STRING
                  ? take_strings(c, array->count, err)
                  : take(c, array->count * type_bytes[array->type], &data, err);
    array->bytes = (size_t)(c->at - array->data);
    return ok;
}

/* The value of an entry; an array goes to the list, which takes the name. */
static bool take_value(struct sl_gguf *file, struct cursor *c, char **name, struct sl_err *err)
{
    enum sl_gguf_type type;
    if (!take_type(c, &type, err))
        return false;
    if (type == SL_GGUF_ARRAY) {
        struct sl_gguf_array *array = &file->arrays[file->array_count++];
        array->name = *name;
        *name = NULL;
        return take_array(c, array, err) || sl_wrap(err, "%s", array->name);
    }
    json_t *value = type == SL_GGUF_STRING ? take_text(c, err) : take_scalar(c, type, err);
    if (!value)
        return sl_wrap(err, "%s", *name);
    if (json_object_get(file->metadata, *name)) {
        json_decref(value);
        return sl_fail(err, SL_CORRUPT, "%s is there twice", *name);
    }
    return json_object_set_new(file->metadata, *name, value) == 0 ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the metadata");
}

static bool take_metadata(struct sl_gguf *file, struct cursor *c, size_t count, struct sl_err *err)
{
    file->metadata = json_object();
    file->arrays = calloc(count + 1, sizeof *file->arrays);
    if (!file->metadata || !file->arrays)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu entries", count);
    for (size_t i = 0; i < count; i++) {
        char *name = take_name(c, err);
        bool ok = name && take_value(file, c, &name, err);
        free(name);
        if (!ok)
            return sl_wrap(err, "entry %zu of the metadata", i);
    }
    return true;
}

/* -- tensors ---------------------------------------------------------------------------------- */

/* ggml's numbers of types. */
static enum sl_number_type number_type(uint32_t type)
{
    static const struct {
        uint32_t theirs;
        enum sl_number_type ours;
    } types[] = {{0, SL_NUMBER_F32},  {1, SL_NUMBER_F16},  {2, SL_NUMBER_Q4_0},
                 {3, SL_NUMBER_Q4_1}, {8, SL_NUMBER_Q8_0}, {30, SL_NUMBER_BF16}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].theirs == type)
            return types[i].ours;
    return SL_NUMBER_OTHER;
}

/* Dimensions come with the fastest first. */
static bool take_shape(struct cursor *c, struct sl_weight *t, struct sl_err *err)
{
    uint32_t rank;
    if (!take_number(c, &rank, sizeof rank, err))
        return false;
    if (rank < 1 || rank > SL_WEIGHT_RANK_MAX)
        return sl_fail(err, SL_CORRUPT, "%u dimensions: expected 1 to %d", rank,
                       SL_WEIGHT_RANK_MAX);
    t->rank = (int)rank;
    t->count = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        size_t size;
        if (!take_count(c, "a dimension", INT32_MAX, &size, err))
            return false;
        t->shape[i] = (int64_t)size;
        if (__builtin_mul_overflow(t->count, size, &t->count))
            return sl_fail(err, SL_CORRUPT, "the product of its dimensions overflows");
    }
    return true;
}

/* The tensor's bytes are only known by their offset yet. */
static bool take_tensor(struct cursor *c, struct sl_weight *t, uint64_t *offset, struct sl_err *err)
{
    uint32_t type = 0;
    assert(t);
    if (!(t->name = take_name(c, err)))
        return false;
    if (!take_shape(c, t, err) || !take_number(c, &type, sizeof type, err) ||
        !take_number(c, offset, sizeof *offset, err))
        return sl_wrap(err, "tensor '%s'", t->name);
    t->type = number_type(type);
    if (t->type == SL_NUMBER_OTHER)
        return sl_fail(err, SL_BAD_INPUT,
                       "tensor '%s' has ggml's type %u: expected F32, F16, BF16, Q4_0, Q4_1 or "
                       "Q8_0",
                       t->name, type);
    const size_t block = sl_number_layouts[t->type].block;
    return (size_t)t->shape[t->rank - 1] % block == 0 ||
           sl_fail(err, SL_CORRUPT, "tensor '%s': rows of %lld in blocks of %zu", t->name,
                   (long long)t->shape[t->rank - 1], block);
}

static bool place_tensor(struct sl_weight *t, uint64_t offset, const struct cursor *body,
                         size_t alignment, struct sl_err *err)
{
    const struct sl_number_layout *layout = &sl_number_layouts[t->type];
    size_t bytes;
    if (__builtin_mul_overflow(t->count / layout->block, layout->bytes, &bytes) ||
        offset % alignment != 0 || offset > body->left || bytes > body->left - offset)
        return sl_fail(err, SL_CORRUPT,
                       "tensor '%s' begins at %llu and does not fit into %zu bytes", t->name,
                       (unsigned long long)offset, body->left);
    t->data = body->at + offset;
    return true;
}

/* Skips to a multiple of the alignment from the start of the file. */
static bool align(struct cursor *c, const char *start, const struct sl_gguf *file,
                  size_t *alignment, struct sl_err *err)
{
    const json_t *value = json_object_get(file->metadata, "general.alignment");
    const char *skipped;
    const json_int_t said = value ? json_integer_value(value) : ALIGNMENT_DEFAULT;
    if (said < 1 || said > ALIGNMENT_MAX || (said & (said - 1)) != 0)
        return sl_fail(err, SL_CORRUPT, "general.alignment is %lld: expected a power of two",
                       (long long)said);
    *alignment = (size_t)said;
    const size_t over = (size_t)(c->at - start) % *alignment;
    return take(c, over ? *alignment - over : 0, &skipped, err);
}

static bool take_tensors(struct sl_gguf *file, struct cursor *c, const char *start,
                         uint64_t *offsets, size_t count, struct sl_err *err)
{
    size_t alignment = ALIGNMENT_DEFAULT;
    struct sl_weight *tensors = file->weights.list;
    for (size_t i = 0; i < count; i++) {
        file->weights.count = i + 1;
        if (!take_tensor(c, &tensors[i], &offsets[i], err))
            return false;
    }
    if (count > 0 && !align(c, start, file, &alignment, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!place_tensor(&tensors[i], offsets[i], c, alignment, err))
            return false;
    return sl_weights_sort(&file->weights, err);
}

/* -- the file --------------------------------------------------------------------------------- */

static bool take_head(struct cursor *c, size_t *tensors, size_t *entries, struct sl_err *err)
{
    const char *magic = NULL;
    uint32_t version;
    if (!take(c, 4, &magic, err) || !take_number(c, &version, sizeof version, err))
        return false;
    if (memcmp(magic, "GGUF", 4) != 0)
        return sl_fail(err, SL_CORRUPT, "the file does not begin with \"GGUF\"");
    if (version < 2 || version > 3)
        return sl_fail(err, SL_CORRUPT, "version %u: expected 2 or 3", version);
    return take_count(c, "the number of tensors", TENSORS_MAX, tensors, err) &&
           take_count(c, "the number of entries", ENTRIES_MAX, entries, err);
}

bool sl_gguf_parse(struct sl_gguf *file, const void *data, size_t size, struct sl_err *err)
{
    struct cursor c = {.at = data, .left = size};
    size_t tensors = 0, entries = 0;
    uint64_t *offsets = NULL;
    *file = (struct sl_gguf){0};
    bool ok = take_head(&c, &tensors, &entries, err) && take_metadata(file, &c, entries, err);
    if (ok) {
        file->weights.list = calloc(tensors + 1, sizeof *file->weights.list);
        offsets = calloc(tensors + 1, sizeof *offsets);
        ok = (file->weights.list && offsets) ||
             sl_fail(err, SL_NO_MEMORY, "no memory for %zu tensors", tensors);
    }
    ok = ok && take_tensors(file, &c, data, offsets, tensors, err);
    free(offsets);
    if (!ok)
        sl_gguf_close(file);
    return ok;
}

void sl_gguf_close(struct sl_gguf *file)
{
    for (size_t i = 0; i < file->array_count; i++)
        free(file->arrays[i].name);
    free(file->arrays);
    sl_weights_close(&file->weights);
    json_decref(file->metadata);
    *file = (struct sl_gguf){0};
}

const struct sl_gguf_array *sl_gguf_array_find(const struct sl_gguf *file, const char *name,
                                               enum sl_gguf_type type)
{
    for (size_t i = 0; i < file->array_count; i++)
        if (strcmp(file->arrays[i].name, name) == 0)
            return file->arrays[i].type == type ? &file->arrays[i] : NULL;
    return NULL;
}

const char *sl_gguf_string_at(const struct sl_gguf_array *array, size_t *at, size_t *bytes)
{
    uint64_t length;
    assert(array->type == SL_GGUF_STRING && *at < array->bytes);
    memcpy(&length, array->data + *at, sizeof length);
    const char *text = array->data + *at + sizeof length;
    *bytes = (size_t)length;
    *at += sizeof length + (size_t)length;
    return text;
}
