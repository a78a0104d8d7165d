/* fine_tuning_progress.c - steps, and the time that is left. */
#include "cli/training/fine_tuning_progress.h"

#include "base/clock.h"
#include "cli/command.h"

#include <stdio.h>

static void print(const struct fine_tuning_progress *p, int step, int steps, double seconds)
{
    const double left = seconds / step * (steps - step);
    struct sl_buffer line = {0};
    if (!p->json) {
        printf("\rfine-tuning the encoder: %d %%, %.0f s left\033[K", 100 * step / steps, left);
    } else {
        sl_json_add(&(struct sl_json_writer){.out = &line},
                    "{'fine_tuning':{'step':%d,'steps':%d,'seconds':%f,'seconds_left':%f}}", step,
                    steps, seconds, left);
        command_print_json(&line);
    }
    (void)fflush(stdout);
}

void fine_tuning_progress_show(void *progress, int step, int steps)
{
    struct fine_tuning_progress *p = progress;
    const double interval = p->json ? 10.0 : 0.25, now = sl_now_seconds();
    if (p->begun <= 0.0 || step < p->step) {
        p->begun = p->shown = now;
        p->step = 0;
    }
    if (step < 1 || (now - p->shown < interval && (p->json || step < steps)))
        return;
    print(p, step, steps, now - p->begun);
    p->shown = now;
    p->step = step;
}

void fine_tuning_progress_end(struct fine_tuning_progress *p)
{
    if (p->begun > 0.0 && !p->json)
        printf("\r\033[K");
    p->begun = p->shown = 0.0;
    p->step = 0;
}
