/* synthetic_task.h - made data of the papers, a file of lines. */
#pragma once

#include "sluice/err.h"

/* copy, sort: for `sluice train --prompt-separator '|'`, a prompt, '|' and the prompt once more, or
 * its symbols in alphabetical order.
 * listops: labelled texts, the value of an expression, a tab and the expression (listops.h). */
struct synthetic_task {
    const char *name;
    int lines, seed;
    int length; /* of a prompt: symbols, of 28, with repetitions; of an expression: see listops.h */
};

/* The names, ending with NULL. */
extern const char *const synthetic_task_names[];

/* Writes a file. The same task gives the same file everywhere. */
bool synthetic_task_write(const struct synthetic_task *task, const char *path, struct sl_err *err)
    SL_MUST_CHECK;
