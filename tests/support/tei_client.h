/* tei_client.h - good and bad answers of a daemon in the format of Text Embeddings Inference. */
#pragma once

#include "support/json_query.h"

/* Posts a body that must succeed; returns the answer, which the caller releases. */
json_t *tei_post(const struct daemon *daemon, const char *path, const char *body);

/* Checks an error's status, type and part of its message, and releases the response. */
void tei_expect_error(struct http_response *response, long status, const char *type,
                      const char *part);

/* How many texts a model of version 4 has classified with this outcome. */
double tei_texts_by_outcome(const struct daemon *daemon, const char *model, const char *outcome);
