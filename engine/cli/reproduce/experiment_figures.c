/* experiment_figures.c - draws figures from the results of an experiment. */
#include "cli/reproduce/experiment_figures.h"

#include "cli/report/report_chart.h"
#include "cli/reproduce/experiment_results.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The series of a figure, and room for their points. */
struct drawing {
    struct chart_series series[EXPERIMENT_ROWS_MAX];
    int count;
    double *numbers, *free; /* and the part of them that is free */
};

static const json_t *curve_of(const struct experiment_run *run, int row)
{
    const struct experiment *e = run->experiment;
    return json_object_get(experiment_results_find(run->results, e->rows[row].name, e->seeds[0]),
                           "curve");
}

/* Room for points of all rows: x and y of each. */
static bool make_room(struct drawing *d, const struct experiment_run *run, struct sl_err *err)
{
    size_t points = EXPERIMENT_ROWS_MAX;
    for (int i = 0; i < run->experiment->row_count; i++)
        points += json_array_size(curve_of(run, i));
    d->free = d->numbers = calloc(2 * points, sizeof *d->numbers);
    return d->numbers || sl_fail(err, SL_NO_MEMORY, "no memory for a figure of %zu points", points);
}

/* A series for which up to so many points can be set; x, then y. */
static struct chart_series *add_series(struct drawing *d, const char *name, int most)
{
    struct chart_series *s = &d->series[d->count++];
    *s = (struct chart_series){.name = name, .x = d->free, .y = d->free + most};
    d->free += 2 * (ptrdiff_t)most;
    return s;
}

static void draw_evaluations(struct drawing *d, const struct experiment_run *run,
                             const struct experiment_figure *f)
{
    for (int i = 0; i < run->experiment->row_count; i++) {
        const json_t *curve = curve_of(run, i);
        const int most = (int)json_array_size(curve);
        if (most < 2)
            continue;
        double *x = d->free, *y = x + most;
        struct chart_series *s = add_series(d, run->experiment->rows[i].name, most);
        for (int p = 0; p < most; p++) {
            x[s->count] = sl_json_number(json_array_get(curve, (size_t)p), f->x);
            y[s->count] = sl_json_number(json_array_get(curve, (size_t)p), f->y);
            s->count += isfinite(x[s->count]) && isfinite(y[s->count]);
        }
    }
}

/* Ours of a row and metric. */
static double result_of(const json_t *results, const char *row, const char *metric)
{
    const json_t *rows = json_object_get(results, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *one = json_array_get(rows, i);
        if (strcmp(json_string_value(json_object_get(one, "row")), row) == 0 &&
            strcmp(json_string_value(json_object_get(one, "metric")), metric) == 0)
            return sl_json_number(one, "ours");
    }
    return (double)NAN;
}

/* Inserts a point where it belongs by its x. */
static void insert(double *x, double *y, int count, double new_x, double new_y)
{
    int at = count;
    for (; at > 0 && x[at - 1] > new_x; at--) {
        x[at] = x[at - 1];
        y[at] = y[at - 1];
    }
    x[at] = new_x;
    y[at] = new_y;
}

static void draw_rows(struct drawing *d, const struct experiment_run *run,
                      const struct experiment_figure *f)
{
    const struct experiment *e = run->experiment;
    double *x = d->free, *y = x + e->row_count;
    struct chart_series *s = add_series(d, f->y, e->row_count);
    for (int i = 0; i < e->row_count; i++) {
        const double at = result_of(run->results, e->rows[i].name, f->x);
        const double value = result_of(run->results, e->rows[i].name, f->y);
        if (isfinite(at) && isfinite(value))
            insert(x, y, s->count++, at, value);
    }
}

static bool write_figure(const struct experiment_run *run, const struct experiment_figure *f,
                         struct sl_err *err)
{
    struct drawing d = {0};
    char suffix[SL_PATH_MAX], path[SL_PATH_MAX];
    struct sl_buffer out = {0};
    if (!make_room(&d, run, err))
        return false;
    (f->of_rows ? draw_rows : draw_evaluations)(&d, run, f);
    const struct chart chart = {.title = f->title,
                                .x_name = f->x,
                                .series = d.series,
                                .series_count = d.count,
                                .percent = strstr(f->y, "accuracy"),
                                .dots = f->of_rows};
    chart_write_file(&out, &chart);
    (void)snprintf(suffix, sizeof suffix, "-%s.svg", f->name);
    bool ok = !out.failed || sl_fail(err, SL_NO_MEMORY, "no memory for the figure '%s'", f->name);
    if (ok && out.bytes > 0)
        ok = experiment_results_path(run, suffix, path, err) &&
             sl_file_replace(path, &(struct sl_slice){out.data, out.bytes}, 1, err);
    sl_buffer_release(&out);
    free(d.numbers);
    return ok;
}

bool experiment_figures_write(const struct experiment_run *run, struct sl_err *err)
{
    const struct experiment *e = run->experiment;
    for (const struct experiment_figure *f = e->figures; f < e->figures + e->figure_count; f++)
        if (!write_figure(run, f, err))
            return false;
    return true;
}
