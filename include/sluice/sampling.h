/* sampling.h - samples the next token from logits. A pure function: any thread, no state. */
#pragma once

#include "sluice/err.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the next token is sampled from logits. */
struct sl_sampling {
    float temperature;                         /* 0: greedy; the lowest id among equals */
    int top_k;                                 /* 0: all */
    float top_p;                               /* 1: all */
    float presence_penalty, frequency_penalty; /* subtracted from the logits of generated tokens */
    const float *bias;                         /* vocab floats added to the logits; NULL: none */
};

/* One sampling step. The same logits, sampling, counts, key and index give the same token. */
struct sl_sample_params {
    const float *logits;
    int vocab;
    const struct sl_sampling *sampling;
    const int32_t *counts; /* vocab: how often each token was generated; NULL: no penalties */
    uint64_t key, index;   /* of the random number: of the text, and of the token in it */
    void *scratch;         /* SL_SAMPLE_BYTES for each entry of the vocabulary, 8-byte aligned */
};

enum { SL_SAMPLE_BYTES = 12 };

SL_PUBLIC int32_t sl_sample(const struct sl_sample_params *choice);

#ifdef __cplusplus
}
#endif
