/* report_adaptation.c - key figures, two charts and a table. */
#include "cli/report/report_adaptation.h"

#include "cli/report/report_chart.h"
#include "cli/report/report_html.h"
#include "cli/report/report_sections.h"

#include <assert.h>

static double times_as_fast(const struct report_adaptation *r, int limit)
{
    return r->likeness[0].seconds / r->likeness[limit].seconds;
}

static int default_limit(const struct report_adaptation *r)
{
    static const float standard = 0.5f;
    for (int i = 0; i < r->count; i++)
        if (r->limits[i] == standard)
            return i;
    return 0;
}

static const struct sl_operating_point *point_at(const struct report_adaptation *r, int limit)
{
    for (int i = 0; i < r->points_count; i++)
        if (r->points[i].threshold == (double)r->limits[limit])
            return &r->points[i];
    return NULL;
}

static void write_figures(struct sl_buffer *out, const struct report_adaptation *r)
{
    const int at = default_limit(r);
    const struct sl_likeness *q = &r->likeness[at];
    const struct sl_text_distillation *d = &r->adaptation->d;
    sl_buffer_append_string(out, "<div class=\"tiles\">\n");
    html_tile(out, "skipped", "of the token-layer operations", "%.1f %%", 100.0 * q->skipped);
    html_tile(out, "similarity", "mean of the texts held out", "%.4f", q->similarity);
    html_tile(out, "times as fast", "one text at a time", "%.2f", times_as_fast(r, at));
    html_tile(out, "texts", "held out, of all", "%d of %d", d->options.set->count - d->trained,
              d->options.set->count);
    html_tile(out, "steps", "of training", "%d", d->options.steps);
    sl_buffer_append_string(out, "</div>\n");
}

static void write_chart(struct sl_buffer *out, const struct report_adaptation *r, const char *title,
                        const char *x_name, const double *x)
{
    double mean[ADAPTATION_LIMITS_MAX], lowest[ADAPTATION_LIMITS_MAX];
    for (int i = 0; i < r->count; i++) {
        mean[i] = r->likeness[i].similarity;
        lowest[i] = r->likeness[i].lowest;
    }
    const struct chart_series series[] = {
        {.name = "mean", .x = x, .y = mean, .count = r->count},
        {.name = "5 % of the texts are below", .x = x, .y = lowest, .count = r->count}};
    const struct chart chart = {
        .title = title, .x_name = x_name, .series = series, .series_count = 2, .dots = true};
    chart_write(out, &chart);
}

static void write_charts(struct sl_buffer *out, const struct report_adaptation *r)
{
    double skipped[ADAPTATION_LIMITS_MAX], time[ADAPTATION_LIMITS_MAX];
    for (int i = 0; i < r->count; i++) {
        skipped[i] = 100.0 * r->likeness[i].skipped;
        time[i] = 100.0 / times_as_fast(r, i);
    }
    html_section(out, "Similarity to the model before");
    if (!(r->likeness[r->count - 1].skipped > r->likeness[0].skipped))
        sl_buffer_append_string(out, "<p>All limits skip the same.</p>\n");
    write_chart(out, r, "By what is skipped", "token-layer operations that are skipped, %",
                skipped);
    write_chart(out, r, "By time", "time of a text, % of that with all gates open", time);
    html_section_end(out);
}

static void write_table(struct sl_buffer *out, const struct report_adaptation *r)
{
    static const char *const columns[] = {"gate_limit",    "skipped", "similarity", "5 % below",
                                          "times as fast", "budget",  NULL};
    html_section(out, "Limits, and the operating points among them");
    html_table(out, columns, "111111");
    for (int i = 0; i < r->count; i++) {
        const struct sl_likeness *q = &r->likeness[i];
        const struct sl_operating_point *point = point_at(r, i);
        html_row(out);
        html_number(out, "%.2f", (double)r->limits[i]);
        html_number(out, "%.1f %%", 100.0 * q->skipped);
        html_number(out, "%.4f", q->similarity);
        html_number(out, "%.4f", q->lowest);
        html_number(out, "%.2f", times_as_fast(r, i));
        if (point)
            html_number(out, "%.2f", point->budget);
        else
            html_cell(out, "");
    }
    html_table_end(out);
    sl_buffer_append_string(out, "<p>A limit with a budget is an operating point, which a request "
                                 "can choose.</p>\n");
    html_section_end(out);
}

bool report_adaptation_write(const struct report_adaptation *r, const char *directory,
                             struct sl_err *err)
{
    struct sl_buffer page = {0};
    assert(r->count <= ADAPTATION_LIMITS_MAX);
    report_begin(&page, report_title(NULL, r->output), "adapted on", r->texts);
    write_figures(&page, r);
    write_charts(&page, r);
    write_table(&page, r);
    html_end(&page);
    const bool ok = html_write(&page, directory, err);
    sl_buffer_release(&page);
    return ok;
}
