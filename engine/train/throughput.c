/* throughput.c - how fast a training runs and how long it will take. */
#include "train/throughput.h"

#include "base/clock.h"

#include <stdbool.h>

struct sl_throughput sl_throughput_begin(int step)
{
    double now = sl_now_seconds();
    return (struct sl_throughput){.started = now, .last = now, .first_step = step};
}

void sl_throughput_update(struct sl_throughput *p, int step, int steps, int64_t tokens)
{
    static const double weight = 0.02; /* of the newest step in the moving average */
    double now = sl_now_seconds(), latest = now - p->last;
    p->last = now;
    bool first = step == p->first_step + 1;
    p->seconds_per_step += first ? latest : weight * (latest - p->seconds_per_step);
    p->tokens_per_step += first ? (double)tokens : weight * ((double)tokens - p->tokens_per_step);
    p->seconds = now - p->started;
    p->tokens_per_second = p->tokens_per_step / p->seconds_per_step;
    p->seconds_left = (steps - step) * p->seconds_per_step;
}
