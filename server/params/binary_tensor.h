/* binary_tensor.h - tensors of Triton's binary data extension: elements as bytes after the JSON.
 *
 * An FP32 or INT32 element is 4 bytes, little endian. A BYTES element is its length in 4 bytes,
 * little endian, and then its bytes. */
#pragma once

#include "base/buffer.h"
#include "params/field_types.h"

struct sv_reader;

/* Reads `count` texts, which must fill the tensor exactly. `param` names the tensor in errors. The
 * document owns copies of the texts. */
bool sv_binary_read_texts(const struct sv_reader *r, const char *param, const char *bytes,
                          size_t size, int64_t count, struct sv_texts *texts);

void sv_binary_append_float(struct sl_buffer *out, float value);
void sv_binary_append_int(struct sl_buffer *out, int32_t value);
void sv_binary_append_bytes(struct sl_buffer *out, const char *bytes, size_t count);
