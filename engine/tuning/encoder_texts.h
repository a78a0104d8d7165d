/* encoder_texts.h - the texts of a search in an encoder's tokens. Internal to this folder. */
#pragma once

#include "tuning/encoder_trials.h"

/* Sets tokens, bag, context, reads, whole, set and is_long. */
bool sl_encoder_texts_open(struct sl_encoder_trials *e, const struct sl_encoder_trials_options *o,
                           struct sl_err *err) SL_MUST_CHECK;
void sl_encoder_texts_close(struct sl_encoder_trials *e); /* a zeroed one is fine */
