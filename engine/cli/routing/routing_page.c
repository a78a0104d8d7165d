/* routing_page.c - routing as a page: the text in colours, tables, and depth by entropy. */
#include "cli/routing/routing_output.h"

#include "cli/report/report_chart.h"
#include "cli/report/report_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 2000 /* tokens in colours */, BARS_MAX = 12 };

/* ---- the text -------------------------------------------------------------------------------- */

/* A token as it stands in the text, or as the vocabulary spells it if it adds nothing to that. */
static void write_token(struct sl_buffer *out, const struct sl_tokenizer *tokenizer, int32_t id,
                        bool first)
{
    char text[128];
    size_t bytes = sl_tokenizer_decode_next(tokenizer, id, first, text, sizeof text), piece_bytes;
    const char *piece = sl_tokenizer_piece(tokenizer, id, &piece_bytes);
    if (bytes == 0 || bytes > sizeof text)
        sl_html_append(out, piece, piece_bytes);
    else
        sl_html_append(out, text, bytes);
    if (bytes == 1 && text[0] == '\n')
        sl_buffer_append_string(out, "<br>");
}

static void write_piece(struct sl_buffer *out, const struct routing_output *o,
                        const struct sl_routing *routing, const int32_t *ids, int count)
{
    for (int i = 0; i < count; i++) {
        const struct sl_routing_total total = sl_routing_total(routing, i);
        sl_buffer_printf(out,
                         "<span class=\"right\" style=\"--s:%.2f\" title=\"%d of %d, weight "
                         "%.2f\">",
                         0.85 * total.weight / routing->parts, total.ran, routing->parts,
                         total.weight);
        write_token(out, o->sums->tokenizer, ids[i], i == 0);
        sl_buffer_append_string(out, "</span>");
    }
}

static void write_text(struct sl_buffer *out, const struct routing_output *o,
                       struct sl_routing *routing)
{
    const int32_t *ids = o->text->ids;
    int shown = 0;
    html_section(out, "The text");
    sl_buffer_printf(out,
                     "<p>The darker a token, the larger the weights of the %ss that act on it. "
                     "Point at one to see them.</p>\n<p dir=\"auto\">",
                     routing_part(o));
    for (size_t i = 0; i < o->text->pieces && shown < SHOWN; i++) {
        sl_routing_run(routing, ids, o->text->lengths[i]);
        write_piece(out, o, routing, ids, o->text->lengths[i]);
        if (o->model->config.task != SL_TASK_COMPLETION)
            sl_buffer_append_string(out, "<br>\n");
        ids += o->text->lengths[i];
        shown += o->text->lengths[i];
    }
    sl_buffer_append_string(out, "</p>\n");
    html_section_end(out);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void write_groups(struct sl_buffer *out, const struct routing_output *o,
                         enum routing_kind kind, const char *title)
{
    char names[BARS_MAX][32], numbers[BARS_MAX + 5] = "0111";
    const char *columns[BARS_MAX + 5] = {"", "tokens", "run", "weight"};
    const int parts = o->sums->parts < BARS_MAX ? o->sums->parts : BARS_MAX;
    for (int p = 0; p < parts; p++) {
        (void)snprintf(names[p], sizeof names[p], "%s %d", routing_part(o), p + 1);
        columns[4 + p] = names[p];
        numbers[4 + p] = '1';
    }
    html_section(out, title);
    html_table(out, columns, numbers);
    for (const struct routing_group *g = o->sums->groups; g < o->sums->groups + ROUTING_GROUPS;
         g++) {
        if (g->tokens == 0 || (g->kind != kind && g->kind != ROUTING_ALL))
            continue;
        html_row(out);
        html_cell(out, g->name);
        html_number(out, "%" PRId64, g->tokens);
        html_number(out, "%.2f", routing_group_ran(o->sums, g));
        html_number(out, "%.2f", routing_group_weight(o->sums, g));
        for (int p = 0; p < parts; p++)
            html_number(out, "%.3f", g->weight[p] / (double)g->tokens);
    }
    html_table_end(out);
    html_section_end(out);
}

/* ---- the picture ----------------------------------------------------------------------------- */

static void write_chart(struct sl_buffer *out, const struct routing_output *o)
{
    double x[ROUTING_GROUPS], ran[ROUTING_GROUPS], weight[ROUTING_GROUPS];
    int parts = o->sums->parts < ROUTING_GROUPS ? o->sums->parts : ROUTING_GROUPS;
    const struct routing_group *all = &o->sums->groups[0];
    for (int p = 0; p < parts; p++) {
        x[p] = p + 1;
        ran[p] = all->ran[p] / (double)all->tokens;
        weight[p] = all->weight[p] / (double)all->tokens;
    }
    const struct chart_series series[] = {{"tokens on which it acts", x, ran, parts},
                                          {"mean weight", x, weight, parts}};
    char title[64];
    (void)snprintf(title, sizeof title, "Routing by %s", routing_part(o));
    html_section(out, title);
    chart_write(out, &(struct chart){.title = title,
                                     .x_name = routing_part(o),
                                     .series = series,
                                     .series_count = 2,
                                     .percent = true,
                                     .dots = true});
    html_section_end(out);
}

bool routing_write_page(const struct routing_output *o, struct sl_routing *routing,
                        const char *directory, struct sl_err *err)
{
    struct sl_buffer page = {0};
    char subtitle[256];
    (void)snprintf(subtitle, sizeof subtitle, "%s, %s%zu tokens of %.150s", o->model->arch->name,
                   o->text->is_cut ? "the first " : "", o->text->count, o->text_path);
    html_begin(&page, o->model_path, subtitle);
    write_chart(&page, o);
    write_groups(&page, o, ROUTING_CLASS, "By the token's first character");
    write_groups(&page, o, ROUTING_FREQUENCY, "By how often the token occurs in this text");
    if (o->model->config.task == SL_TASK_COMPLETION)
        write_groups(&page, o, ROUTING_ENTROPY, "By the entropy of the prediction after the token");
    write_text(&page, o, routing);
    html_end(&page);
    bool ok = html_write(&page, directory, err);
    sl_buffer_release(&page);
    return ok;
}
