/* load_curve.h - latency against the rate of requests: its points, and two drawings of it. */
#pragma once

#include "base/buffer.h"
#include "bench/bench.h"

enum { LOAD_CURVE_POINTS_MAX = 64, LOAD_TICKS_MAX = 48 };

/* The quantiles of the curve. */
enum load_quantile { LOAD_P50, LOAD_P90, LOAD_P99, LOAD_QUANTILES };

extern const double load_quantiles[LOAD_QUANTILES];

struct load_point {
    double rate;                       /* requests due per second */
    double ended;                      /* requests that ended well, per second */
    double lost;                       /* the fraction that was dropped, rejected or failed */
    double latency_ms[LOAD_QUANTILES]; /* of those that ended well; 0: none did */
    bool keeps_up;                     /* false: the rate is more than the daemon serves */
};

struct load_curve {
    struct load_point points[LOAD_CURVE_POINTS_MAX]; /* by rising rate */
    int count;
};

/* What an open loop measured. The daemon keeps up if at most 1 % of the requests are lost, and if
 * in the second half of the time at least 95 % as many end as are due: else a queue grows, and
 * latencies only depend on the length of the test. */
struct load_point load_point_of(const struct bench_plan *plan, const struct bench_result *result);

/* The first point that does not keep up; -1: none. */
int load_curve_saturation(const struct load_curve *curve);

/* The median and the p99 over the rate, on a logarithmic axis, in characters. Nothing if no request
 * ended well. */
void load_curve_print(const struct load_curve *curve, struct sl_buffer *text);
/* The same with the p90, as a picture. */
void load_curve_svg(const struct load_curve *curve, const char *title, struct sl_buffer *svg);

/* The logarithmic axis of both: from one of 1, 2, 5, 10, ... to another. */
struct load_axis {
    double low, high;
};

bool load_axis_of(const struct load_curve *curve, struct load_axis *axis); /* false: nothing */
double load_axis_place(const struct load_axis *axis, double value);        /* 0: low; 1: high */
/* The ticks from low to high; returns how many there are. */
int load_axis_ticks(const struct load_axis *axis, double ticks[LOAD_TICKS_MAX]);
