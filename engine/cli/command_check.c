/* command_check.c - `sluice check`: says what a file of labelled texts holds before training. */
#include "base/explained_words.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/evaluation/data_check.h"
#include "cli/evaluation/label_names.h"
#include "data/data_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 5, RECORDS_MAX = 100000, TEXT_SHOWN = 60, LABELS_SHOWN = 20, COLUMNS_SHOWN = 20 };

struct arguments {
    struct sl_record_options columns;
    int records;
    bool json;
};

static const struct sl_option rows[] = {
    {"label", "COLUMN", SL_LABEL_HELP, SL_OPTION_STRING, offsetof(struct arguments, columns.label),
     0, 0},
    {"text", "COLUMNS", SL_TEXT_HELP, SL_OPTION_STRING, offsetof(struct arguments, columns.text), 0,
     0},
    {"label-separator", "TEXT",
     "separator between the labels of texts that may have several, such as '|' [a field is one "
     "label]",
     SL_OPTION_STRING, offsetof(struct arguments, columns.label_separator), 0, 0},
    {"format", "NAME", SL_FORMAT_HELP, SL_OPTION_STRING, offsetof(struct arguments, columns.format),
     0, 0},
    {"name", "NAME", "the file's name in messages, which has its format at its end [its path]",
     SL_OPTION_STRING, offsetof(struct arguments, columns.display_name), 0, 0},
    {"records", "N", "print the first N records [5]", SL_OPTION_INT,
     offsetof(struct arguments, records), 0, RECORDS_MAX},
    {"json", NULL, "print JSON, with the records' whole texts", SL_OPTION_FLAG,
     offsetof(struct arguments, json), 0, 0},
    {0}};

static const char notes[] =
    "\n"
    "The options are those of `sluice train`. Without --label and --text, two columns of which\n"
    "only one can be the label are recognised. Exit code 2: training would fail.\n";

static int records_of(const struct data_check *c, const struct arguments *a)
{
    return a->records < c->set.count ? a->records : c->set.count;
}

/* ---- for people ------------------------------------------------------------------------------ */

/* Names are those of a stranger's file: no control characters. name NULL: there is none. */
static void print_column(const char *what, const char *name)
{
    char shown[SL_NAME_SHORT];
    if (name)
        printf("%s: column '%s'\n", what, sl_name_shorten(name, strlen(name), shown));
}

static void print_columns(const struct data_check *c, const char *path)
{
    const struct sl_file_columns *columns = &c->columns;
    char name[SL_NAME_SHORT];
    printf("%s: %s", path, columns->format ? columns->format : "format unknown");
    for (int i = 0; i < columns->count && i < COLUMNS_SHOWN; i++)
        printf("%s '%s'", i ? "," : ", columns",
               sl_name_shorten(columns->names[i], strlen(columns->names[i]), name));
    if (columns->count > COLUMNS_SHOWN)
        printf(" and %d more", columns->count - COLUMNS_SHOWN);
    printf("\n");
    print_column("label", c->inspection.label);
    print_column("text", c->inspection.text);
}

static void print_counts(const struct data_check *c)
{
    const struct sl_labels *labels = &c->set.labels;
    char name[SL_NAME_SHORT], quoted[LABEL_QUOTED];
    printf("%d texts, %d labels", c->set.count, labels->count);
    for (int i = 0; i < labels->count && i < LABELS_SHOWN; i++)
        printf("%s %s %d", i ? "," : ":", label_quoted(sl_labels_shown(labels, i, name), quoted),
               c->label_texts[i]);
    if (labels->count > LABELS_SHOWN)
        printf(" and %d more", labels->count - LABELS_SHOWN);
    printf("%s\n", c->set.multi_label ? "; a text may have several" : "");
}

static void print_records(const struct data_check *c, int count)
{
    char labels[SL_NAME_SHORT];
    for (int i = 0; i < count; i++) {
        size_t bytes;
        const char *text = sl_dataset_text(&c->set, i, &bytes);
        const size_t shown = sl_utf8_fit(text, bytes, TEXT_SHOWN);
        printf("  line %lld '%s': ", (long long)c->set.examples[i].line,
               label_names_short(&c->set.labels, sl_label_list(&c->set.label_lists, i), labels));
        sl_print_text(text, shown);
        printf("%s\n", shown < bytes ? "..." : "");
    }
}

static void print_problems(const struct sl_problem_list *problems)
{
    if (problems->count > 0)
        printf("training would fail:\n");
    for (int i = 0; i < problems->kept; i++) {
        const struct sl_problem *p = &problems->list[i];
        if (p->line > 0)
            printf("  line %" PRId64 ": %s\n", p->line, p->message);
        else
            printf("  %s\n", p->message);
    }
    if (problems->count > problems->kept)
        printf("  and %d more\n", problems->count - problems->kept);
}

static void print_text(const struct data_check *c, const char *path, const struct arguments *a)
{
    print_columns(c, path);
    print_counts(c);
    print_records(c, records_of(c, a));
    print_problems(&c->inspection.problems);
    (void)fflush(stdout);
    dataset_warnings_print(&c->warnings, "check");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_columns(const struct data_check *c, struct sl_json_writer *json)
{
    sl_json_add(json, "'format':%s,'columns':[", c->columns.format);
    for (int i = 0; i < c->columns.count; i++)
        sl_json_add_string(json, c->columns.names[i]);
    sl_json_add(json, "],'label':%s,'text':%s,", c->inspection.label, c->inspection.text);
}

static void add_labels(const struct data_check *c, struct sl_json_writer *json)
{
    sl_json_add(json, "'texts':%d,'labels':[", c->set.count);
    for (int i = 0; i < c->set.labels.count; i++)
        sl_json_add(json, "{'label':%s,'texts':%d}", c->set.labels.list[i].name, c->label_texts[i]);
    sl_json_add(json, "],'multi_label':%i,", c->set.multi_label);
}

static void add_problems(const struct sl_problem_list *problems, struct sl_json_writer *json)
{
    sl_json_add(json, "'problem_count':%d,'problems':[", problems->count);
    for (int i = 0; i < problems->kept; i++) {
        sl_json_add(json, "{'line':");
        sl_json_add_positive(json, problems->list[i].line);
        sl_json_add(json, ",'message':%s}", problems->list[i].message);
    }
    sl_json_add(json, "],");
}

/* As strings, in words of a job: who reads JSON may have no command line. */
static void add_warnings(const struct dataset_warnings *warnings, bool notes_only,
                         struct sl_json_writer *json)
{
    for (int i = 0; i < warnings->count; i++) {
        const struct dataset_warning *w = &warnings->list[i];
        char message[sizeof w->text + sizeof w->setting + 2];
        (void)snprintf(message, sizeof message, "%s%s%s", w->text, w->setting[0] ? "; " : "",
                       w->setting);
        if (w->is_note == notes_only)
            sl_json_add_string(json, message);
    }
}

static void add_records(const struct data_check *c, int count, struct sl_json_writer *json)
{
    for (int i = 0; i < count; i++) {
        size_t bytes;
        const struct sl_label_list list = sl_label_list(&c->set.label_lists, i);
        const char *text = sl_dataset_text(&c->set, i, &bytes);
        sl_json_add(json, "{'line':%lld,'labels':[", (long long)c->set.examples[i].line);
        for (int k = 0; k < list.count; k++)
            sl_json_add_string(json, c->set.labels.list[list.ids[k]].name);
        sl_json_add(json, "],'text':");
        sl_json_add_bytes(json, text, bytes);
        sl_json_add(json, "}");
    }
}

static bool print_json(const struct data_check *c, int records, struct sl_err *err)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    sl_json_add(&json, "{");
    add_columns(c, &json);
    add_labels(c, &json);
    add_problems(&c->inspection.problems, &json);
    sl_json_add(&json, "'warnings':[");
    add_warnings(&c->warnings, false, &json);
    sl_json_add(&json, "],'notes':[");
    add_warnings(&c->warnings, true, &json);
    sl_json_add(&json, "],'records':[");
    add_records(c, records, &json);
    sl_json_add(&json, "]}");
    const bool ok = sl_buffer_check(&text, err);
    if (ok)
        command_print_json(&text);
    sl_buffer_release(&text);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The object says what is wrong: then the error has no text, and nothing else is printed. */
static bool report(const struct data_check *c, const char *path, const struct arguments *a,
                   struct sl_err *err)
{
    const int problems = c->inspection.problems.count;
    if (a->json)
        return print_json(c, records_of(c, a), err) &&
               (problems == 0 || sl_fail(err, SL_BAD_INPUT, "%s", ""));
    print_text(c, path, a);
    return problems == 0 || sl_fail(err, SL_BAD_INPUT, "'%s' has %d problem%s", path, problems,
                                    problems == 1 ? "" : "s");
}

static bool run_check(int count, char **words, struct sl_err *err)
{
    struct arguments a = {.columns.skip_incomplete = true, .records = RECORDS};
    const char *path = NULL;
    struct data_check *c = calloc(1, sizeof *c);
    struct sl_option_parser parser = {
        .tables = {{.rows = rows, .values = &a}}, .operands = &path, .operands_max = 1};
    bool ok = (c || sl_fail(err, SL_NO_MEMORY, "no memory to check a file")) &&
              sl_options_parse(&parser, count, words, err) &&
              (path || fail_missing(&command_check, "FILE", err)) &&
              data_check_open(c, path, &a.columns, err);
    if (ok) {
        ok = report(c, a.columns.display_name ? a.columns.display_name : path, &a, err);
        data_check_close(c);
    }
    free(c);
    return ok;
}

const struct command command_check = {.name = "check",
                                      .operands = "FILE",
                                      .help = "say what a file of labelled texts holds",
                                      .run = run_check,
                                      .rows = rows,
                                      .notes = notes};
