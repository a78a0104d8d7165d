/* gguf_file.h - the file format of llama.cpp: metadata, and named tensors behind it; every bound
 * checked.
 *
 * "GGUF", the version (2 or 3), how many tensors and how many entries of metadata; the entries;
 * name, shape, type and offset of each tensor; their bytes, aligned. Little endian. Description:
 * docs/gguf.md of ggml. What is read stays in memory of the caller, who keeps it until close. A
 * parsed file never changes; any thread may read it. */
#pragma once

#include "pretrained/weights.h"

/* Types of metadata, as numbered in the file. */
enum sl_gguf_type {
    SL_GGUF_UINT8,
    SL_GGUF_INT8,
    SL_GGUF_UINT16,
    SL_GGUF_INT16,
    SL_GGUF_UINT32,
    SL_GGUF_INT32,
    SL_GGUF_FLOAT32,
    SL_GGUF_BOOL,
    SL_GGUF_STRING,
    SL_GGUF_ARRAY,
    SL_GGUF_UINT64,
    SL_GGUF_INT64,
    SL_GGUF_FLOAT64,
    SL_GGUF_TYPES
};

/* An array of the metadata: `count` elements from `data` on, without alignment. */
struct sl_gguf_array {
    char *name;
    enum sl_gguf_type type; /* of the elements */
    size_t count, bytes;
    const char *data;
};

struct json_t;

struct sl_gguf {
    struct json_t *metadata; /* an object: all entries that are no arrays */
    struct sl_gguf_array *arrays;
    size_t array_count;
    struct sl_weights weights; /* shapes as PyTorch's: the last dimension is the fastest */
};

/* Reads a whole file in memory, which must outlive the result. */
bool sl_gguf_parse(struct sl_gguf *file, const void *data, size_t size, struct sl_err *err)
    SL_MUST_CHECK;
void sl_gguf_close(struct sl_gguf *file); /* a zeroed one is fine */

/* By name, with elements of this type; NULL when there is none. */
const struct sl_gguf_array *sl_gguf_array_find(const struct sl_gguf *file, const char *name,
                                               enum sl_gguf_type type);

/* A string of an array of strings, not ended by a NUL. at: where it begins in `data`; then, where
 * the next one does. */
const char *sl_gguf_string_at(const struct sl_gguf_array *array, size_t *at, size_t *bytes);
