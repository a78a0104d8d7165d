/* load_curve.c - latency against the rate of requests, and its drawing in characters. */
#include "bench/load_curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const double load_quantiles[LOAD_QUANTILES] =
    {[LOAD_P50] = 0.5, [LOAD_P90] = 0.9, [LOAD_P99] = 0.99};

static const double lost_max = 0.01, ended_min = 0.95;

struct load_point load_point_of(const struct bench_plan *plan, const struct bench_result *result)
{
    const struct bench_open_loop *open = &result->open;
    struct load_point point = {.rate = plan->rate, .ended = open->ended_per_second};
    int64_t lost = open->dropped + result->failed;
    point.lost = open->due > 0 ? (double)lost / (double)open->due : 0;
    for (int q = 0; q < LOAD_QUANTILES; q++)
        point.latency_ms[q] = 1e-6 * histogram_quantile(&result->latency, load_quantiles[q]);
    /* One request more or less says nothing. */
    point.keeps_up = point.lost <= lost_max &&
                     (double)(open->late_ended + 1) >= ended_min * (double)open->late_due;
    return point;
}

int load_curve_saturation(const struct load_curve *curve)
{
    for (int i = 0; i < curve->count; i++)
        if (!curve->points[i].keeps_up)
            return i;
    return -1;
}

/* ---- the axis -------------------------------------------------------------------------------- */

/* The largest of 1, 2, 5, 10, ... and their tenths that is not above the value. */
static double tick_below(double value)
{
    double decade = pow(10, floor(log10(value)));
    double first = value / decade;
    return decade * (first >= 5 ? 5 : first >= 2 ? 2 : 1);
}

static double tick_after(double tick)
{
    return tick_below(tick * 2.6);
}

bool load_axis_of(const struct load_curve *curve, struct load_axis *axis)
{
    double min = (double)INFINITY, max = 0;
    for (int i = 0; i < curve->count; i++)
        for (int q = 0; q < LOAD_QUANTILES; q++) {
            double value = curve->points[i].latency_ms[q];
            min = value > 0 && value < min ? value : min;
            max = value > max ? value : max;
        }
    if (max <= 0)
        return false;
    axis->low = tick_below(min);
    axis->high = tick_after(tick_below(max));
    return true;
}

double load_axis_place(const struct load_axis *axis, double value)
{
    return log(value / axis->low) / log(axis->high / axis->low);
}

int load_axis_ticks(const struct load_axis *axis, double ticks[LOAD_TICKS_MAX])
{
    int count = 0;
    ticks[count++] = axis->low;
    while (count < LOAD_TICKS_MAX && ticks[count - 1] < axis->high * 0.99) {
        ticks[count] = tick_after(ticks[count - 1]);
        count++;
    }
    return count;
}

/* ---- in characters --------------------------------------------------------------------------- */

enum { ROWS = 12, COLUMNS = 64, LABEL = 8 };

struct grid {
    char cell[ROWS + 1][COLUMNS + 1]; /* from the top; NUL ends each */
};

static int column_of(const struct load_curve *curve, double rate)
{
    return (int)lround(rate / curve->points[curve->count - 1].rate * (COLUMNS - 8));
}

static int row_of(const struct load_axis *axis, double value)
{
    return ROWS - (int)lround(load_axis_place(axis, value) * ROWS);
}

static void mark(struct grid *grid, const struct load_curve *curve, const struct load_axis *axis)
{
    memset(grid, ' ', sizeof *grid);
    for (int r = 0; r <= ROWS; r++)
        grid->cell[r][COLUMNS] = '\0';
    for (int i = 0; i < curve->count; i++) {
        const struct load_point *p = &curve->points[i];
        int column = column_of(curve, p->rate);
        if (p->latency_ms[LOAD_P50] <= 0)
            continue;
        grid->cell[row_of(axis, p->latency_ms[LOAD_P99])][column] = 'x';
        grid->cell[row_of(axis, p->latency_ms[LOAD_P50])][column] = 'o';
    }
}

/* The label of a row: the tick that is nearest to it, if there is one. */
static void print_label(struct sl_buffer *text, const struct load_axis *axis, int row)
{
    double ticks[LOAD_TICKS_MAX];
    int count = load_axis_ticks(axis, ticks);
    for (int i = 0; i < count; i++)
        if (row_of(axis, ticks[i]) == row) {
            sl_buffer_printf(text, "%*g", LABEL, ticks[i]);
            return;
        }
    sl_buffer_printf(text, "%*s", LABEL, "");
}

/* The rates below the marks, except those for which there is no room. */
static void print_rates(struct sl_buffer *text, const struct load_curve *curve)
{
    char line[COLUMNS + 32] = "";
    size_t used = 0;
    for (int i = curve->count - 1; i >= 0; i--) {
        char label[16];
        size_t at = (size_t)column_of(curve, curve->points[i].rate);
        size_t length = (size_t)snprintf(label, sizeof label, "%g", curve->points[i].rate);
        if (used > 0 && at + length + 1 > used)
            continue;
        if (used == 0)
            memset(line, ' ', at + length);
        memcpy(line + at, label, length);
        used = at > 0 ? at : 1;
    }
    sl_buffer_printf(text, "%*s  %s  requests/s\n", LABEL, "", line);
}

void load_curve_print(const struct load_curve *curve, struct sl_buffer *text)
{
    struct load_axis axis;
    struct grid grid;
    if (!load_axis_of(curve, &axis))
        return;
    mark(&grid, curve, &axis);
    sl_buffer_append_string(text, "latency, ms: o median, x p99\n");
    for (int r = 0; r <= ROWS; r++) {
        size_t end = COLUMNS;
        while (end > 0 && grid.cell[r][end - 1] == ' ')
            end--;
        print_label(text, &axis, r);
        sl_buffer_printf(text, end > 0 ? " | %.*s\n" : " |\n", (int)end, grid.cell[r]);
    }
    print_rates(text, curve);
}
