/* entity_response.h - what a token classifier found, as JSON. */
#pragma once

#include "api/classification.h"
#include "params/entity_options.h"

/* Adds the list of a text's entities, as Hugging Face's pipeline returns it. */
void sv_entities_add(struct sl_json_writer *json, const struct sv_classification *c, int index,
                     const struct sv_entity_options *options);
