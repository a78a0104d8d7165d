/* generation_options.c - how texts are sampled, as a request says it. */
#include "api/generation_options.h"

#include "sluice/model.h"

#include <stdlib.h>

bool sv_expand_logit_bias(const struct sv_logit_biases *biases, int vocab, float **out,
                          struct sv_error *error)
{
    *out = NULL;
    if (biases->count == 0)
        return true;
    *out = calloc((size_t)vocab, sizeof **out);
    if (!*out)
        return sv_fail_no_memory(error);
    for (int i = 0; i < biases->count; i++) {
        if (biases->items[i].id >= vocab)
            return sv_fail(error, SV_INVALID_VALUE, "logit_bias",
                           "'logit_bias' names the token id %d; the vocabulary has 0 to %d.",
                           (int)biases->items[i].id, vocab - 1);
        (*out)[biases->items[i].id] = biases->items[i].value;
    }
    return true;
}

struct sl_generation_options sv_generation_options(const struct sv_completion_params *params,
                                                   const struct sl_model *model, int max_tokens,
                                                   uint64_t seed)
{
    const int vocab = sl_model_info(model)->vocab;
    struct sl_generation_options options = {
        .max_tokens = max_tokens,
        .sampling = {.temperature = (float)params->temperature,
                     .top_k = params->top_k < vocab ? (int)params->top_k : 0,
                     .top_p = (float)params->top_p,
                     .presence_penalty = (float)params->presence_penalty,
                     .frequency_penalty = (float)params->frequency_penalty},
        .seed = seed,
        .stop_count = params->stop.count,
        .logprobs = params->logprobs_given || params->depths, /* records have both */
        .gates = params->depths,
        .top_logprobs = (int)params->logprobs,
        .echo = params->echo,
    };
    for (int i = 0; i < params->stop.count; i++)
        options.stops[i] = params->stop.items[i].data;
    return options;
}
