/* classify_request.h - the life of a request for classes or embeddings, shared by all APIs. */
#pragma once

#include "api/classification.h"

/* A complete handler: resolves the model, reads, admits the texts, tokenizes them and submits
 * them to the scheduler, or responds with the error. */
enum sv_progress sv_classify(struct sv_request *request, const struct sv_classify_format *format);

/* What to compute instead of the format's output; for `prepare`. */
void sv_classification_set_output(struct sv_classification *c, enum sl_output output);
