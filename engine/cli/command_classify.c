/* command_classify.c - `sluice classify`: classifies each line of files. `sluice train` reads what
 * it prints, so one model can label the training data of another. */
#include "base/option_parser.h"
#include "cli/command.h"
#include "cli/explain_text.h"
#include "cli/text_lines.h"
#include "model/model.h"
#include "sluice/session.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The highest score printed: with six digits, 0.9999999 would print as 1. */
static const double max_score = 0.999999;

struct arguments {
    struct text_arguments common;
    double min_score;
    int explain;
};

static const struct sl_option rows[] = {
    {"min-score", "P", "print only texts whose label has at least this probability [0]",
     SL_OPTION_REAL, offsetof(struct arguments, min_score), 0, 1},
    TRUNCATE_OPTION(struct text_arguments),
    {"explain", "N", "also print the N words that moved the score of each label most [0]",
     SL_OPTION_INT, offsetof(struct arguments, explain), 0, SL_OCCLUSIONS_MAX},
    ENGINE_OPTIONS(struct text_arguments),
    {0}};

static void options(const char *operand)
{
    (void)operand;
    command_help(&command_classify, &(struct sl_option_parser){.tables = {{.rows = rows}}});
    printf(
        "\n"
        "A file has one text per line, in UTF-8; it may be compressed with gzip or xz. - is\n"
        "standard input. For each text a line is printed: label, probability (0.999999 at most)\n"
        "and text, separated by tabs; with --json, an object with \"label\", \"score\" and\n"
        "\"text\". With --explain, a terminal shows words that raised the score in green and\n"
        "others in red; else a fourth column, or \"words\" of the object, has what each added to\n"
        "the label's logit less the mean of the others. Empty lines are skipped. For a line that\n"
        "cannot be classified an error is printed, and the exit code is 2.\n");
}

struct classification {
    const struct arguments *a;
    struct explainer explainer;
};

/* -- output ------------------------------------------------------------------------------------ */

static json_t *words_json(const struct text_line *w, const struct explainer *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->word_count; i++) {
        const struct sl_explained_word *word = &e->words[i];
        (void)json_array_append_new(
            list, json_pack("{s:s%, s:I, s:I, s:f}", "word", w->text + word->start,
                            word->stop - word->start, "start", (json_int_t)word->start, "stop",
                            (json_int_t)word->stop, "contribution", word->contribution));
    }
    return list;
}

static bool print_json(const struct text_line *w, const char *label, double score,
                       const struct explainer *e)
{
    json_t *o =
        json_pack("{s:s, s:f, s:s%}", "label", label, "score", score, "text", w->text, w->bytes);
    if (e->words_max > 0)
        (void)json_object_set_new(o, "words", words_json(w, e));
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    bool ok = text && puts(text) >= 0;
    free(text);
    json_decref(o);
    return ok;
}

/* A fourth column has the words, unless the text shows them by colors. */
static bool print_explained(const struct text_line *w, const char *label, double score,
                            const struct explainer *e)
{
    bool colors = sl_output_has_colors();
    if (printf("%s\t%.6g\t", label, fmin(score, max_score)) <= 0)
        return false;
    sl_print_colored(w->text, w->bytes, e->words, colors ? e->word_count : 0);
    if (!colors) {
        (void)putchar('\t');
        sl_print_words(w->text, e->words, e->word_count);
    }
    return putchar('\n') != EOF;
}

static bool print_line(struct text_line *w, const char *label, double score)
{
    for (size_t i = 0; i < w->bytes; i++)
        if (w->text[i] == '\t')
            w->text[i] = ' ';
    return printf("%s\t%.6g\t", label, fmin(score, max_score)) > 0 &&
           fwrite(w->text, 1, w->bytes, stdout) == w->bytes && putchar('\n') != EOF;
}

static bool print_text(struct text_lines *lines, struct text_line *line,
                       const struct sl_classifier_item *item, struct sl_err *err)
{
    struct classification *c = lines->context;
    float scores[SL_CLASSES_MAX];
    int classes = lines->m->config.classes;
    sl_softmax(item->logits, classes, scores);
    int best = sl_argmax(scores, classes);
    double score = (double)scores[best];
    if (score < c->a->min_score)
        return true;
    const struct sl_tokenized_text text = {
        .text = line->text, .bytes = line->bytes, .offsets = line->offsets, .count = line->count};
    c->explainer.classifier = lines->classifier;
    if (lines->explains && !explain_text(&c->explainer, &text, item, best, err))
        return false;
    const char *label = lines->m->labels[best];
    bool ok = c->a->common.json ? print_json(line, label, score, &c->explainer)
              : lines->explains ? print_explained(line, label, score, &c->explainer)
                                : print_line(line, label, score);
    return ok || sl_fail(err, SL_IO, "cannot write to standard output");
}

static bool classify(struct text_lines *lines, void *arguments, const char *const *files, int count,
                     struct sl_err *err)
{
    const struct arguments *a = arguments;
    struct classification c = {.a = a, .explainer = {.model = lines->m, .words_max = a->explain}};
    lines->command = "classify";
    lines->done = "classified";
    lines->explains = a->explain > 0;
    lines->print = print_text;
    lines->context = &c;
    if (lines->m->config.task != SL_TASK_CLASSIFICATION)
        return fail_task(lines->m->config.task, err);
    return text_lines_run(lines, files, count, err);
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    return text_lines_command(&command_classify, rows, &a, classify, count, words, err);
}

const struct command command_classify = {
    .name = "classify",
    .operands = "MODEL-DIR (TEXT-FILE | -)...",
    .help = "classify each line of text files",
    .run = run,
    .print_help = options,
};
