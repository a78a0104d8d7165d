/* training_log.h - progress of a training run: a live line on a terminal, JSON lines on other
 * standard outputs, and always <run>/log.jsonl. */
#pragma once

#include "train/trainer.h"

struct training_log;

struct training_log *training_log_open(const struct sl_trainer *trainer, const char *run, bool json,
                                       struct sl_err *err) SL_MUST_CHECK;
void training_log_event(void *training_log, const struct sl_train_progress *state);
/* failure: why the run failed, or NULL; published: the directory of its model, or NULL. */
void training_log_close(struct training_log *training_log, const struct sl_err *failure,
                        const char *published);

/* The JSON object about training that a checkpoint stores; free() it. */
char *training_log_provenance(const struct sl_trainer *trainer, struct sl_err *err) SL_MUST_CHECK;
