/* generation_options.h - how texts are sampled, as a request says it. */
#pragma once

#include "params/completion_params.h"

/* Without prompt and bias. Stop strings belong to the request. */
struct sl_generation_options sv_generation_options(const struct sv_completion_params *params,
                                                   const struct sl_model *model, int max_tokens,
                                                   uint64_t seed);
/* Expands the bias to one number per id of the vocabulary, to be freed; NULL if there is none. */
bool sv_expand_logit_bias(const struct sv_logit_biases *biases, int vocab, float **out,
                          struct sv_error *error);
