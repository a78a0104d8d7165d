/* report_predictions.c - the parts of a report about predictions. */
#include "cli/report/report_sections.h"

#include "cli/evaluation/label_names.h"
#include "cli/report/report_chart.h"
#include "cli/report/report_html.h"
#include "cli/report/report_words.h"
#include "data/name_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONFUSIONS = 20, /* of them */
    MISTAKES = 20,   /* texts */
    DETAIL = 96
};

void report_figures(struct sl_buffer *out, const struct report_predictions *p, double skipped,
                    const char *how)
{
    const struct prediction_quality *q = &p->evaluation->quality;
    char detail[DETAIL];
    const bool several = p->model->config.multi_label;
    sl_buffer_append_string(out, "<div class=\"tiles\">\n");
    if (several)
        html_tile(out, "Micro F1", "over all labels of all texts", "%.3f", q->micro_f1);
    (void)snprintf(detail, sizeof detail, "95 %% interval %.1f to %.1f %%", 100.0 * q->low,
                   100.0 * q->high);
    html_tile(out, several ? "Subset accuracy" : "Accuracy", detail, "%.1f %%",
              100.0 * q->correct / q->texts);
    (void)snprintf(detail, sizeof detail, "%d of %d texts", q->texts - q->correct, q->texts);
    html_tile(out, "Mistakes", detail, "%.1f %%", 100.0 * (q->texts - q->correct) / q->texts);
    html_tile(out, "Macro F1", "mean over the labels", "%.3f", q->macro_f1);
    html_tile(out, "Loss", "nats per text", "%.4f", p->evaluation->e.loss);
    html_tile(out, "Calibration error", "ECE, 15 bins", "%.4f", q->calibration);
    if (isfinite(skipped))
        html_tile(out, "Layers skipped", "token-layer operations", "%.1f %%", 100.0 * skipped);
    sl_buffer_append_string(out, "</div>\n<p class=\"soft\">");
    html_string(out, how);
    sl_buffer_append_string(out, "</p>\n");
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void write_fraction(struct sl_buffer *out, double fraction)
{
    if (isfinite(fraction))
        html_number(out, "%.1f %%", 100.0 * fraction);
    else
        html_number(out, "-");
}

/* -1: none. */
static void label_cell(struct sl_buffer *out, const struct report_predictions *p, int label)
{
    char name[LABEL_QUOTED];
    html_cell(out, label >= 0 ? label_quoted(p->model->labels[label], name) : "");
}

static void write_labels(struct sl_buffer *out, const struct report_predictions *p)
{
    const bool several = p->model->config.multi_label;
    const char *const columns[] = {
        "label", "texts", "recall", "precision", several ? NULL : "most confused with", NULL};
    html_section(out, "Labels");
    html_table(out, columns, "01110");
    for (int c = 0; c < p->evaluation->predictions.classes; c++) {
        const struct label_metrics *label = &p->evaluation->labels[c];
        html_row(out);
        label_cell(out, p, c);
        html_number(out, "%d", label->texts);
        write_fraction(out, label_recall(label));
        write_fraction(out, label_precision(label));
        if (!several)
            label_cell(out, p, label->confused_with);
    }
    html_table_end(out);
    html_section_end(out);
}

/* ---- confusion ------------------------------------------------------------------------------- */

static void write_short_name(struct sl_buffer *out, const char *label)
{
    char name[SL_NAME_SHORT], quoted[LABEL_QUOTED];
    html_string(out, label_quoted(sl_name_shorten(label, strlen(label), name), quoted));
}

/* The more of a label's texts, the stronger the colour. */
static void write_count(struct sl_buffer *out, int count, int texts, bool right)
{
    if (count == 0) {
        sl_buffer_append_string(out, "<td></td>");
        return;
    }
    double strength = 0.08 + 0.62 * count / texts;
    sl_buffer_printf(out, "<td class=\"%s\" style=\"--s:%.2f\">%d</td>", right ? "right" : "wrong",
                     strength, count);
}

static void write_matrix(struct sl_buffer *out, const struct report_predictions *p,
                         const int *confusion)
{
    const int classes = p->evaluation->predictions.classes;
    sl_buffer_append_string(out,
                            "<p class=\"soft\">Rows: the label. Columns: the prediction.</p>\n"
                            "<div class=\"wide\"><table class=\"matrix\"><thead><tr><th></th>");
    for (int c = 0; c < classes; c++) {
        sl_buffer_append_string(out, "<th><span>");
        write_short_name(out, p->model->labels[c]);
        sl_buffer_append_string(out, "</span></th>");
    }
    sl_buffer_append_string(out, "</tr></thead>\n<tbody>");
    for (int row = 0; row < classes; row++) {
        sl_buffer_append_string(out, "\n<tr><th>");
        write_short_name(out, p->model->labels[row]);
        sl_buffer_append_string(out, "</th>");
        for (int c = 0; c < classes; c++)
            write_count(out, confusion[row * classes + c], p->evaluation->labels[row].texts,
                        row == c);
        sl_buffer_append_string(out, "</tr>");
    }
    sl_buffer_append_string(out, "\n</tbody></table></div>\n");
}

/* The largest count outside the diagonal; -1: none is left. */
static int64_t find_worst(const int *confusion, int classes)
{
    int64_t worst = -1, cells = (int64_t)classes * classes;
    for (int64_t i = 0; i < cells; i++)
        if (i / classes != i % classes && confusion[i] > 0 &&
            (worst < 0 || confusion[i] > confusion[worst]))
            worst = i;
    return worst;
}

static void write_confusions(struct sl_buffer *out, const struct report_predictions *p,
                             int *confusion)
{
    static const char *const columns[] = {"label", "predicted as", "texts", NULL};
    const int classes = p->evaluation->predictions.classes;
    int64_t worst;
    sl_buffer_append_string(out, "<p class=\"soft\">The most frequent ones.</p>\n");
    html_table(out, columns, "001");
    for (int i = 0; i < CONFUSIONS && (worst = find_worst(confusion, classes)) >= 0; i++) {
        html_row(out);
        label_cell(out, p, (int)(worst / classes));
        label_cell(out, p, (int)(worst % classes));
        html_number(out, "%d", confusion[worst]);
        confusion[worst] = 0;
    }
    html_table_end(out);
}

static bool write_confusion(struct sl_buffer *out, const struct report_predictions *p,
                            struct sl_err *err)
{
    int *confusion = label_confusion_count(&p->evaluation->predictions, err);
    if (!confusion)
        return false;
    html_section(out, "Confusion");
    if (p->evaluation->predictions.classes <= LABEL_CONFUSION_MAX)
        write_matrix(out, p, confusion);
    else
        write_confusions(out, p, confusion);
    html_section_end(out);
    free(confusion);
    return true;
}

static void write_calibration(struct sl_buffer *out, const struct report_predictions *p)
{
    const struct prediction_quality *q = &p->evaluation->quality;
    html_section(out, "Calibration");
    sl_buffer_printf(out,
                     "<p>The expected calibration error is %.4f: on average a score is off by %.1f "
                     "points from how often %s.</p>\n",
                     q->calibration, 100.0 * q->calibration,
                     p->model->config.multi_label ? "texts have a label with it"
                                                  : "predictions with it are right");
    chart_reliability(out, &p->evaluation->predictions);
    html_section_end(out);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

/* How probable it was that what is wrong is right. */
static float confidence(const struct label_prediction *mistake)
{
    return mistake->predicted >= 0 ? mistake->score : 1.0f - mistake->score;
}

static int compare_mistakes(const void *a, const void *b)
{
    const struct label_prediction *const *x = a, *const *y = b;
    const float of_x = confidence(*x), of_y = confidence(*y);
    if (of_x > of_y || of_x < of_y)
        return of_x > of_y ? -1 : 1;
    return ((*x)->example > (*y)->example) - ((*x)->example < (*y)->example);
}

static bool write_text(struct sl_buffer *out, const struct report_predictions *p,
                       struct report_words *words, const struct label_prediction *mistake,
                       struct sl_err *err)
{
    size_t bytes;
    if (!words)
        return true;
    const char *text = sl_dataset_text(p->evaluation->predictions.set, mistake->example, &bytes);
    const int label = mistake->predicted >= 0 ? mistake->predicted : mistake->label;
    return report_words_write(words, text, bytes, label, out, err);
}

static bool write_mistake(struct sl_buffer *out, const struct report_predictions *p,
                          struct report_words *words, const struct label_prediction *mistake,
                          struct sl_err *err)
{
    html_row(out);
    html_number(out, "%lld",
                (long long)p->evaluation->predictions.set->examples[mistake->example].line);
    label_cell(out, p, mistake->label);
    label_cell(out, p, mistake->predicted);
    html_number(out, "%.3f", (double)mistake->score);
    sl_buffer_append_string(out, "<td class=\"said\" dir=\"auto\">");
    bool ok = write_text(out, p, words, mistake, err);
    sl_buffer_append_string(out, "</td>");
    return ok;
}

/* Those of one text or more, the most confident first. */
static bool write_table(struct sl_buffer *out, const struct report_predictions *p,
                        const struct label_prediction *const *wrong, int count, struct sl_err *err)
{
    static const char *const columns[] = {"line", "label", "predicted as", "score", "text", NULL};
    const bool has_text = p->evaluation->predictions.set->text;
    struct report_words *words = has_text ? report_words_open(p->model, p->tokens, err) : NULL;
    bool ok = words || !has_text;
    if (p->model->config.multi_label)
        sl_buffer_append_string(out, "<p class=\"soft\">A label alone was not predicted; a "
                                     "predicted one alone is not among the text's labels.</p>\n");
    if (has_text && p->left_out)
        sl_buffer_append_string(
            out, "<p>The scores are those of models that had not learnt the text; the marked words "
                 "are those of the published model, which has learnt it with its label, even if "
                 "that is wrong. So the words may speak for another label than the score.</p>\n");
    if (has_text)
        sl_buffer_printf(out,
                         "<p class=\"soft\">Of the words, those are marked that move the score of "
                         "the %s most: <mark class=\"up\">raise it</mark>, "
                         "<mark class=\"down\">lower it</mark>, in the published model.</p>\n",
                         p->model->config.multi_label ? "label" : "predicted label");
    html_table(out, columns, "10010");
    for (int i = 0; ok && i < count && i < MISTAKES; i++)
        ok = write_mistake(out, p, words, wrong[i], err);
    html_table_end(out);
    report_words_close(words);
    return ok;
}

static bool write_mistakes(struct sl_buffer *out, const struct report_predictions *p,
                           struct sl_err *err)
{
    const struct label_predictions *all = &p->evaluation->predictions;
    int count = 0;
    const struct label_prediction **wrong =
        calloc((size_t)all->count + 1, sizeof(const struct label_prediction *));
    if (!wrong)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d predictions", all->count);
    for (int i = 0; i < all->count; i++)
        if (all->list[i].label != all->list[i].predicted)
            wrong[count++] = &all->list[i];
    qsort(wrong, (size_t)count, sizeof(const struct label_prediction *), compare_mistakes);
    html_section(out, "The most confident mistakes");
    sl_buffer_append_string(out, count > 0 ? "<p>Perhaps some of these labels are wrong.</p>\n"
                                           : "<p>There are none.</p>\n");
    bool ok = count == 0 || write_table(out, p, wrong, count, err);
    html_section_end(out);
    free(wrong);
    return ok;
}

bool report_predictions(struct sl_buffer *out, const struct report_predictions *p,
                        struct sl_err *err)
{
    write_labels(out, p);
    if (!p->model->config.multi_label && !write_confusion(out, p, err))
        return false;
    write_calibration(out, p);
    return write_mistakes(out, p, err);
}
