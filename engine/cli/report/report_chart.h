/* report_chart.h - charts of a report, as inline SVG. */
#pragma once

#include "base/buffer.h"
#include "cli/evaluation/label_predictions.h"

struct chart_series {
    const char *name;
    const double *x, *y; /* y: NAN leaves a gap out */
    int count;
};

struct chart {
    const char *title, *x_name; /* constants, but in a file */
    const struct chart_series *series;
    int series_count;
    bool percent; /* y are fractions */
    bool doubles; /* x is logarithmic, with a tick at every point of the first series */
    bool dots;    /* mark the points */
};

/* Nothing if no series has two points. */
void chart_write(struct sl_buffer *out, const struct chart *chart);

/* The same as an SVG file, with the title and the names of the series, which may be any text. Of
 * more than 8 series the colours repeat. */
void chart_write_file(struct sl_buffer *out, const struct chart *chart);

/* The reliability diagram: how often predictions of a score are right. */
void chart_reliability(struct sl_buffer *out, const struct label_predictions *predictions);
