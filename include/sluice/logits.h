/* logits.h - from logits to probabilities. Pure functions: any thread, no state. */
#pragma once

#include "sluice/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The index of the largest of count numbers; the first of equals. */
SL_PUBLIC int sl_argmax(const float *x, int count);
/* The indices of the `most` largest of count numbers, the largest first; of equals the first comes
 * first. Returns how many there are: fewer if count is. */
SL_PUBLIC int sl_largest(const float *x, int count, int most, int *indices);
/* softmax(logits) and log softmax(logits), into out: count floats. Sums are in double. */
SL_PUBLIC void sl_softmax(const float *logits, int count, float *out);
SL_PUBLIC void sl_log_softmax(const float *logits, int count, float *out);
/* 1 / (1 + exp(-logit)) of each, which may be done in place. */
SL_PUBLIC void sl_sigmoids(const float *logits, int count, float *out);

#ifdef __cplusplus
}
#endif
