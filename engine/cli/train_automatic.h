/* train_automatic.h - `sluice train --data FILE` without an architecture: looks at the texts, tries
 * the recipes of the linear model, publishes the best. */
#pragma once

#include "base/option_parser.h"
#include "sluice/err.h"

/* The options that only this has. */
extern const struct sl_option train_automatic_rows[];

/* Whether a command line has labelled texts and no architecture. */
bool train_is_automatic(int count, char **words);
/* Its part of `sluice train --help`. */
void train_automatic_help(void);

/* words: the command line after `sluice train`. */
bool train_automatic(int count, char **words, struct sl_err *err) SL_MUST_CHECK;
