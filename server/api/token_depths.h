/* token_depths.h - how deep a classification request's model went for each token of its texts. */
#pragma once

#include "api/classification.h"
#include "base/json_writer.h"

/* Makes room for what the executor keeps of each token, once all texts have their tokens. */
bool sv_depths_allocate(struct sv_classification *c, struct sv_error *error);
void sv_depths_release(const struct sv_classification *c);

/* Once every item has its result: the tokens of a text that are parts of it, as an array. */
void sv_depths_write(struct sl_json_writer *json, const struct sv_classification *c, int index);
