/* progress.h - how fast a run goes and how long it will take. */
#pragma once

#include "train/trainer.h"

struct sl_progress {
    double begun, last;
    double seconds_per_step, tokens_per_step; /* smoothed over about the last 50 steps */
    int first_step;
};

struct sl_progress sl_progress_begin(int step);
/* Fills tokens_per_second, seconds and seconds_left. Called after every step. */
void sl_progress_update(struct sl_progress *p, struct sl_train_state *state);
