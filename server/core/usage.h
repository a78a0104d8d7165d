/* usage.h - what a request used: tokens, and layers of the model. */
#pragma once

#include <stdint.h>

/* A prompt that was longer than the context, and cut because the request allows it. */
struct sv_truncation {
    int prompt, given, used;
};

struct sv_usage {
    int64_t prompt_tokens, completion_tokens;
    int64_t layers_used, layers_full;
    int depth; /* of the model */
    const struct sv_truncation *truncations;
    int truncation_count;
};

/* Layers that each of some tokens went through, the mean, of what was used and what there was. */
double sv_mean_depth(int depth, int64_t used, int64_t full);
double sv_usage_mean_depth(const struct sv_usage *usage); /* layers that a token went through */
double sv_usage_layer_ops_skipped(
    const struct sv_usage *usage); /* share of layer operations, 0 .. 1 */
