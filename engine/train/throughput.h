/* throughput.h - how fast a training runs and how long it will take. */
#pragma once

#include <stdint.h>

struct sl_throughput {
    double seconds, seconds_left, tokens_per_second; /* the results; seconds: since it began */
    double started, last;
    double seconds_per_step, tokens_per_step; /* smoothed over about the last 50 steps */
    int first_step;
};

struct sl_throughput sl_throughput_begin(int step);
/* Updates the results. Called after every step; tokens: of its batch. */
void sl_throughput_update(struct sl_throughput *p, int step, int steps, int64_t tokens);
