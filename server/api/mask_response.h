/* mask_response.h - what may stand in place of mask tokens, as JSON. */
#pragma once

#include "api/classification.h"
#include "params/hf_params.h"

/* Finds the ids of the targets: pieces of the vocabulary, or else the first token of what they are.
 * False: none has a token. */
bool sv_mask_targets_find(const struct sv_classification *c, const struct sv_texts *targets,
                          struct sv_mask_targets *ids, struct sv_error *error);

/* Whether a response with so many tokens for each mask is not too long: each repeats its text. */
bool sv_masks_check(const struct sv_classification *c, const struct sv_mask_targets *targets,
                    int top_k, struct sv_error *error);

/* Adds the most probable tokens for the masks of a text, as Hugging Face's pipeline returns them: a
 * list, or of several masks a list for each. It changes the result, so once for each text. */
void sv_masks_add(struct sl_json_writer *json, const struct sv_classification *c, int index,
                  const struct sv_mask_targets *targets, int top_k);
