/* tuning_state.h - how far a distillation is, in a directory: to go on after its process ended, as
 * if it had not. The token table, which does not learn, is not kept. */
#pragma once

#include "tuning/text_distillation.h"

/* Atomic: replaces what was saved before. */
bool sl_tuning_state_save(const struct sl_text_distillation *d, const char *directory,
                          struct sl_err *err) SL_MUST_CHECK;

/* d: as it was opened, with the same texts, models and options: another one is an error that names
 * what differs. Precision and instruction set should be the same, too. On failure its numbers are
 * undefined. */
bool sl_tuning_state_resume(struct sl_text_distillation *d, const char *directory,
                            struct sl_err *err) SL_MUST_CHECK;
