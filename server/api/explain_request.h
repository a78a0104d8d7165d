/* explain_request.h - explanations of a classification request's results: which words of a text
 * moved the score of its label (sluice/explanation.h). */
#pragma once

#include "api/classification.h"
#include "base/json_writer.h"

/* Items for each text of a request, itself included; kept as items_per_text. */
int sv_explain_items(const struct sv_classification *c);
/* Tokens to admit for each token of a text. */
int sv_explain_token_factor(const struct sv_classification *c);

/* Splits a text that has its tokens into words, and makes the items to explain it with. */
bool sv_explain_text(struct sv_classification *c, int index, const struct sv_tokens *tokens,
                     struct sv_error *error);
void sv_explain_release(const struct sv_classification *c);

/* The most likely class of a text, which is the one that is explained. */
int sv_explained_label(const struct sv_classification *c, int index);

/* Once every item has its result: the words with the largest contributions, as an array. */
void sv_explain_write(struct sl_json_writer *json, const struct sv_classification *c, int index);
