/* load_curve_svg.c - latency against the rate of requests, as a picture. */
#include "bench/load_curve.h"

#include <stdio.h>

enum { WIDTH = 760, HEIGHT = 400, LEFT = 72, RIGHT = 24, TOP = 56, BOTTOM = 56 };

static const struct {
    const char *name, *colour;
} lines[LOAD_QUANTILES] = {[LOAD_P50] = {"median", "#1c6ab5"},
                           [LOAD_P90] = {"p90", "#2f7d32"},
                           [LOAD_P99] = {"p99", "#b5361c"}};

struct frame {
    struct load_axis axis;
    double rate_max;
};

static double across(const struct frame *f, double rate)
{
    return LEFT + rate / f->rate_max * (WIDTH - LEFT - RIGHT);
}

static double down(const struct frame *f, double latency_ms)
{
    return HEIGHT - BOTTOM - load_axis_place(&f->axis, latency_ms) * (HEIGHT - TOP - BOTTOM);
}

static void escape(struct sl_buffer *svg, const char *text)
{
    for (; *text; text++)
        if (*text == '&' || *text == '<')
            sl_buffer_append_string(svg, *text == '&' ? "&amp;" : "&lt;");
        else
            sl_buffer_append(svg, text, 1);
}

static void draw_text(struct sl_buffer *svg, double x, double y, const char *anchor,
                      const char *words)
{
    sl_buffer_printf(svg, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">", x, y, anchor);
    escape(svg, words);
    sl_buffer_append_string(svg, "</text>\n");
}

static void draw_axes(struct sl_buffer *svg, const struct frame *f, const struct load_curve *curve)
{
    char label[32];
    double labelled = -1e9;
    double ticks[LOAD_TICKS_MAX];
    int tick_count = load_axis_ticks(&f->axis, ticks);
    for (int i = 0; i < tick_count; i++) {
        double y = down(f, ticks[i]);
        sl_buffer_printf(svg, "<path d=\"M%d %.0fH%d\" stroke=\"#dddddd\"/>\n", LEFT, y,
                         WIDTH - RIGHT);
        (void)snprintf(label, sizeof label, "%g", ticks[i]);
        draw_text(svg, LEFT - 8, y + 4, "end", label);
    }
    for (int i = 0; i < curve->count; i++) {
        double x = across(f, curve->points[i].rate);
        sl_buffer_printf(svg, "<path d=\"M%.0f %dV%d\" stroke=\"#eeeeee\"/>\n", x, TOP,
                         HEIGHT - BOTTOM);
        if (x - labelled < 48)
            continue;
        (void)snprintf(label, sizeof label, "%g", curve->points[i].rate);
        draw_text(svg, x, HEIGHT - BOTTOM + 18, "middle", label);
        labelled = x;
    }
    draw_text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14, "middle", "requests due per second");
    draw_text(svg, LEFT - 8, TOP - 12, "end", "ms");
}

/* A line through the points, which are hollow where the daemon does not keep up. */
static void draw_line(struct sl_buffer *svg, const struct frame *f, const struct load_curve *curve,
                      int quantile)
{
    const char *colour = lines[quantile].colour, *move = "M";
    sl_buffer_append_string(svg, "<path d=\"");
    for (int i = 0; i < curve->count; i++) {
        const struct load_point *p = &curve->points[i];
        if (p->latency_ms[quantile] <= 0)
            continue;
        sl_buffer_printf(svg, "%s%.1f %.1f", move, across(f, p->rate),
                         down(f, p->latency_ms[quantile]));
        move = "L";
    }
    sl_buffer_printf(svg, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", colour);
    for (int i = 0; i < curve->count; i++) {
        const struct load_point *p = &curve->points[i];
        if (p->latency_ms[quantile] > 0)
            sl_buffer_printf(svg,
                             "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" stroke=\"%s\""
                             " stroke-width=\"2\"/>\n",
                             across(f, p->rate), down(f, p->latency_ms[quantile]),
                             p->keeps_up ? colour : "#ffffff", colour);
    }
}

static void draw_legend(struct sl_buffer *svg)
{
    int x = LEFT;
    for (int q = 0; q < LOAD_QUANTILES; q++) {
        sl_buffer_printf(svg, "<circle cx=\"%d\" cy=\"40\" r=\"4\" fill=\"%s\"/>\n", x + 4,
                         lines[q].colour);
        draw_text(svg, x + 14, 44, "start", lines[q].name);
        x += 84;
    }
    draw_text(svg, x, 44, "start", "hollow: the daemon does not keep up");
}

void load_curve_svg(const struct load_curve *curve, const char *title, struct sl_buffer *svg)
{
    struct frame f;
    if (!load_axis_of(curve, &f.axis))
        return;
    f.rate_max = curve->points[curve->count - 1].rate;
    sl_buffer_printf(svg,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                     "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" "
                     "fill=\"#333333\">\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
                     WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    draw_text(svg, LEFT, 22, "start", title);
    draw_legend(svg);
    draw_axes(svg, &f, curve);
    for (int q = 0; q < LOAD_QUANTILES; q++)
        draw_line(svg, &f, curve, q);
    sl_buffer_append_string(svg, "</svg>\n");
}
