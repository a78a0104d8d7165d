/* classifier.h - the engine's internal view of a classifier. */
#pragma once

#include "autograd/tape.h"
#include "sluice/classifier.h"

/* Statistics of the last run. */
const struct sl_forward_stats *sl_classifier_stats(const struct sl_classifier *classifier);
