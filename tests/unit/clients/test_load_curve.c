/* test_load_curve.c - an open loop's times, and latency against rate: when a daemon keeps up, and
 * both drawings. */
#include "bench/bench_arrivals.h"
#include "bench/load_curve.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

enum { SECOND = 1000000000 };

Test(load_curve, even_arrivals_do_not_drift)
{
    struct bench_arrivals a;
    bench_arrivals_begin(&a, 3, false, 7);
    cr_assert_eq(a.due_ns, 7);
    for (int i = 0; i < 3000; i++)
        bench_arrivals_advance(&a);
    cr_assert_eq(a.due_ns, 7 + 1000L * SECOND);
}

Test(load_curve, poisson_arrivals_have_the_mean_rate_and_random_gaps)
{
    enum { COUNT = 20000 };

    struct bench_arrivals a;
    double long_gaps = 0;
    bench_arrivals_begin(&a, 1000, true, 0);
    int64_t begun = a.due_ns;
    cr_assert_geq(begun, 0);
    for (int i = 0; i < COUNT; i++) {
        int64_t before = a.due_ns;
        bench_arrivals_advance(&a);
        cr_assert_geq(a.due_ns, before);
        long_gaps += a.due_ns - before > SECOND / 1000;
    }
    cr_assert_float_eq((double)(a.due_ns - begun) / SECOND, COUNT / 1000.0, 0.6);
    cr_assert_float_eq(long_gaps / COUNT, exp(-1), 0.02, "a gap is longer than the mean in 1 / e");
}

/* What an open loop of two seconds might have measured. */
static struct load_point point_of(struct bench_open_loop open, int64_t failed)
{
    const struct bench_plan plan = {.rate = 500, .seconds = 2};
    struct bench_result *r = calloc(1, sizeof *r);
    cr_assert(r);
    r->open = open;
    r->failed = failed;
    for (int i = 1; i <= 100; i++)
        histogram_add(&r->latency, (int64_t)i * 1000000);
    struct load_point point = load_point_of(&plan, r);
    free(r);
    return point;
}

Test(load_curve, a_daemon_keeps_up_if_it_loses_little_and_no_queue_grows)
{
    const struct bench_open_loop good = {
        .due = 1000, .late_due = 500, .late_ended = 480, .ended_per_second = 480};
    struct bench_open_loop changed = good;
    struct load_point p = point_of(good, 10);
    cr_assert(p.keeps_up);
    cr_assert_float_eq(p.lost, 0.01, 1e-9);
    cr_assert_float_eq(p.latency_ms[LOAD_P50], 51, 1.5);
    cr_assert_float_eq(p.latency_ms[LOAD_P99], 100, 1.5);
    cr_assert_not(point_of(good, 11).keeps_up, "1.1 %% failed");
    changed.dropped = 11;
    cr_assert_not(point_of(changed, 0).keeps_up, "1.1 %% were dropped");
    changed.dropped = 0;
    changed.late_ended = 470;
    cr_assert_not(point_of(changed, 0).keeps_up, "94 %% of what is due ends");
}

static struct load_curve sample(void)
{
    static const struct load_point points[] = {{100, 100, 0, {0.9, 1.4, 3}, true},
                                               {200, 200, 0, {1.1, 2, 4.9}, true},
                                               {400, 310, 0.2, {210, 400, 420}, false},
                                               {800, 0, 1, {0}, false}};
    struct load_curve curve = {.count = 4};
    memcpy(curve.points, points, sizeof points);
    return curve;
}

Test(load_curve, names_the_first_rate_that_is_too_much)
{
    struct load_curve curve = sample();
    cr_assert_eq(load_curve_saturation(&curve), 2);
    curve.count = 2;
    cr_assert_eq(load_curve_saturation(&curve), -1);
}

Test(load_curve, ticks_are_1_2_5)
{
    struct load_curve curve = sample();
    struct load_axis axis;
    cr_assert(load_axis_of(&curve, &axis));
    cr_assert_float_eq(axis.low, 0.5, 1e-9);
    cr_assert_float_eq(axis.high, 500, 1e-6);
    static const double ticks[] = {0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500};
    double got[LOAD_TICKS_MAX];
    cr_assert_eq(load_axis_ticks(&axis, got), sizeof ticks / sizeof ticks[0]);
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++)
        cr_assert_float_eq(got[i], ticks[i], ticks[i] * 1e-9);
    curve = (struct load_curve){.count = 1};
    cr_assert_not(load_axis_of(&curve, &axis), "no request ended well");
}

Test(load_curve, is_drawn_in_characters)
{
    struct load_curve curve = sample();
    struct sl_buffer text = {0};
    load_curve_print(&curve, &text);
    cr_assert_not(text.failed);
    int medians = 0, highs = 0, lines = 0;
    for (const char *at = strchr(text.data, '\n'); *at; at++) {
        lines += *at == '\n';
        medians += *at == 'o';
        highs += *at == 'x';
    }
    cr_assert_eq(medians, 3, "%s", text.data);
    cr_assert_eq(highs, 3, "%s", text.data);
    cr_assert_eq(lines, 15, "%s", text.data);
    cr_assert(strstr(text.data, "100"), "%s", text.data);
    cr_assert(strstr(text.data, "800  requests/s\n"), "%s", text.data);
    sl_buffer_release(&text);
}

Test(load_curve, is_drawn_as_a_picture)
{
    struct load_curve curve = sample();
    struct sl_buffer svg = {0};
    load_curve_svg(&curve, "<m> & n", &svg);
    cr_assert_not(svg.failed);
    cr_assert_eq(strncmp(svg.data, "<svg ", 5), 0);
    cr_assert(strstr(svg.data, "&lt;m> &amp; n"));
    int hollow = 0, circles = 0;
    for (const char *at = svg.data; (at = strstr(at, "<circle ")); at++) {
        circles++;
        hollow +=
            strstr(at, "fill=\"#ffffff\"") && strstr(at, "fill=\"#ffffff\"") < strchr(at, '>');
    }
    cr_assert_eq(circles, 3 + 9, "a legend, and three quantiles of three rates");
    cr_assert_eq(hollow, 3, "the rate that is too much");
    cr_assert_not(strstr(svg.data, "nan"));
    sl_buffer_release(&svg);
}
