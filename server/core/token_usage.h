/* token_usage.h - what a request used: tokens, and layers of the model. */
#pragma once

#include <stdint.h>

struct sl_json_writer;

/* A prompt that was longer than the context and was truncated. */
struct sv_truncation {
    int prompt, given, used;
};

struct sv_usage {
    int64_t prompt_tokens, completion_tokens;
    int64_t layers_used, layers_full;
    int depth;     /* of the model */
    double budget; /* of the operating point; 0: none was asked for */
    const struct sv_truncation *truncations;
    int truncation_count;
};

/* Mean number of layers per token, from the layer operations used and the full number. */
double sv_mean_depth(int depth, int64_t used, int64_t full);
double sv_usage_mean_depth(const struct sv_usage *usage); /* mean layers per token */
/* Fraction of layer operations skipped, 0 .. 1. */
double sv_usage_layer_ops_skipped(const struct sv_usage *usage);
/* The members of an open object that say so, and the budget. */
void sv_usage_add_depth(struct sl_json_writer *json, const struct sv_usage *usage);
