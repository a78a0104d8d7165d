/* synthetic_task.h - made data of the papers: lines that are a prompt, '|' and a completion, for
 * `sluice train --prompt-separator`. */
#pragma once

#include "sluice/err.h"

struct synthetic_task {
    const char *name; /* copy: the prompt once more; sort: its symbols in alphabetical order */
    int lines, length, seed; /* length: symbols of a prompt, of 28, with repetitions */
};

/* The names, ending with NULL. */
extern const char *const synthetic_task_names[];

/* Writes a file. The same task gives the same file everywhere. */
bool synthetic_task_write(const struct synthetic_task *task, const char *path, struct sl_err *err)
    SL_MUST_CHECK;
