/* classifier.h - what the rest of the engine may ask of a classifier. */
#pragma once

#include "autograd/tape.h"
#include "sluice/classify.h"

/* What the last run found out about itself. */
const struct sl_forward_stats *sl_classifier_stats(const struct sl_classifier *classifier);
