/* linear_classifier.h - the op of the linear classifier. */
#pragma once

#include "autograd/tape.h"

/* y = exponent log(softplus(x)), so that softmax(y) is proportional to softplus(x)^exponent. */
struct sl_tensor *sl_calibrated_logits(struct sl_tape *t, struct sl_tensor *x, float exponent);
