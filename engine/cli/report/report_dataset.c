/* report_dataset.c - the parts of a report about the data. */
#include "cli/report/report_sections.h"

#include "base/file.h"
#include "cli/evaluation/dataset_words.h"
#include "cli/evaluation/label_names.h"
#include "cli/report/report_html.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TEXT_SHOWN = 200 };

/* The last parts of a path, at most so many. Directories above them are private. */
static const char *end_of_path(const char *path, int parts)
{
    const char *start = path + strlen(path);
    while (start > path && start[-1] == '/')
        start--;
    while (start > path && (start[-1] != '/' || --parts > 0))
        start--;
    return start;
}

bool report_prepare(const char *directory, const char *title, struct sl_err *err)
{
    if (title && !directory)
        return sl_fail(err, SL_BAD_INPUT, "--report-title has no effect without --report");
    return !directory || sl_directory_make(directory, err) || sl_wrap(err, "--report");
}

const char *report_title(const char *given, const char *model)
{
    return given ? given : end_of_path(model, 2);
}

void report_begin(struct sl_buffer *out, const char *title, const char *what, const char *file)
{
    char subtitle[512], date[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    (void)snprintf(subtitle, sizeof subtitle, "%s %.300s, %s", what, end_of_path(file, 1), date);
    html_begin(out, title, subtitle);
}

static const char *label_of(const struct dataset_facts *f, int label)
{
    return f->set->labels.list[label].name;
}

static void write_labels(struct sl_buffer *out, const struct dataset_facts *f)
{
    static const char *const columns[] = {"label", "texts", "share", NULL};
    char name[LABEL_QUOTED];
    sl_buffer_append_string(out, "<p>Texts by label:</p>\n");
    html_table(out, columns, "011");
    for (int i = 0; i < f->set->labels.count; i++) {
        html_row(out);
        html_cell(out, label_quoted(label_of(f, i), name));
        html_number(out, "%d", f->label_texts[i]);
        html_number(out, "%.1f %%", 100.0 * f->label_texts[i] / f->set->count);
    }
    html_table_end(out);
}

/* The names of a text's labels. */
static void labels_cell(struct sl_buffer *out, const struct dataset_facts *f,
                        struct sl_label_list list)
{
    struct sl_buffer names = {0};
    char name[LABEL_QUOTED];
    label_names_append(&names, &f->set->labels, list);
    const char *text = names.data ? names.data : ""; /* NULL: no label, or no memory */
    html_cell(out, list.count == 1 ? label_quoted(text, name) : text);
    sl_buffer_release(&names);
}

static void item(struct sl_buffer *out, const char *text, size_t bytes)
{
    sl_buffer_append_string(out, "<li>");
    html_excerpt(out, text, bytes, bytes);
    sl_buffer_append_string(out, "</li>\n");
}

static void write_facts(struct sl_buffer *out, const struct dataset_facts *f, int context)
{
    struct sl_buffer lines = {0};
    dataset_words_describe(f, context, &lines);
    const char *line = lines.data ? lines.data : "";
    for (const char *end; (end = strchr(line, '\n')); line = end + 1)
        item(out, line, (size_t)(end - line));
    sl_buffer_release(&lines);
}

/* What may be wrong; also if nothing is, so that a reader knows that it was looked for. */
static void write_warnings(struct sl_buffer *out, const struct dataset_facts *f)
{
    static const char none[] = "No record was left out, and no text has two labels";
    struct dataset_warnings warnings;
    dataset_words_warn(f, &warnings);
    for (int i = 0; i < warnings.count; i++)
        item(out, warnings.list[i].text, strlen(warnings.list[i].text));
    if (f->set->skipped.records == 0 && f->conflicts.count == 0)
        item(out, none, strlen(none));
}

/* Its beginning. */
static void text_cell(struct sl_buffer *out, const struct dataset_facts *f, int32_t example)
{
    size_t bytes = 0;
    const char *text = f->set->text ? sl_dataset_text(f->set, example, &bytes) : "";
    sl_buffer_append_string(out, "<td class=\"said\" dir=\"auto\">");
    html_excerpt(out, text, bytes, TEXT_SHOWN);
    sl_buffer_append_string(out, "</td>");
}

static void write_pairs(struct sl_buffer *out, const struct dataset_facts *f,
                        const struct text_pairs *pairs, const char *title,
                        const char *const *columns)
{
    const int shown = pairs->count < TEXT_PAIRS_SHOWN ? pairs->count : TEXT_PAIRS_SHOWN;
    if (shown == 0)
        return;
    sl_buffer_printf(out, "<p>%s%s:</p>\n", title,
                     pairs->count > shown ? ", the first of them" : "");
    html_table(out, columns, "10100");
    for (int i = 0; i < shown; i++) {
        const struct text_pair *pair = &pairs->first[i];
        html_row(out);
        html_number(out, "%lld", (long long)pair->earlier_line);
        labels_cell(out, f, pair->earlier_labels);
        html_number(out, "%lld", (long long)pair->line);
        labels_cell(out, f, pair->labels);
        text_cell(out, f, pair->earlier);
    }
    html_table_end(out);
}

void report_dataset(struct sl_buffer *out, const struct dataset_facts *f, int context)
{
    static const char *const conflicts[] = {"line", "label", "line", "other label", "text", NULL},
                             *const leaks[] = {"training line", "label", "validation line",
                                               "label",         "text",  NULL};
    html_section(out, "The data");
    sl_buffer_append_string(out, "<ul>\n");
    write_facts(out, f, context);
    write_warnings(out, f);
    sl_buffer_append_string(out, "</ul>\n");
    write_pairs(out, f, &f->conflicts, "Equal texts with different labels; one of them is wrong",
                conflicts);
    write_pairs(out, f, &f->leaks, "Validation texts that are training texts, too", leaks);
    write_labels(out, f);
    html_section_end(out);
}
