/* report.h - progress of a training run: a live line on a terminal, JSON lines on other standard
 * outputs, and always <run>/log.jsonl. */
#pragma once

#include "train/trainer.h"

struct report;

struct report *report_open(const struct sl_trainer *trainer, const char *run, bool json,
                           struct sl_err *err) SL_MUST_CHECK;
void report_event(void *report, const struct sl_train_progress *state);
/* failure: why the run failed, or NULL; published: the directory of its model, or NULL. */
void report_close(struct report *report, const char *failure, const char *published);

/* The JSON object about training that a checkpoint stores; free() it. */
char *report_provenance(const struct sl_trainer *trainer, struct sl_err *err) SL_MUST_CHECK;
