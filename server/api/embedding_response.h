/* embedding_response.h - embeddings as JSON. */
#pragma once

#include "api/classification.h"
#include "base/json_writer.h"
#include "params/embed_params.h"

struct sv_embedding_format {
    int count; /* numbers to keep, the first; 0: all */
    bool normalize;
    enum sv_encoding_format encoding;
};

/* Whether the embeddings have so many numbers. */
bool sv_embeddings_check(const struct sv_classification *c, int64_t dimensions, const char *param,
                         struct sv_error *error);
/* Divides by the length, unless it is 0. */
void sv_embedding_normalize(float *x, int count);
/* Adds a text's embedding as a JSON array, or in base64 as a string. It may change the result, so
 * once for each text. */
void sv_embedding_add(struct sl_json_writer *json, const struct sv_classification *c, int index,
                      const struct sv_embedding_format *format);

typedef void sv_embedding_adder(struct sl_json_writer *json, const struct sv_classification *c,
                                int index);
/* Adds the next texts to c->json. True: all are in. */
bool sv_embeddings_add_slice(struct sv_classification *c, sv_embedding_adder *add);
/* The whole response where it is a list, slice by slice; or without `nested` its only element. */
enum sv_progress sv_embeddings_respond(struct sv_request *request, struct sv_classification *c,
                                       sv_embedding_adder *add, bool nested);
