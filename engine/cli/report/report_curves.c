/* report_curves.c - loss and accuracy by step, from the log of a training. */
#include "cli/report/report_evaluation.h"

#include "base/dynarray.h"
#include "cli/report/report_chart.h"
#include "cli/report/report_html.h"
#include "cli/training/event_log.h"
#include "formats/json_io.h"
#include "sluice/err.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_DRAWN = 400 };

enum column { TRAIN_LOSS, VALIDATION_LOSS, TRAIN_ACCURACY, VALIDATION_ACCURACY, COLUMNS };

static const char *const keys[COLUMNS] = {"train_loss", "validation_loss", "train_accuracy",
                                          "validation_accuracy"};

struct point {
    double x, y[COLUMNS];
};

struct curves {
    struct point *points;
    int count;
    size_t room;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* A run that continues from an earlier state repeats the steps since. */
static void go_back_to(struct curves *c, double step)
{
    while (c->count > 0 && c->points[c->count - 1].x > step)
        c->count--;
}

static bool add_event(void *context, const json_t *event, struct sl_err *err)
{
    struct curves *c = context;
    const char *name = json_string_value(json_object_get(event, "event"));
    const double step = sl_json_number(event, "step");
    if (!name || !isfinite(step))
        return true;
    if (strcmp(name, "started") == 0)
        go_back_to(c, step);
    if (strcmp(name, "step") != 0 && strcmp(name, "evaluated") != 0)
        return true;
    if (!sl_dynarray_reserve(&c->points, &c->room, (size_t)c->count + 1, sizeof *c->points, err))
        return false;
    struct point *p = &c->points[c->count++];
    p->x = step;
    for (int i = 0; i < COLUMNS; i++)
        p->y[i] = sl_json_number(event, keys[i]);
    return true;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* The points of a column, thinned out; x and y have room for all. */
static int take(const struct curves *c, enum column column, double *x, double *y)
{
    int all = 0, count = 0;
    for (int i = 0; i < c->count; i++)
        all += isfinite(c->points[i].y[column]);
    const int every = 1 + all / POINTS_DRAWN;
    for (int i = 0, seen = 0; i < c->count; i++) {
        if (!isfinite(c->points[i].y[column]) || (seen++ % every != 0 && seen != all))
            continue;
        x[count] = c->points[i].x;
        y[count++] = c->points[i].y[column];
    }
    return count;
}

/* numbers: room for four of each point. */
static void draw(struct sl_buffer *out, const struct curves *c, enum column first, double *numbers)
{
    struct chart_series series[2] = {{.name = "training"}, {.name = "validation"}};
    for (int i = 0; i < 2; i++) {
        double *x = numbers + 2 * (size_t)i * (size_t)c->count, *y = x + c->count;
        series[i].count = take(c, first + (enum column)i, x, y);
        series[i].x = x;
        series[i].y = y;
    }
    const bool loss = first == TRAIN_LOSS;
    const struct chart chart = {.title = loss ? "Loss by step [nats]" : "Accuracy by step",
                                .x_name = "step",
                                .series = series,
                                .series_count = 2,
                                .percent = !loss};
    chart_write(out, &chart);
}

bool report_training_curves(struct sl_buffer *out, const char *log, struct sl_err *err)
{
    struct curves c = {0};
    bool ok = event_log_read(log, add_event, &c, err);
    double *numbers = ok ? calloc(4 * ((size_t)c.count + 1), sizeof *numbers) : NULL;
    ok = ok && (numbers || sl_fail(err, SL_NO_MEMORY, "no memory for %d points", c.count));
    if (ok) {
        html_section(out, "Training");
        draw(out, &c, TRAIN_LOSS, numbers);
        draw(out, &c, TRAIN_ACCURACY, numbers);
        html_section_end(out);
    }
    free(numbers);
    free(c.points);
    return ok;
}
