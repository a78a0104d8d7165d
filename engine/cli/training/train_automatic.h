/* train_automatic.h - `sluice train --data FILE` without an architecture: looks at the texts, tries
 * the recipes of the linear model, publishes the best. */
#pragma once

#include "sluice/err.h"

/* words: the command line after `sluice train`. */
bool train_automatic(int count, char **words, struct sl_err *err) SL_MUST_CHECK;
