/* report.h - what a training run says while it runs: a live line on a terminal, JSON lines
 * elsewhere, and always <run>/log.jsonl. */
#pragma once

#include "train/trainer.h"

struct report;

struct report *report_open(const struct sl_trainer *trainer, const char *run, bool json,
                           struct sl_err *err) SL_MUST_CHECK;
void report_event(void *report, const struct sl_train_progress *state);
/* failure: why the run ended early, or NULL; published: where it has left a model so far, or
 * NULL. */
void report_close(struct report *report, const char *failure, const char *published);

/* The JSON object that a checkpoint keeps of its origin; free() it. */
char *report_provenance(const struct sl_trainer *trainer, struct sl_err *err) SL_MUST_CHECK;
