/* progress.c - how fast a run goes and how long it will take. */
#include "train/progress.h"

#include "base/clock.h"

struct sl_progress sl_progress_begin(int step)
{
    double begun = sl_seconds();
    return (struct sl_progress){.begun = begun, .last = begun, .first_step = step};
}

void sl_progress_update(struct sl_progress *p, struct sl_train_state *state)
{
    static const double share = 0.02; /* of the newest step in the mean */
    double at = sl_seconds(), latest = at - p->last;
    p->last = at;
    bool first = state->step == p->first_step + 1;
    double tokens = (double)state->tokens;
    p->seconds_per_step += first ? latest : share * (latest - p->seconds_per_step);
    p->tokens_per_step += first ? tokens : share * (tokens - p->tokens_per_step);
    state->seconds = at - p->begun;
    state->tokens_per_second = p->tokens_per_step / p->seconds_per_step;
    state->seconds_left = (state->steps - state->step) * p->seconds_per_step;
}
