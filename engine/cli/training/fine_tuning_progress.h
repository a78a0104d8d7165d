/* fine_tuning_progress.h - how far the fine-tuning of an encoder is: a line that is replaced on a
 * terminal, or lines of JSON. */
#pragma once

#include <stdbool.h>

struct fine_tuning_progress {
    bool json;
    double begun, shown; /* when the present fit was, and the last line; 0: not yet */
    int step;            /* of the last line */
};

/* The `tell` of a sl_trial_watch, whose context is a struct fine_tuning_progress. */
void fine_tuning_progress_show(void *progress, int step, int steps);
/* Removes the line from the terminal. The next fit begins anew. */
void fine_tuning_progress_end(struct fine_tuning_progress *progress);
