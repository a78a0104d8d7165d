/* worker.h - one thread for work that waits for the disk, so that HTTP threads do not.
 *
 * Any thread submits; tasks run one after another, in order. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>

struct sv_worker;

struct sv_worker *sv_worker_start(struct sl_err *err) SL_MUST_CHECK;
/* Runs what was submitted, then ends the thread. NULL is fine. */
void sv_worker_stop(struct sv_worker *worker);
/* False: SV_WORKER_TASKS_MAX tasks wait already. */
bool sv_worker_submit(struct sv_worker *worker, void (*run)(void *context), void *context);
