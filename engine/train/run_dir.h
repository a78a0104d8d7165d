/* run_dir.h - the directory of a training run: its own, and of one process at a time. */
#pragma once

#include "checkpoint/manifest.h"

#include <stddef.h>

struct sl_run_dir {
    char path[SL_PATH_MAX], state[SL_PATH_MAX];
    size_t there; /* bytes of the path that were there before us */
    int lock;     /* a descriptor of the directory; 0: none */
};

/* Takes the directory, and makes it if missing. It must be new or empty, to begin a run in; to go
 * on it must hold one. The system lets go of what a killed process has taken. */
bool sl_run_dir_open(struct sl_run_dir *run, const char *path, bool resume, struct sl_err *err)
    SL_MUST_CHECK;
/* Lets go of it; what open made and is still empty is removed. A zeroed one is fine. */
void sl_run_dir_close(struct sl_run_dir *run);
