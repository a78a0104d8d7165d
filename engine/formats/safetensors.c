/* safetensors.c - reads and checks a header, and writes files. */
#include "formats/safetensors.h"

#include "base/bf16.h"
#include "base/int_math.h"
#include "formats/json_io.h"

#include <assert.h>
#include <endian.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "elements are copied as they lie in the file");

enum { LENGTH_BYTES = 8, ALIGN = 8, TENSOR_NAME_MAX = 255 };

static const char metadata_key[] = "__metadata__";

static const struct {
    const char *name;
    size_t bytes;
    enum sl_number_type numbers;
} dtypes[SL_DTYPES] = {
    [SL_DTYPE_F32] = {"F32", 4, SL_NUMBER_F32},    [SL_DTYPE_F16] = {"F16", 2, SL_NUMBER_F16},
    [SL_DTYPE_BF16] = {"BF16", 2, SL_NUMBER_BF16}, [SL_DTYPE_F64] = {"F64", 8, SL_NUMBER_OTHER},
    [SL_DTYPE_I64] = {"I64", 8, SL_NUMBER_OTHER},  [SL_DTYPE_I32] = {"I32", 4, SL_NUMBER_OTHER},
    [SL_DTYPE_I16] = {"I16", 2, SL_NUMBER_OTHER},  [SL_DTYPE_I8] = {"I8", 1, SL_NUMBER_OTHER},
    [SL_DTYPE_U8] = {"U8", 1, SL_NUMBER_OTHER},    [SL_DTYPE_BOOL] = {"BOOL", 1, SL_NUMBER_OTHER},
};

const char *sl_dtype_name(enum sl_dtype dtype)
{
    return dtypes[dtype].name;
}

enum sl_number_type sl_dtype_numbers(enum sl_dtype dtype)
{
    return dtypes[dtype].numbers;
}

/* -- reading --------------------------------------------------------------------------- */

/* The bytes that hold the tensors. */
struct body {
    const char *data;
    size_t size;
};

static size_t stored_bytes(const struct sl_safetensor *t)
{
    return t->count * dtypes[t->dtype].bytes;
}

static bool read_dtype(struct sl_safetensor *t, const json_t *entry, struct sl_err *err)
{
    const char *name = sl_json_text(entry, "dtype", err);
    if (!name)
        return false;
    for (int i = 0; i < SL_DTYPES; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            t->dtype = (enum sl_dtype)i;
            return true;
        }
    }
    return sl_fail(err, SL_CORRUPT, "invalid dtype '%.16s': expected F32, F16 or BF16", name);
}

/* Element i of an array as a whole number that is not negative. */
static bool read_size(const json_t *array, size_t i, const char *what, int64_t *out,
                      struct sl_err *err)
{
    const json_t *value = json_array_get(array, i);
    if (!json_is_integer(value))
        return sl_fail(err, SL_CORRUPT, "%s[%zu] is %s: expected a whole number", what, i,
                       sl_json_type(value));
    *out = json_integer_value(value);
    return *out >= 0 || sl_fail(err, SL_CORRUPT, "invalid %s[%zu] %lld: expected 0 or more", what,
                                i, (long long)*out);
}

static bool read_shape(struct sl_safetensor *t, const json_t *entry, struct sl_err *err)
{
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return sl_fail(err, SL_CORRUPT, "'shape' is %s: expected an array", sl_json_type(shape));
    size_t rank = json_array_size(shape);
    if (rank > SL_RANK_MAX)
        return sl_fail(err, SL_CORRUPT, "%zu dimensions: expected at most %d", rank, SL_RANK_MAX);

    t->rank = (int)rank;
    t->count = 1;
    for (size_t i = 0; i < rank; i++) {
        if (!read_size(shape, i, "shape", &t->shape[i], err))
            return false;
        if (__builtin_mul_overflow(t->count, (size_t)t->shape[i], &t->count))
            return sl_fail(err, SL_CORRUPT, "the product of its shape overflows");
    }
    return true;
}

static bool read_offsets(struct sl_safetensor *t, const json_t *entry, const struct body *body,
                         struct sl_err *err)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (!json_is_array(offsets) || json_array_size(offsets) != 2)
        return sl_fail(err, SL_CORRUPT, "'data_offsets' is %s of %zu: expected an array of 2",
                       sl_json_type(offsets), json_array_size(offsets));
    int64_t begin = 0, end = 0;
    if (!read_size(offsets, 0, "data_offsets", &begin, err) ||
        !read_size(offsets, 1, "data_offsets", &end, err))
        return false;
    if (end < begin || (uint64_t)end > body->size)
        return sl_fail(err, SL_CORRUPT, "invalid data_offsets %lld to %lld: expected at most %zu",
                       (long long)begin, (long long)end, body->size);

    size_t want;
    char shape[SL_SHAPE_TEXT];
    sl_safetensor_shape(t, shape);
    if (__builtin_mul_overflow(t->count, dtypes[t->dtype].bytes, &want) ||
        want != (size_t)(end - begin))
        return sl_fail(err, SL_CORRUPT, "%lld bytes for %s of %s", (long long)(end - begin), shape,
                       dtypes[t->dtype].name);
    t->data = body->data + begin;
    return true;
}

static bool read_tensor(struct sl_safetensor *t, const char *name, json_t *entry,
                        const struct body *body, struct sl_err *err)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets", NULL};
    if (strlen(name) < 1 || strlen(name) > TENSOR_NAME_MAX)
        return sl_fail(err, SL_CORRUPT, "a tensor's name is %zu bytes: expected 1 to %d",
                       strlen(name), TENSOR_NAME_MAX);
    if (!json_is_object(entry))
        return sl_fail(err, SL_CORRUPT, "tensor '%s' is %s: expected an object", name,
                       sl_json_type(entry));
    t->name = name;
    bool ok = sl_json_keys(entry, keys, err) && read_dtype(t, entry, err) &&
              read_shape(t, entry, err) && read_offsets(t, entry, body, err);
    return ok || sl_wrap(err, "tensor '%s'", name);
}

static bool check_metadata(json_t *metadata, struct sl_err *err)
{
    if (!json_is_object(metadata))
        return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected an object", metadata_key,
                       sl_json_type(metadata));
    const char *key;
    json_t *value;
    json_object_foreach (metadata, key, value) {
        if (!sl_json_text(metadata, key, err))
            return sl_wrap(err, "'%s'", metadata_key);
    }
    return true;
}

static bool read_tensors(struct sl_safetensors *file, const struct body *body, struct sl_err *err)
{
    size_t max = json_object_size(file->header);
    if (max > SL_TENSORS_MAX)
        return sl_fail(err, SL_CORRUPT, "%zu tensors: expected at most %d", max, SL_TENSORS_MAX);
    file->tensors = calloc(max + 1, sizeof *file->tensors);
    if (!file->tensors)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu tensors", max);
    const char *name;
    json_t *entry;
    json_object_foreach (file->header, name, entry) {
        bool ok = strcmp(name, metadata_key) == 0
                      ? check_metadata(entry, err)
                      : read_tensor(&file->tensors[file->count++], name, entry, body, err);
        if (!ok)
            return false;
    }
    return true;
}

static int stored_compare(const void *a, const void *b)
{
    const struct sl_safetensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    size_t p = stored_bytes(x), q = stored_bytes(y); /* empty ones first */
    return (p > q) - (p < q);
}

/* Every byte of the body belongs to one tensor. */
static bool check_layout(const struct sl_safetensors *file, const struct body *body,
                         struct sl_err *err)
{
    size_t covered = 0;
    for (int i = 0; i < file->count; i++) {
        const struct sl_safetensor *t = &file->tensors[i];
        size_t begin = (size_t)(t->data - body->data);
        if (begin < covered)
            return sl_fail(err, SL_CORRUPT, "tensor '%s' begins at byte %zu, inside tensor '%s'",
                           t->name, begin, file->tensors[i - 1].name);
        if (begin > covered)
            return sl_fail(err, SL_CORRUPT, "bytes %zu to %zu before tensor '%s' belong to none",
                           covered, begin, t->name);
        covered = begin + stored_bytes(t);
    }
    return covered == body->size ||
           sl_fail(err, SL_CORRUPT, "the tensors have %zu bytes: expected %zu", covered,
                   body->size);
}

static bool read_header(struct sl_safetensors *file, const char *data, size_t size,
                        struct body *body, struct sl_err *err)
{
    uint64_t length;
    if (size < sizeof length)
        return sl_fail(err, SL_CORRUPT, "the file has %zu bytes: expected at least %d", size,
                       LENGTH_BYTES);
    memcpy(&length, data, sizeof length);
    if (length > SL_SAFETENSORS_HEADER_MAX)
        return sl_fail(err, SL_CORRUPT, "the header has %llu bytes: expected at most %d",
                       (unsigned long long)length, SL_SAFETENSORS_HEADER_MAX);
    if (length > size - LENGTH_BYTES)
        return sl_fail(err, SL_CORRUPT, "the header needs %llu bytes, but the file has %zu",
                       (unsigned long long)length + LENGTH_BYTES, size);
    if (length == 0 || data[LENGTH_BYTES] != '{')
        return sl_fail(err, SL_CORRUPT, "the header does not begin with '{'");
    file->header = sl_json_parse(data + LENGTH_BYTES, (size_t)length, err);
    if (!file->header)
        return sl_wrap(err, "header");
    *body = (struct body){.data = data + LENGTH_BYTES + length,
                          .size = size - LENGTH_BYTES - (size_t)length};
    return true;
}

bool sl_safetensors_parse(struct sl_safetensors *file, const void *data, size_t size,
                          struct sl_err *err)
{
    struct body body = {0};
    *file = (struct sl_safetensors){0};
    if (!read_header(file, data, size, &body, err) || !read_tensors(file, &body, err))
        goto fail;
    qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, stored_compare);
    if (!check_layout(file, &body, err))
        goto fail;
    return true;

fail:
    sl_safetensors_close(file);
    return false;
}

void sl_safetensors_close(struct sl_safetensors *file)
{
    free(file->tensors);
    json_decref(file->header);
    *file = (struct sl_safetensors){0};
}

const struct sl_safetensor *sl_safetensors_find(const struct sl_safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

const char *sl_safetensors_metadata(const struct sl_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, metadata_key), key));
}

void sl_safetensor_shape(const struct sl_safetensor *tensor, char text[SL_SHAPE_TEXT])
{
    static_assert(SL_SHAPE_TEXT >= SL_RANK_MAX * 21 + 8, "a dimension has at most 20 digits");
    (void)snprintf(text, SL_SHAPE_TEXT, "scalar");
    size_t used = 0;
    for (int i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(text + used, SL_SHAPE_TEXT - used, "%s%lld", i ? "x" : "",
                                 (long long)tensor->shape[i]);
}

void sl_safetensor_read(const struct sl_safetensor *tensor, float *out)
{
    assert(tensor->dtype < SL_DTYPES_READ);
    sl_numbers_read(dtypes[tensor->dtype].numbers, tensor->data, tensor->count, out);
}

/* -- writing --------------------------------------------------------------------------- */

/* A file being written. */
struct image {
    json_t *header;
    char *text;      /* the header, printed and padded */
    char *converted; /* elements that are not written as they are */
    size_t converted_used;
    struct sl_slice *slices; /* length, header, tensors */
    int slices_used;
    uint64_t length;
};

static size_t unstored_count(const struct sl_safetensor_source *t)
{
    return (size_t)t->shape[0] * (t->rank == 2 ? (size_t)t->shape[1] : 1);
}

static void narrow(const struct sl_safetensor_source *t, uint16_t *out)
{
    const size_t count = unstored_count(t);
    for (size_t i = 0; i < count; i++)
        out[i] = sl_bf16_of(t->data[i]);
}

static void round_multiples(const struct sl_safetensor_source *t, int8_t *out)
{
    const size_t cols = (size_t)t->shape[1], count = unstored_count(t);
    for (size_t i = 0; i < count; i++)
        out[i] = (int8_t)lrintf(t->data[i] / t->scales[i / cols]);
}

static struct sl_slice slice_of(struct image *image, const struct sl_safetensor_source *t)
{
    const size_t bytes = unstored_count(t) * dtypes[t->dtype].bytes;
    char *at = image->converted + image->converted_used;
    if (t->dtype == SL_DTYPE_F32)
        return (struct sl_slice){.data = t->data, .size = bytes};
    if (t->dtype == SL_DTYPE_BF16)
        narrow(t, (uint16_t *)(void *)at); /* aligned, as those of one byte come later */
    else
        round_multiples(t, (int8_t *)at);
    image->converted_used += bytes;
    return (struct sl_slice){.data = at, .size = bytes};
}

static bool image_add(struct image *image, const struct sl_safetensor_source *t, size_t *end)
{
    assert(t->rank == 1 || t->rank == 2);
    assert(!json_object_get(image->header, t->name));
    struct sl_slice slice = slice_of(image, t);
    json_int_t begin = (json_int_t)*end;
    *end += slice.size;
    image->slices[image->slices_used++] = slice;
    const char *format = t->rank == 2 ? "{s:s, s:[I,I], s:[I,I]}" : "{s:s, s:[I], s:[I,I]}";
    json_t *entry =
        t->rank == 2
            ? json_pack(format, "dtype", dtypes[t->dtype].name, "shape", (json_int_t)t->shape[0],
                        (json_int_t)t->shape[1], "data_offsets", begin, (json_int_t)*end)
            : json_pack(format, "dtype", dtypes[t->dtype].name, "shape", (json_int_t)t->shape[0],
                        "data_offsets", begin, (json_int_t)*end);
    return json_object_set_new(image->header, t->name, entry) == 0;
}

static bool image_metadata(struct image *image, const struct sl_safetensors_content *content)
{
    if (content->entries == 0)
        return true;
    json_t *metadata = json_object();
    bool ok = json_object_set_new(image->header, metadata_key, metadata) == 0;
    for (int i = 0; i < content->entries && ok; i++)
        ok = json_object_set_new(metadata, content->metadata[i].key,
                                 json_string(content->metadata[i].value)) == 0;
    return ok;
}

/* Prints the header, padded with spaces so that the tensors begin at a multiple of 8. */
static bool image_finish(struct image *image)
{
    size_t bytes = json_dumpb(image->header, NULL, 0, JSON_COMPACT);
    size_t padded = sl_round_up(bytes, ALIGN);
    image->text = bytes > 0 ? malloc(padded) : NULL;
    if (!image->text || json_dumpb(image->header, image->text, bytes, JSON_COMPACT) != bytes)
        return false;
    memset(image->text + bytes, ' ', padded - bytes);
    image->length = padded;
    image->slices[0] = (struct sl_slice){.data = &image->length, .size = sizeof image->length};
    image->slices[1] = (struct sl_slice){.data = image->text, .size = padded};
    return true;
}

static bool image_make(struct image *image, const struct sl_safetensors_content *content)
{
    static const enum sl_dtype order[] = {SL_DTYPE_F32, SL_DTYPE_BF16, SL_DTYPE_I8};

    size_t bytes = 0, end = 0;
    for (int i = 0; i < content->count; i++)
        if (content->tensors[i].dtype != SL_DTYPE_F32)
            bytes += unstored_count(&content->tensors[i]) * dtypes[content->tensors[i].dtype].bytes;
    image->header = json_object();
    image->converted = malloc(bytes + 1);
    image->slices = calloc((size_t)content->count + 2, sizeof *image->slices);
    image->slices_used = 2;
    if (!image->header || !image->converted || !image->slices || !image_metadata(image, content))
        return false;
    for (size_t pass = 0; pass < sizeof order / sizeof *order; pass++)
        for (int i = 0; i < content->count; i++)
            if (content->tensors[i].dtype == order[pass] &&
                !image_add(image, &content->tensors[i], &end))
                return false;
    assert(image->slices_used == content->count + 2);
    return image_finish(image);
}

bool sl_safetensors_write(const char *path, const struct sl_safetensors_content *content,
                          struct sl_err *err)
{
    assert(content->count <= SL_TENSORS_MAX);
    struct image image = {0};
    bool ok = image_make(&image, content)
                  ? sl_file_replace(path, image.slices, image.slices_used, err)
                  : sl_fail(err, SL_NO_MEMORY, "no memory to write %d tensors to '%s'",
                            content->count, path);
    json_decref(image.header);
    free(image.text);
    free(image.converted);
    free(image.slices);
    return ok;
}
