/* prompt_choice.h - which of a model's prompts comes before the texts of a request. */
#pragma once

#include "core/request_error.h"
#include "registry/registry.h"
#include "json/json_schema.h"

/* name: as in `prompt_name`; without data: the model's default. Sets NULL where there is none;
 * fails for a name that the model does not have, as Text Embeddings Inference does. */
bool sv_choose_prompt(const struct sv_model_ref *ref, const struct sv_string *name,
                      const struct sl_prompt **prompt, struct sv_error *error);
