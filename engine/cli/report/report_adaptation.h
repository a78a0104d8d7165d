/* report_adaptation.h - the HTML page of `sluice adapt`: how similar a model stays to what it was,
 * by what it skips and by the time that it takes. */
#pragma once

#include "sluice/model.h"
#include "tuning/adaptation.h"

enum { ADAPTATION_LIMITS_MAX = 8 };

struct report_adaptation {
    const struct sl_adaptation *adaptation;
    const char *texts, *output; /* paths */
    /* Of each limit, the first of which computes everything. */
    const float *limits;
    const struct sl_likeness *likeness;
    int count;
    /* Those that became operating points. */
    const struct sl_operating_point *points;
    int points_count;
};

/* Writes index.html to the directory. */
bool report_adaptation_write(const struct report_adaptation *report, const char *directory,
                             struct sl_err *err) SL_MUST_CHECK;
