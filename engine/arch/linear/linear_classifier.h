/* linear_classifier.h - the linear architecture: its parts, ops and explanations. */
#pragma once

#include "layers/bag_of_words.h"

/* y = exponent log(softplus(x)), so that softmax(y) is proportional to softplus(x)^exponent. */
struct sl_tensor *sl_calibrated_logits(struct sl_tape *t, struct sl_tensor *x, float exponent);

/* z with y = exponent log(softplus(z)), the y of the op; y itself if the exponent is 0. */
double sl_calibrated_score(double y, float exponent);

struct sl_arch;
/* The parts of a model of this architecture, given its own struct. */
struct sl_bag_of_words *sl_linear_parts(const struct sl_arch *arch, void *self);

struct sl_explained_text;
/* For struct sl_arch. */
bool sl_linear_explain(const void *self, const struct sl_kernels *kernels,
                       const struct sl_explained_text *text, float *contributions);
