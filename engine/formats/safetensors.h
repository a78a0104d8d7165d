/* safetensors.h - the file format only: named tensors behind a JSON header, every bound checked.
 *
 * A file is 8 bytes of header length (little endian), a JSON object that gives each tensor's type,
 * shape and bytes, and the bytes, without holes. What is read stays in the mapped file: names and
 * data live until close. A parsed file never changes; any thread may read it. */
#pragma once

#include "base/file.h"
#include "formats/number_types.h"

#include <stdint.h>

enum sl_dtype {
    SL_DTYPE_F32,
    SL_DTYPE_F16,
    SL_DTYPE_BF16,
    SL_DTYPES_READ, /* of the others only size and place are known: tables of positions, say */
    SL_DTYPE_F64 = SL_DTYPES_READ,
    SL_DTYPE_I64,
    SL_DTYPE_I32,
    SL_DTYPE_I16,
    SL_DTYPE_I8,
    SL_DTYPE_U8,
    SL_DTYPE_BOOL,
    SL_DTYPES
};

enum {
    SL_RANK_MAX = 8,
    SL_TENSORS_MAX = 1 << 16,
    SL_SAFETENSORS_HEADER_MAX = 4 << 20, /* bytes */
    SL_SHAPE_TEXT = 176                  /* room for "96x24" of any shape */
};

/* One tensor of a file. */
struct sl_safetensor {
    const char *name;
    const char *data; /* in the file; no alignment */
    size_t count;     /* elements */
    enum sl_dtype dtype;
    int rank;
    int64_t shape[SL_RANK_MAX];
};

struct json_t;

struct sl_safetensors {
    struct sl_safetensor *tensors; /* in the order of their bytes */
    int count;
    struct json_t *header;
};

/* Reads the header of a whole file in memory, which must outlive the result. */
bool sl_safetensors_parse(struct sl_safetensors *file, const void *data, size_t size,
                          struct sl_err *err) SL_MUST_CHECK;
void sl_safetensors_close(struct sl_safetensors *file); /* a zeroed one is fine */

/* By name; NULL when there is none. */
const struct sl_safetensor *sl_safetensors_find(const struct sl_safetensors *file,
                                                const char *name);
const char *sl_safetensors_metadata(const struct sl_safetensors *file, const char *key);

const char *sl_dtype_name(enum sl_dtype dtype); /* "F32" */
/* SL_NUMBER_OTHER from SL_DTYPES_READ on. */
enum sl_number_type sl_dtype_numbers(enum sl_dtype dtype);

/* All elements as fp32; of a type below SL_DTYPES_READ. */
void sl_safetensor_read(const struct sl_safetensor *tensor, float *out);
/* "96x24", or "scalar". */
void sl_safetensor_shape(const struct sl_safetensor *tensor, char text[SL_SHAPE_TEXT]);

/* One tensor to be written. */
struct sl_safetensor_source {
    const char *name;
    const float *data;
    enum sl_dtype dtype; /* what it becomes in the file: F32, BF16 (nearest even) or I8 */
    int rank;            /* 1 or 2 */
    int64_t shape[2];
    const float *scales; /* of I8, one for each row: elements become the nearest multiples of it */
};

/* An entry of the file's metadata. */
struct sl_metadata_entry {
    const char *key, *value;
};

/* What a file is to hold. The widest types come first in it, so that all are aligned. */
struct sl_safetensors_content {
    const struct sl_safetensor_source *tensors;
    int count;
    const struct sl_metadata_entry *metadata;
    int entries;
};

bool sl_safetensors_write(const char *path, const struct sl_safetensors_content *content,
                          struct sl_err *err) SL_MUST_CHECK;
