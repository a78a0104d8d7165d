/* automatic_log.h - progress of a training without an architecture, as the events of training_log.h
 * in <run-dir>/log.jsonl: a step is a recipe that was tried, and the last one fits the model. */
#pragma once

#include "cli/training/automatic_results.h"
#include "cli/training/event_log.h"
#include "train/run_dir.h"

struct automatic_log {
    struct event_log events; /* not open: no log is wanted; all of the below does nothing */
    struct sl_run_dir run_dir;
    double begun;
    int64_t tokens;     /* of all texts */
    bool slower_follow; /* recipes that take longer than those so far: the time left is not known */
};

/* directory: NULL: none. Locks it for one process. */
bool automatic_log_open(struct automatic_log *log, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;
/* Before the first trial, and after each. has_encoder: one is tried after the linear recipes. */
void automatic_log_search(struct automatic_log *log, const struct sl_linear_search *search,
                          const struct dataset_facts *facts, bool has_encoder);
/* When the model is published. */
void automatic_log_published(struct automatic_log *log, const struct automatic_results *report,
                             const char *directory);
/* failure: why there is no model, or NULL. A zeroed log is fine. */
void automatic_log_close(struct automatic_log *log, const struct sl_err *failure);
