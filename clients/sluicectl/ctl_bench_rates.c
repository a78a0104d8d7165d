/* ctl_bench_rates.c - an open loop at one rate after another: latency against rate. */
#include "base/file.h"
#include "bench/load_curve.h"
#include "sluicectl/ctl_bench_run.h"
#include "sluicectl/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_rate(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Reads --rate: numbers separated by commas. Sorts them. */
static bool read_rates(const char *text, double *rates, int *count, struct client_error *failure)
{
    static const double rate_min = 0.01, rate_max = 1e6;
    for (*count = 0;; text++) {
        char *end;
        double rate = strtod(text, &end);
        bool is_number = end > text && (*end == ',' || *end == '\0');
        if (!is_number || !(rate >= rate_min && rate <= rate_max))
            return client_error_set(failure, EXIT_BAD_INPUT,
                                    "--rate: '%.*s' is not a rate; give requests per second, from "
                                    "%g to %g, several separated by commas",
                                    (int)strcspn(text, ","), text, rate_min, rate_max);
        if (*count == LOAD_CURVE_POINTS_MAX)
            return client_error_set(failure, EXIT_BAD_INPUT, "--rate: more than %d rates",
                                    LOAD_CURVE_POINTS_MAX);
        rates[(*count)++] = rate;
        text = end;
        if (*text == '\0')
            break;
    }
    qsort(rates, (size_t)*count, sizeof *rates, by_rate);
    return true;
}

/* More than the daemon serves may be due, so rejections are results. */
static bool is_failure(const struct bench_result *r)
{
    return r->warm_up_failed > 0 || r->failed > r->rejected;
}

/* Runs the plan at each rate and prints the results as they come. The failure is the first rate's
 * that has one; after a failed warm-up nothing more is measured. */
static bool run_rates(struct bench_plan plan, const double *rates, struct load_curve *curve,
                      const struct ctl_bench_report *report, struct client_error *failure)
{
    struct bench_result *result = malloc(sizeof *result);
    bool good = true, goes_on = result || client_error_no_memory(failure);
    int count = curve->count;
    double seconds = plan.seconds;
    curve->count = 0;
    if (goes_on && !report->json)
        print_load_head(&plan, report->model);
    for (int i = 0; i < count && goes_on; i++) {
        struct client_error *first = good ? failure : &(struct client_error){0};
        plan.rate = rates[i];
        plan.seconds = fmin(seconds, (double)plan.requests / rates[i]);
        goes_on = bench_run(&plan, result, first);
        if (goes_on && is_failure(result))
            good = ctl_bench_explain(&plan, result, first) && good;
        goes_on = goes_on && result->warm_up_failed == 0;
        if (!goes_on)
            break;
        curve->points[curve->count++] = load_point_of(&plan, result);
        if (report->json)
            print_bench(&plan, result, report->model, true);
        else
            print_load_row(&plan, result);
    }
    free(result);
    return good && goes_on;
}

static bool write_svg(const struct load_curve *curve, const struct ctl_bench_report *report,
                      struct client_error *failure)
{
    struct sl_buffer svg = {0};
    struct sl_err err = {0};
    char title[256];
    (void)snprintf(title, sizeof title, "%s: latency against rate", report->model);
    load_curve_svg(curve, title, &svg);
    if (svg.bytes == 0 && !svg.failed)
        return client_error_set(failure, EXIT_FAILED,
                                "no request ended well, so there is nothing to draw to '%s'",
                                report->svg);
    const struct sl_slice slice = {svg.data, svg.bytes};
    bool good = sl_buffer_check(&svg, &err) && sl_file_replace(report->svg, &slice, 1, &err);
    sl_buffer_release(&svg);
    return good || client_error_wrap(failure, EXIT_FAILED, &err);
}

bool ctl_bench_rates(const struct bench_plan *plan, const struct ctl_bench_report *report,
                     const char *list, struct client_error *failure)
{
    double rates[LOAD_CURVE_POINTS_MAX];
    struct load_curve curve = {0};
    if (!read_rates(list, rates, &curve.count, failure))
        return false;
    bool good = run_rates(*plan, rates, &curve, report, failure);
    struct client_error later = {0};
    bool shown = report->json || curve.count == 0 || print_load_curve(&curve, &later);
    bool drawn = !report->svg || curve.count == 0 || write_svg(&curve, report, &later);
    if (good && !(shown && drawn))
        *failure = later;
    return good && shown && drawn;
}
