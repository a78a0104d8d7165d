/* metrics.h - counters, gauges and histograms, and Prometheus's text format.
 *
 * A series is one metric with one set of label values. It lives until its version of a model is
 * dropped, so code that counts often keeps the pointer as long as it uses the version. Counting is
 * lock-free, from any thread; finding a series takes a lock that readers share. */
#pragma once

#include "base/buffer.h"

#include <stdatomic.h>
#include <stdint.h>

struct sv_metrics;
struct sv_series;

enum sv_metric {

#define SV_METRIC(id, name, type, labels, help) SV_METRIC_##id,
#include "core/metrics.def"
#undef SV_METRIC
    SV_METRICS
};

struct sv_metrics *sv_metrics_create(struct sl_err *err) SL_MUST_CHECK;
void sv_metrics_destroy(struct sv_metrics *metrics); /* NULL is fine */

/* The series with these label values, in the order of the metric's row. If the metric has too many
 * series, or memory is short, the series others="all". Never NULL. */
struct sv_series *sv_metrics_series(struct sv_metrics *metrics, enum sv_metric metric,
                                    const char *const *values);

/* Adds 1 to a counter, also while its version is being dropped. */
void sv_metrics_count(struct sv_metrics *metrics, enum sv_metric metric, const char *const *values);
/* Removes all series with these values of the labels model and version. No pointer to one may be
 * in use. */
void sv_metrics_drop_version(struct sv_metrics *metrics, const char *model, const char *version);
/* Removes one series, if it exists. No pointer to it may be in use. */
void sv_metrics_drop(struct sv_metrics *metrics, enum sv_metric metric, const char *const *values);

void sv_metric_add(struct sv_series *series, double by);        /* counters */
void sv_metric_set(struct sv_series *series, double value);     /* gauges */
void sv_metric_observe(struct sv_series *series, double value); /* histograms */
double sv_metric_value(const struct sv_series *series);         /* counters and gauges */
uint64_t sv_metric_count(const struct sv_series *series);       /* histograms: how many values */

/* Sets a gauge. No version that it is of may be dropped meanwhile. */
static inline void sv_metrics_set(struct sv_metrics *metrics, enum sv_metric metric,
                                  const char *const *values, double value)
{
    sv_metric_set(sv_metrics_series(metrics, metric, values), value);
}

/* Updates the process_* series. */
void sv_metrics_sample_process(struct sv_metrics *metrics);
/* Writes the Prometheus text format, in the order of the rows. */
void sv_metrics_expose(struct sv_metrics *metrics, struct sl_buffer *out);
