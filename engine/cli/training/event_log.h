/* event_log.h - log.jsonl of a training run: each event is a line of JSON, which jobs and reports
 * read. */
#pragma once

#include "sluice/err.h"

#include <stdio.h>

struct json_t;

struct event_log {
    FILE *file;      /* NULL: not open, and all of the below does nothing */
    int step, steps; /* where the training is; each event says it */
};

/* Appends to <run_dir>/log.jsonl. */
bool event_log_open(struct event_log *log, const char *run_dir, struct sl_err *err) SL_MUST_CHECK;
/* Adds time, step and steps to the event, writes it, also to `copy` unless that is NULL, and
 * releases it. */
void event_log_write(const struct event_log *log, struct json_t *event, FILE *copy);
/* Passes each event of a log to `each` until that returns false. What is no JSON is left out: a
 * line that a killed process began. */
bool event_log_read(const char *path,
                    bool (*each)(void *context, const struct json_t *event, struct sl_err *err),
                    void *context, struct sl_err *err) SL_MUST_CHECK;
/* Warns on standard error if the end of the log was not written. */
void event_log_close(struct event_log *log);
