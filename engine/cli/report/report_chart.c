/* report_chart.c - draws charts as SVG. */
#include "cli/report/report_chart.h"

#include "cli/report/report_html.h"

#include <math.h>

enum { COLOURS = 8 };

/* In units of the drawing, which is scaled to the page. */
enum { WIDTH = 480, HEIGHT = 270, LEFT = 54, RIGHT = 16, TOP = 12, BOTTOM = 42, TICKS = 5 };

enum { PLOT_WIDTH = WIDTH - LEFT - RIGHT, PLOT_HEIGHT = HEIGHT - TOP - BOTTOM };

struct range {
    double low, high;
};

struct axes {
    struct range x, y;
    bool doubles;
};

/* ---- scales ---------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of 10, so that a range has about TICKS of them. */
static double step_of(struct range r)
{
    double rough = (r.high - r.low) / TICKS, power = pow(10.0, floor(log10(rough)));
    double digit = rough / power;
    return power * (digit <= 1.0 ? 1.0 : digit <= 2.0 ? 2.0 : digit <= 5.0 ? 5.0 : 10.0);
}

/* Ends on ticks. */
static struct range round_range(struct range r)
{
    if (!(r.high > r.low)) {
        double around = fmax(fabs(r.low) * 0.05, 0.01);
        r = (struct range){r.low - around, r.high + around};
    }
    double step = step_of(r);
    return (struct range){floor(r.low / step + 1e-9) * step, ceil(r.high / step - 1e-9) * step};
}

static double at_x(const struct axes *axes, double x)
{
    const struct range *r = &axes->x;
    double part =
        axes->doubles ? log(x / r->low) / log(r->high / r->low) : (x - r->low) / (r->high - r->low);
    return LEFT + part * PLOT_WIDTH;
}

static double at_y(const struct axes *axes, double y)
{
    return TOP + (1.0 - (y - axes->y.low) / (axes->y.high - axes->y.low)) * PLOT_HEIGHT;
}

static void widen(struct range *r, double value)
{
    if (!isfinite(value))
        return;
    r->low = fmin(r->low, value);
    r->high = fmax(r->high, value);
}

/* False: there is nothing to draw. */
static bool find_axes(const struct chart *c, struct axes *axes)
{
    int points = 0;
    const struct range none = {(double)INFINITY, -(double)INFINITY};
    *axes = (struct axes){none, none, c->doubles};
    for (int s = 0; s < c->series_count; s++)
        for (int i = 0; i < c->series[s].count; i++) {
            if (!isfinite(c->series[s].y[i]))
                continue;
            widen(&axes->x, c->series[s].x[i]);
            widen(&axes->y, c->series[s].y[i]);
            points++;
        }
    if (points < 2 || !(axes->x.high > axes->x.low))
        return false;
    axes->y = round_range(axes->y);
    if (c->percent)
        axes->y = (struct range){fmax(axes->y.low, 0.0), fmin(axes->y.high, 1.0)};
    return axes->y.high > axes->y.low;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* above: room for more above the plot. */
static void begin(struct sl_buffer *out, const char *title, int above)
{
    sl_buffer_printf(out, "<figure>\n<svg viewBox=\"0 %d %d %d\" role=\"img\" aria-label=\"%s\">\n",
                     -above, WIDTH, HEIGHT + above, title);
}

static void end(struct sl_buffer *out, const char *caption)
{
    sl_buffer_printf(out, "</svg>\n<figcaption>%s", caption);
}

static void line(struct sl_buffer *out, const char *class, double x1, double y1, double x2,
                 double y2)
{
    sl_buffer_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                     class, x1, y1, x2, y2);
}

static void tick_y(struct sl_buffer *out, const struct axes *axes, double y, bool percent)
{
    double at = at_y(axes, y), step = step_of(axes->y) * (percent ? 100.0 : 1.0);
    int digits = step >= 1.0 ? 0 : step >= 0.1 ? 1 : 2;
    line(out, "grid", LEFT, at, WIDTH - RIGHT, at);
    sl_buffer_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.*f%s</text>\n", LEFT - 6,
                     at + 4.0, digits, percent ? 100.0 * y : y, percent ? " %" : "");
}

static void tick_x(struct sl_buffer *out, const struct axes *axes, double x)
{
    double at = at_x(axes, x);
    line(out, "axis", at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 4);
    sl_buffer_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", at,
                     HEIGHT - BOTTOM + 18, x);
}

/* How many whole ones. */
static int steps_between(double low, double high, double step)
{
    return (int)floor((high - low) / step + 1e-6);
}

static void draw_axes(struct sl_buffer *out, const struct chart *c, const struct axes *axes)
{
    const double step_y = step_of(axes->y), step_x = step_of(axes->x);
    const double first_x = ceil(axes->x.low / step_x) * step_x;
    for (int i = 0; i <= steps_between(axes->y.low, axes->y.high, step_y); i++)
        tick_y(out, axes, axes->y.low + i * step_y, c->percent);
    line(out, "axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM);
    if (c->doubles)
        for (int i = 0; i < c->series[0].count; i++)
            tick_x(out, axes, c->series[0].x[i]);
    else
        for (int i = 0; i <= steps_between(first_x, axes->x.high, step_x); i++)
            tick_x(out, axes, first_x + i * step_x);
    sl_buffer_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                     LEFT + PLOT_WIDTH / 2, HEIGHT - 6, c->x_name);
}

static void draw_series(struct sl_buffer *out, const struct chart *c, int number,
                        const struct axes *axes)
{
    const struct chart_series *s = &c->series[number];
    const int colour = number % COLOURS;
    sl_buffer_printf(out, "<polyline class=\"s%d\" points=\"", colour);
    for (int i = 0; i < s->count; i++)
        if (isfinite(s->y[i]))
            sl_buffer_printf(out, "%.1f,%.1f ", at_x(axes, s->x[i]), at_y(axes, s->y[i]));
    sl_buffer_append_string(out, "\"/>\n");
    for (int i = 0; c->dots && i < s->count; i++)
        if (isfinite(s->y[i]))
            sl_buffer_printf(out, "<circle class=\"d%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                             colour, at_x(axes, s->x[i]), at_y(axes, s->y[i]));
}

void chart_write(struct sl_buffer *out, const struct chart *c)
{
    struct axes axes;
    if (!find_axes(c, &axes))
        return;
    begin(out, c->title, 0);
    draw_axes(out, c, &axes);
    for (int s = 0; s < c->series_count; s++)
        draw_series(out, c, s, &axes);
    end(out, c->title);
    for (int s = 0; c->series_count > 1 && s < c->series_count; s++)
        sl_buffer_printf(out, "<span class=\"key k%d\"></span>%s", s, c->series[s].name);
    sl_buffer_append_string(out, "</figcaption>\n</figure>\n");
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { LEGEND_COLUMNS = 3, LEGEND_HEIGHT = 18, TITLE_HEIGHT = 24 };

/* Told apart by people who do not see all colours: Okabe and Ito's. */
static const char file_style[] =
    "<style>text{fill:#444;font:13px system-ui,sans-serif}.title{fill:#000;font-weight:600}"
    ".axis{stroke:#888;fill:none}.grid{stroke:#ddd}polyline,.key{fill:none;stroke-width:2;"
    "stroke-linejoin:round}"
    ".s0{stroke:#0072b2}.s1{stroke:#d55e00}.s2{stroke:#009e73}.s3{stroke:#cc79a7}"
    ".s4{stroke:#56b4e9}.s5{stroke:#e69f00}.s6{stroke:#000}.s7{stroke:#999}"
    ".d0{fill:#0072b2}.d1{fill:#d55e00}.d2{fill:#009e73}.d3{fill:#cc79a7}"
    ".d4{fill:#56b4e9}.d5{fill:#e69f00}.d6{fill:#000}.d7{fill:#999}</style>\n";

static void draw_legend(struct sl_buffer *out, const struct chart *c, double top)
{
    for (int s = 0; s < c->series_count; s++) {
        const int column = s % LEGEND_COLUMNS, row = s / LEGEND_COLUMNS;
        const double x = LEFT + column * (double)PLOT_WIDTH / LEGEND_COLUMNS,
                     y = top + row * (double)LEGEND_HEIGHT;
        sl_buffer_printf(out,
                         "<line class=\"key s%d\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                         "y2=\"%.1f\"/>\n<text x=\"%.1f\" y=\"%.1f\">",
                         s % COLOURS, x, y, x + 16.0, y, x + 22.0, y + 4.0);
        html_string(out, c->series[s].name);
        sl_buffer_append_string(out, "</text>\n");
    }
}

void chart_write_file(struct sl_buffer *out, const struct chart *c)
{
    struct axes axes;
    const int lines = c->series_count > 1 ? (c->series_count - 1) / LEGEND_COLUMNS + 1 : 0;
    const int above = TITLE_HEIGHT + lines * LEGEND_HEIGHT;
    if (!find_axes(c, &axes))
        return;
    sl_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 %d %d %d\" "
                     "width=\"%d\">\n%s<rect x=\"0\" y=\"%d\" width=\"100%%\" height=\"100%%\" "
                     "fill=\"#fff\"/>\n<text class=\"title\" x=\"%d\" y=\"%d\">",
                     -above, WIDTH, HEIGHT + above, 2 * WIDTH, file_style, -above, LEFT,
                     16 - above);
    html_string(out, c->title);
    sl_buffer_append_string(out, "</text>\n");
    if (lines > 0)
        draw_legend(out, c, TITLE_HEIGHT + LEGEND_HEIGHT / 2.0 - above);
    draw_axes(out, c, &axes);
    for (int s = 0; s < c->series_count; s++)
        draw_series(out, c, s, &axes);
    sl_buffer_append_string(out, "</svg>\n");
}

/* ---- reliability ----------------------------------------------------------------------------- */

enum { COUNTS_HEIGHT = 40 };

/* The most predictions of a bin. */
static double fullest(const struct label_predictions *p)
{
    int64_t most = 1;
    for (int i = 0; i < CALIBRATION_BINS; i++)
        most = p->bins[i].count > most ? p->bins[i].count : most;
    return (double)most;
}

/* Bars rise to the accuracy of a bin; those above the plot say how many predictions it has. */
static void draw_bin(struct sl_buffer *out, const struct axes *axes,
                     const struct label_predictions *p, int number)
{
    const struct calibration_bin *bin = &p->bins[number];
    const double width = (double)PLOT_WIDTH / CALIBRATION_BINS, x = LEFT + number * width;
    if (bin->count == 0)
        return;
    const double count = (double)bin->count, accuracy = (double)bin->right / count,
                 y = at_y(axes, accuracy);
    sl_buffer_printf(out,
                     "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                     "<title>%lld %s, mean score %.3f, %.1f %% right</title></rect>\n",
                     x + 1.0, y, width - 2.0, HEIGHT - BOTTOM - y, (long long)bin->count,
                     p->set->multi_label ? "scores" : "texts", bin->score / count,
                     100.0 * accuracy);
    double tall = fmax(1.0, COUNTS_HEIGHT * count / fullest(p));
    sl_buffer_printf(
        out, "<rect class=\"count\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
        x + 1.0, TOP - 6 - tall, width - 2.0, tall);
}

void chart_reliability(struct sl_buffer *out, const struct label_predictions *p)
{
    const struct axes axes = {{0.0, 1.0}, {0.0, 1.0}, false};
    const struct chart frame = {.x_name = p->set->multi_label ? "score of a label"
                                                              : "score of the predicted label",
                                .percent = true};
    begin(out, "reliability diagram: accuracy by score", COUNTS_HEIGHT);
    draw_axes(out, &frame, &axes);
    for (int i = 0; i < CALIBRATION_BINS; i++)
        draw_bin(out, &axes, p, i);
    line(out, "ideal", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, TOP);
    end(out, p->set->multi_label
                 ? "How many of the labels with such a score the texts have. On the dashed line it "
                   "is as many as the score says. Grey: how many scores there are."
                 : "Accuracy of predictions by their score. On the dashed line a score is as often "
                   "right as it says. Grey: how many texts have such a score.");
    sl_buffer_append_string(out, "</figcaption>\n</figure>\n");
}
