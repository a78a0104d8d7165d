/* label_response.h - the labels of texts as JSON. */
#pragma once

#include "api/classification.h"
#include "params/scores.h"

/* Adds the labels of each text, highest first; those of the first may be explained. nested: in an
 * array, even of one text. */
void sv_labels_add(struct sl_json_writer *json, const struct sv_classification *c,
                   const struct sv_label_format *format, bool nested);

/* Pairs are for models that take them, explanations for single texts. `advice`: what to do if it
 * was not meant as a pair. */
bool sv_labels_check(const struct sv_classification *c, const char *advice, struct sv_error *error);
