/* report_automatic.c - the HTML page of a training without an architecture. */
#include "cli/report/report_automatic.h"

#include "cli/report/prediction_list.h"
#include "cli/report/report_chart.h"
#include "cli/report/report_html.h"
#include "cli/report/report_sections.h"

#include <math.h>

static void write_sentence(struct sl_buffer *out, const char *text)
{
    if (!text[0])
        return;
    sl_buffer_append_string(out, "<p>");
    html_string(out, text);
    sl_buffer_append_string(out, "</p>\n");
}

static void write_trials(struct sl_buffer *out, const struct sl_linear_training *l)
{
    const struct sl_linear_search *search = &l->search;
    const bool several = l->set.multi_label;
    const char *const columns[] = {"recipe", "folds",   several ? "micro F1" : "accuracy",
                                   "loss",   "seconds", NULL};
    char text[RECIPE_TEXT], more[CONCLUSION_TEXT];
    html_section(out, "What was tried");
    html_table(out, columns, "01111");
    for (int i = 0; i < search->count; i++) {
        const struct sl_linear_trial *trial = &search->trials[i];
        sl_buffer_append_string(out, i == search->best ? "\n<tr class=\"best\">" : "\n<tr>");
        html_cell(out, automatic_results_recipe(trial, text));
        html_number(out, "%d", trial->folds);
        if (several)
            html_number(out, "%.4f", trial->micro_f1);
        else
            html_number(out, "%.2f %%", 100.0 * trial->accuracy);
        html_number(out, "%.4f", trial->loss);
        html_number(out, "%.1f", trial->seconds);
    }
    html_table_end(out);
    sl_buffer_printf(
        out,
        "<p>The recipe in bold was chosen: it has the highest %s minus %.1f times the loss%s. The "
        "loss counts because it is less noisy than the %s where texts are few.</p>\n",
        several ? "micro F1" : "accuracy", sl_linear_loss_weight(l->set.count),
        several ? ", which is divided by the labels per text if they are more than one" : "",
        several ? "F1" : "accuracy");
    write_sentence(out, automatic_results_legend(l, more));
    write_sentence(out, automatic_results_time(l, more));
    html_section_end(out);
}

static void write_curve(struct sl_buffer *out, const struct sl_learning_curve *curve)
{
    char text[CONCLUSION_TEXT];
    double x[SL_LEARNING_POINTS], y[SL_LEARNING_POINTS];
    for (int i = 0; i < curve->count; i++) {
        x[i] = curve->points[i].texts;
        y[i] = curve->points[i].accuracy;
    }
    const struct chart_series series = {.x = x, .y = y, .count = curve->count};
    const struct chart chart = {.title = "Accuracy by number of training texts",
                                .x_name = "training texts",
                                .series = &series,
                                .series_count = 1,
                                .percent = true,
                                .doubles = true,
                                .dots = true};
    html_section(out, "Would more texts help?");
    write_sentence(out, automatic_results_conclude(curve, text));
    chart_write(out, &chart);
    html_section_end(out);
}

static bool write_page(struct sl_buffer *out, const struct automatic_results *r, const char *title,
                       const char *data, struct sl_err *err)
{
    char text[CONCLUSION_TEXT];
    const struct report_predictions p = {.model = r->l->model,
                                         .evaluation = &r->evaluation,
                                         .tokens = sl_linear_training_tokens(r->l),
                                         .left_out = true};
    const bool linear = sl_linear_search_is_linear(&r->l->search);
    report_begin(out, title, linear ? "linear model, trained on" : "encoder, fine-tuned on", data);
    report_figures(out, &p, (double)NAN, automatic_results_method(r, text));
    write_sentence(out, automatic_results_validation(r, text));
    write_sentence(out, automatic_results_minimum_score(r, text));
    report_dataset(out, r->facts, r->l->base->config.context_length);
    write_trials(out, r->l);
    if (!r->l->set.multi_label && linear)
        write_curve(out, &r->l->search.curve);
    if (!report_predictions(out, &p, err))
        return false;
    html_end(out);
    return true;
}

bool report_automatic_write(const struct automatic_results *r, const char *title, const char *data,
                            const char *directory, struct sl_err *err)
{
    struct sl_buffer page = {0};
    bool ok = write_page(&page, r, title, data, err) && html_write(&page, directory, err) &&
              prediction_list_write(&r->evaluation.predictions, directory, err);
    sl_buffer_release(&page);
    return ok;
}
