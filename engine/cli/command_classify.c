/* command_classify.c - `sluice classify`: classifies each line of files. `sluice train` reads what
 * it prints, so one model can label the training data of another. */
#include "cli/command.h"
#include "cli/entity_lines.h"
#include "cli/evaluation/explain_text.h"
#include "cli/evaluation/label_names.h"
#include "cli/text_lines.h"
#include "model/model.h"

#include <stdio.h>

struct arguments {
    struct text_arguments common;
    double min_score;
    int explain;
    const char *separator, *aggregation;
};

static const struct sl_option rows[] = {
    {"min-score", "P", "print only texts whose label has at least this probability [0]",
     SL_OPTION_REAL, offsetof(struct arguments, min_score), 0, 1},
    {"label-separator", "TEXT",
     "what to print between the labels of a text, if the model gives texts several [|]",
     SL_OPTION_STRING, offsetof(struct arguments, separator), 0, 0},
    TEXT_FILE_OPTIONS,
    {"explain", "N", "also print the N words that moved the score of each label most [0]",
     SL_OPTION_INT, offsetof(struct arguments, explain), 0, SL_OCCLUSIONS_MAX},
    {"aggregation", "HOW",
     "of models that classify tokens: how these become entities: none, simple, first, average or "
     "max [simple]",
     SL_OPTION_STRING, offsetof(struct arguments, aggregation), 0, 0},
    ENGINE_OPTIONS(struct text_arguments),
    {0}};

static const char notes[] =
    "\n"
    "A file has one text per line or, with --text, one per record of CSV, TSV or JSON Lines,\n"
    "in UTF-8; it may be compressed with gzip or xz. - is standard input. For each\n"
    "text a line is printed: label, probability (0.999999 at most) and text, separated by\n"
    "tabs; line breaks and tabs of the text become spaces. With --json an object is printed,\n"
    "with \"label\", \"score\", \"line\" (where the text begins in its file) and \"text\".\n"
    "With --explain, a terminal shows words that raised the score in green and others in red;\n"
    "else a fourth column, or \"words\" of the object, has what each added to the label's\n"
    "logit less the mean of the others. Empty texts are skipped. For a text that cannot be\n"
    "classified an error is printed, and the exit code is 2.\n"
    "\n"
    "A model that was trained with --label-separator gives a text each label whose\n"
    "probability is 0.5 or more: they are printed as a|b, or nothing if there is none, and\n"
    "with --json \"label\" is a list and \"scores\" has their probabilities. The line's\n"
    "probability is that of the least certain label, given or not. With --explain each\n"
    "label has a line of its own, with its probability, and \"words\" a list for each.\n"
    "\n"
    "A model that classifies tokens prints a line for each entity but those of the label O:\n"
    "label, probability, the entity and the text; with --json an object for each text, whose\n"
    "\"entities\" say where they are, in characters.\n";

struct classification {
    const struct arguments *a;
    struct explainer explainer;
    /* Of the present text: */
    struct text_line *line;
    const struct sl_classifier_item *item;
    float scores[SL_CLASSES_MAX];
    int labels[SL_CLASSES_MAX], count; /* that are predicted */
    double score;                      /* the probability of the least certain one */
};

static const char *label_of(const struct classification *c, int index)
{
    return c->explainer.model->labels[c->labels[index]];
}

static double score_of(const struct classification *c, int index)
{
    return (double)c->scores[c->labels[index]];
}

/* Where labels are independent, one that is not predicted is as certain as it is improbable. */
static void predict(struct classification *c)
{
    const struct sl_model *m = c->explainer.model;
    sl_model_scores(m, c->item->logits, c->scores);
    c->count = sl_model_predicted(m, c->scores, c->labels);
    if (!m->config.multi_label) {
        c->score = score_of(c, 0);
        return;
    }
    c->score = 1.0;
    for (int i = 0; i < m->config.classes; i++) {
        const double p = (double)c->scores[i], certain = p > 0.5 ? p : 1.0 - p;
        if (certain < c->score) /* with fmin, GCC 12 for ARM ends with an internal error */
            c->score = certain;
    }
}

static bool explain(struct classification *c, int index, struct sl_err *err)
{
    const struct sl_tokenized_text text = {.text = c->line->text,
                                           .bytes = c->line->bytes,
                                           .offsets = c->line->offsets,
                                           .count = c->line->count};
    return explain_text(&c->explainer, &text, c->item, c->labels[index], err);
}

/* -- output ------------------------------------------------------------------------------------ */

static bool is_multi_label(const struct classification *c)
{
    return c->explainer.model->config.multi_label;
}

static void write_words(struct sl_json_writer *json, const struct text_line *w,
                        const struct explainer *e)
{
    sl_json_begin_array(json);
    for (int i = 0; i < e->word_count; i++) {
        const struct sl_explained_word *word = &e->words[i];
        sl_json_add(json, "{'word':%.*s,'start':%zu,'stop':%zu,'contribution':%f}",
                    (int)(word->stop - word->start), w->text + word->start, word->start, word->stop,
                    (double)word->contribution);
    }
    sl_json_end_array(json);
}

/* What each label has is in a list, unless there is always one. */
static void begin_each(struct sl_json_writer *json, const char *key, const struct classification *c)
{
    (void)sl_json_key(json, key);
    if (is_multi_label(c))
        sl_json_begin_array(json);
}

static void end_each(struct sl_json_writer *json, const struct classification *c)
{
    if (is_multi_label(c))
        sl_json_end_array(json);
}

static bool write_explanations(struct sl_json_writer *json, struct classification *c,
                               struct sl_err *err)
{
    begin_each(json, "words", c);
    for (int i = 0; i < c->count; i++) {
        if (!explain(c, i, err))
            return false;
        write_words(json, c->line, &c->explainer);
    }
    end_each(json, c);
    return true;
}

static void write_labels(struct sl_json_writer *json, const struct classification *c)
{
    begin_each(json, "label", c);
    for (int i = 0; i < c->count; i++)
        sl_json_add_string(json, label_of(c, i));
    end_each(json, c);
    if (!is_multi_label(c))
        return;
    begin_each(json, "scores", c);
    for (int i = 0; i < c->count; i++)
        sl_json_add_float(json, (float)score_of(c, i));
    end_each(json, c);
}

static bool write_result(struct sl_json_writer *json, struct classification *c, struct sl_err *err)
{
    sl_json_begin_object(json);
    write_labels(json, c);
    sl_json_add(json, "'score':%f,'line':%lld,'text':%.*s", c->score, (long long)c->line->number,
                (int)c->line->bytes, c->line->text);
    if (c->explainer.words_max > 0 && !write_explanations(json, c, err))
        return false;
    sl_json_end_object(json);
    return sl_buffer_check(json->out, err);
}

static bool fail_output(struct sl_err *err)
{
    return sl_fail(err, SL_IO, "cannot write to standard output");
}

static bool print_json(struct classification *c, struct sl_err *err)
{
    struct sl_buffer line = {0};
    bool ok = write_result(&(struct sl_json_writer){.out = &line}, c, err) &&
              (puts(line.data) >= 0 || fail_output(err));
    sl_buffer_release(&line);
    return ok;
}

/* A fourth column has the words, unless the text shows them by colors. */
static bool print_explained(const struct classification *c, const char *label, double score)
{
    const struct explainer *e = &c->explainer;
    bool colors = sl_output_has_colors();
    if (printf("%s\t%.6g\t", label, sl_printed_score(score)) <= 0)
        return false;
    sl_print_colored(c->line->text, c->line->bytes, e->words, colors ? e->word_count : 0);
    if (!colors) {
        (void)putchar('\t');
        sl_print_words(c->line->text, e->words, e->word_count);
    }
    return putchar('\n') != EOF;
}

/* A line for each label. */
static bool print_explanations(struct classification *c, struct sl_err *err)
{
    c->explainer.word_count = 0;
    if (c->count == 0)
        return print_explained(c, "", c->score) || fail_output(err);
    for (int i = 0; i < c->count; i++) {
        if (!explain(c, i, err))
            return false;
        if (!print_explained(c, label_of(c, i), score_of(c, i)))
            return fail_output(err);
    }
    return true;
}

static bool print_line(const struct classification *c, struct sl_err *err)
{
    for (int i = 0; i < c->count; i++)
        if (printf("%s%s", i > 0 ? c->a->separator : "", label_of(c, i)) < 0)
            return fail_output(err);
    if (printf("\t%.6g\t", sl_printed_score(c->score)) <= 0)
        return fail_output(err);
    sl_print_text(c->line->text, c->line->bytes);
    return (putchar('\n') != EOF && !ferror(stdout)) || fail_output(err);
}

static bool print_text(struct text_lines *lines, struct text_line *line,
                       const struct sl_classifier_item *item, struct sl_err *err)
{
    struct classification *c = lines->context;
    c->line = line;
    c->item = item;
    c->explainer.classifier = lines->classifier;
    predict(c);
    if (c->score < c->a->min_score)
        return true;
    return c->a->common.json ? print_json(c, err)
           : lines->explains ? print_explanations(c, err)
                             : print_line(c, err);
}

static bool classify_tokens(struct text_lines *lines, const struct arguments *a, struct sl_err *err)
{
    struct entity_printer printer = {.json = a->common.json, .min_score = a->min_score};
    lines->done = "classified";
    lines->places = true;
    lines->print = print_entity_lines;
    lines->context = &printer;
    if (a->explain > 0)
        return sl_fail(err, SL_BAD_INPUT, "--explain is for models that classify texts");
    return read_aggregation(a->aggregation, &printer.how, err) && text_lines_run(lines, err);
}

static bool classify(struct text_lines *lines, void *arguments, struct sl_err *err)
{
    const struct arguments *a = arguments;
    if (lines->m->config.task == SL_TASK_TOKEN_CLASSIFICATION)
        return classify_tokens(lines, a, err);
    struct classification c = {.a = a, .explainer = {.model = lines->m, .words_max = a->explain}};
    lines->done = "classified";
    lines->places = lines->explains = a->explain > 0;
    lines->print = print_text;
    lines->context = &c;
    if (lines->m->config.task != SL_TASK_CLASSIFICATION)
        return fail_task(lines->m->config.task, err);
    return text_lines_run(lines, err);
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {.separator = LABEL_SEPARATOR};
    return text_lines_command(&command_classify, &a, classify, count, words, err);
}

const struct command command_classify = {
    .name = "classify",
    .operands = "MODEL-DIR (TEXT-FILE | -)...",
    .help = "classify each line of text files",
    .run = run,
    .rows = rows,
    .notes = notes,
};
