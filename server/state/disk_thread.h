/* disk_thread.h - one thread for work that waits for the disk, so that HTTP threads do not.
 *
 * Any thread submits; tasks run one after another, in order. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>

struct sv_disk_thread;

struct sv_disk_thread *sv_disk_thread_start(struct sl_err *err) SL_MUST_CHECK;
/* Runs what was submitted, then ends the thread. NULL is fine. */
void sv_disk_thread_stop(struct sv_disk_thread *worker);
/* False: SV_WORKER_TASKS_MAX tasks wait already. */
bool sv_disk_thread_submit(struct sv_disk_thread *worker, void (*run)(void *context),
                           void *context);
