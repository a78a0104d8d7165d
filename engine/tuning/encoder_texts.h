/* encoder_texts.h - the texts of a search in an encoder's tokens. Internal to this folder. */
#pragma once

#include "tuning/encoder_trials.h"

/* Sets tokens, bag, context, reads, set and is_long. Releases nothing. */
bool sl_encoder_texts_open(struct sl_encoder_trials *e, const struct sl_encoder_trials_options *o,
                           struct sl_err *err) SL_MUST_CHECK;
/* Reads the texts, with as many tokens as a cascade takes. */
bool sl_encoder_texts_read(const struct sl_encoder_trials *e,
                           const struct sl_encoder_trials_options *o, struct sl_dataset *set,
                           struct sl_err *err) SL_MUST_CHECK;
