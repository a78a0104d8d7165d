/* run_dir.h - the directory of a training run, locked for one process at a time. */
#pragma once

#include "checkpoint/manifest.h"

#include <stddef.h>

struct sl_run_dir {
    char path[SL_PATH_MAX], state[SL_PATH_MAX];
    size_t there; /* length of the part of the path that existed before */
    int lock;     /* descriptor of the directory; 0: none */
};

/* Locks the directory; creates it if missing. To start a run it must be new or empty; to resume it
 * must hold a run. The lock of a killed process is released by the system. */
bool sl_run_dir_open(struct sl_run_dir *run, const char *path, bool resume, struct sl_err *err)
    SL_MUST_CHECK;
/* Unlocks it; removes directories that open created and that are still empty. A zeroed one is
 * fine. */
void sl_run_dir_close(struct sl_run_dir *run);
