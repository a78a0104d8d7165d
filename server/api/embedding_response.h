/* embedding_response.h - embeddings as JSON. */
#pragma once

#include "base/json_writer.h"
#include "params/embed_params.h"

/* Divides by the length, unless it is 0. */
void sv_embedding_normalize(float *x, int count);
/* Writes the numbers as a JSON array, or in base64 as a string. */
void sv_embedding_write(const float *x, int count, enum sv_encoding_format encoding,
                        struct sl_json_writer *json);
