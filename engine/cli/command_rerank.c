/* command_rerank.c - `sluice rerank`: lines of files by how well they answer a query. */
#include "base/dynarray.h"
#include "base/explained_words.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/text_lines.h"
#include "model/model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct text_arguments common;
    const char *query;
    int top;
};

static const struct sl_option rows[] = {
    {"query", "TEXT", "the query, or question, that the texts are ranked by; required",
     SL_OPTION_STRING, offsetof(struct arguments, query), 0, 0},
    {"top-n", "N", "number of texts to print, the best [all]", SL_OPTION_INT,
     offsetof(struct arguments, top), 1, INT_MAX / 2},
    TEXT_FILE_OPTIONS,
    ENGINE_OPTIONS(struct text_arguments),
    {0}};

static const char notes[] =
    "\n"
    "A file has one text per line or, with --text, one per record of CSV, TSV or JSON Lines,\n"
    "in UTF-8; it may be compressed with gzip or xz. - is standard input. The model reads the\n"
    "query and a text together; of a pair that is too long, the longer one is cut. For each\n"
    "text a line is printed, the highest score first: score (0.999999 at most), the line where\n"
    "the text begins in its file, and text, separated by tabs; with --json, an object with\n"
    "\"score\", \"line\" and \"text\". Texts with the same score are in the order of the files.\n"
    "Empty texts are skipped. For a text that cannot be ranked an error is printed, and the\n"
    "exit code is 2.\n";

struct ranked {
    float logit; /* probabilities near 1 are rounded to the same number */
    int64_t order, line;
    size_t bytes;
    char *text; /* owned */
};

struct ranking {
    const struct arguments *a;
    struct ranked *list;
    size_t count, capacity;
    int64_t texts; /* so far, with those that are no longer in the list */
};

/* -- collecting ------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Sorts the list and keeps its first texts. */
static void keep_best(struct ranking *ranking, size_t most)
{
    if (ranking->count > 0)
        qsort(ranking->list, ranking->count, sizeof *ranking->list, compare);
    while (ranking->count > most)
        free(ranking->list[--ranking->count].text);
}

/* Where only the best are printed, at most twice as many are kept. */
static bool collect(struct text_lines *lines, struct text_line *line,
                    const struct sl_classifier_item *item, struct sl_err *err)
{
    struct ranking *ranking = lines->context;
    const struct arguments *a = ranking->a;
    if (!sl_dynarray_reserve(&ranking->list, &ranking->capacity, ranking->count + 1,
                             sizeof *ranking->list, err))
        return false;
    char *text = malloc(line->bytes + 1);
    if (!text)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a text");
    memcpy(text, line->text, line->bytes);
    ranking->list[ranking->count++] = (struct ranked){.logit = item->logits[0],
                                                      .order = ranking->texts++,
                                                      .line = line->number,
                                                      .bytes = line->bytes,
                                                      .text = text};
    if (a->top > 0 && ranking->count == 2 * (size_t)a->top)
        keep_best(ranking, (size_t)a->top);
    return true;
}

/* -- printing --------------------------------------------------------------------------------- */

static bool print_object(const struct ranked *r, double score, struct sl_err *err)
{
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    sl_json_add(&json, "{'score':%f,'line':%lld,'text':%.*s}", score, (long long)r->line,
                (int)r->bytes, r->text);
    return text_lines_print_json(&out, err);
}

static void print_line(const struct ranked *r, double score)
{
    (void)printf("%.6g\t%lld\t", sl_printed_score(score), (long long)r->line);
    sl_print_text(r->text, r->bytes);
    (void)putchar('\n');
}

static bool print_ranking(const struct sl_model *m, const struct ranking *ranking,
                          struct sl_err *err)
{
    for (size_t i = 0; i < ranking->count; i++) {
        float score;
        sl_model_scores(m, &ranking->list[i].logit, &score);
        if (!ranking->a->common.json)
            print_line(&ranking->list[i], (double)score);
        else if (!print_object(&ranking->list[i], (double)score, err))
            return false;
    }
    return (fflush(stdout) == 0 && !ferror(stdout)) ||
           sl_fail(err, SL_IO, "cannot write to standard output");
}

/* -- all of it -------------------------------------------------------------------------------- */

static bool check_query(const char *query, struct sl_err *err)
{
    if (!query || !query[0])
        return fail_missing(&command_rerank, "--query TEXT", err);
    return sl_utf8_check(query, strlen(query), err) || sl_wrap(err, "--query");
}

static bool check_model(const struct sl_model *m, struct sl_err *err)
{
    const struct sl_model_info *info = sl_model_info(m);
    if (info->task != SL_TASK_CLASSIFICATION)
        return fail_task(info->task, err);
    return (info->takes_pairs && info->classes == 1) ||
           sl_fail(err, SL_BAD_INPUT,
                   "the model is no reranker, which has one label for a query and a text: use "
                   "`sluice classify`");
}

/* Those that were ranked are printed, even if others could not be. */
static bool rerank(struct text_lines *lines, void *arguments, struct sl_err *err)
{
    const struct arguments *a = arguments;
    struct ranking ranking = {.a = a};
    struct sl_err why;
    lines->done = "ranked";
    lines->query = a->query;
    lines->print = collect;
    lines->context = &ranking;
    if (!check_query(a->query, err) || !check_model(lines->m, err))
        return false;
    const bool all = text_lines_run(lines, err);
    keep_best(&ranking, a->top > 0 ? (size_t)a->top : ranking.count);
    const bool printed = print_ranking(lines->m, &ranking, all ? err : &why);
    keep_best(&ranking, 0);
    free(ranking.list);
    return all && printed;
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    return text_lines_command(&command_rerank, &a, rerank, count, words, err);
}

const struct command command_rerank = {
    .name = "rerank",
    .operands = "MODEL-DIR --query TEXT (TEXT-FILE | -)...",
    .help = "rank the lines of text files by a query",
    .run = run,
    .rows = rows,
    .notes = notes,
};
