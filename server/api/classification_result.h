/* classification_result.h - what is said of the texts of a request besides their results. */
#pragma once

#include "api/classification.h"

/* Whether a text had no tokens: then it has no result. */
bool sv_classification_is_blank(const struct sv_classification *c, int index);
/* Mean layers per token of one text. */
double sv_classification_depth(const struct sv_classification *c, int index);
/* Tokens of all texts before truncation. */
int64_t sv_classification_tokens_before_truncation(const struct sv_classification *c);

/* Responds with the body that is written, with status 200 and with TEI's headers and ours: depths,
 * operations skipped, truncated texts, the model. type: of the body. */
enum sv_progress sv_classification_respond(struct sv_request *request,
                                           const struct sv_classification *c, const char *type);
