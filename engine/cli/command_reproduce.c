/* command_reproduce.c - `sluice reproduce`: lists the tables of papers in experiments/, and runs
 * them. */
#include "base/option_parser.h"
#include "checkpoint/base_model.h"
#include "cli/command.h"
#include "cli/reproduce/experiment_figures.h"
#include "cli/reproduce/experiment_results.h"
#include "cli/reproduce/experiment_run.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPERANDS_MAX = 64 };

struct arguments {
    const char *experiments, *data, *output;
    bool quick, page, json;
    int threads;
    const char *operands[OPERANDS_MAX];
    int count;
};

static const struct sl_option rows[] = {
    {"data", "DIR", "directory of the data files [data]", SL_OPTION_STRING,
     offsetof(struct arguments, data), 0, 0},
    {"output", "DIR",
     "directory for PAPER/NAME.json, the results, and for the trainings, which are resumed from it "
     "[reproduced]",
     SL_OPTION_STRING, offsetof(struct arguments, output), 0, 0},
    {"quick", NULL, "train for minutes only, which shows the direction", SL_OPTION_FLAG,
     offsetof(struct arguments, quick), 0, 0},
    {"experiments", "DIR", "directory of PAPER/NAME.yaml [those of Sluice]", SL_OPTION_STRING,
     offsetof(struct arguments, experiments), 0, 0},
    {"page", NULL, "print the results in these files as tables in Markdown", SL_OPTION_FLAG,
     offsetof(struct arguments, page), 0, 0},
    THREADS_OPTION(struct arguments),
    {"json", NULL, "print JSON: a line for each event of a training and each result",
     SL_OPTION_FLAG, offsetof(struct arguments, json), 0, 0},
    {0}};

static const char notes[] =
    "\n"
    "Without a paper it lists the experiments. Nothing is downloaded: a missing data file is\n"
    "named with the place where it is published. A command that was stopped continues when it\n"
    "is repeated.\n"
    "\n"
    "Examples:\n"
    "  sluice reproduce tsa shakespeare --data ~/data --output ~/reproduced\n"
    "  sluice reproduce --page ~/reproduced/tsa/shakespeare.json\n";

/* ---- which experiments ----------------------------------------------------------------------- */

/* The directory that is given, installed or in the source tree. */
static bool find_experiments(const char *given, char path[static SL_PATH_MAX], struct sl_err *err)
{
    if (given)
        return snprintf(path, SL_PATH_MAX, "%s", given) < SL_PATH_MAX &&
               (access(path, R_OK) == 0 ||
                sl_fail(err, SL_NOT_FOUND, "--experiments: no directory '%s'", given));
    for (int i = 0; sl_installed_folder("experiments", i, path); i++)
        if (path[0] && access(path, R_OK) == 0)
            return true;
    return sl_fail(err, SL_NOT_FOUND,
                   "Sluice's experiments are not installed; name a directory with --experiments");
}

/* A directory may have characters that are special in patterns. */
static void add_quoted(struct sl_buffer *pattern, const char *text)
{
    for (; *text; text++) {
        if (strchr("*?[\\", *text))
            sl_buffer_append(pattern, "\\", 1);
        sl_buffer_append(pattern, text, 1);
    }
}

/* The files of these, in alphabetical order; globfree() them. */
static bool find_files(const struct arguments *a, glob_t *found, struct sl_err *err)
{
    char directory[SL_PATH_MAX];
    struct sl_buffer pattern = {0};
    if (!find_experiments(a->experiments, directory, err))
        return false;
    add_quoted(&pattern, directory);
    for (int i = 0; i < 2; i++) {
        sl_buffer_append(&pattern, "/", 1);
        if (i < a->count)
            add_quoted(&pattern, a->operands[i]);
        else
            sl_buffer_append(&pattern, "*", 1);
    }
    sl_buffer_append_string(&pattern, ".yaml");
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    bool any = !pattern.failed && glob(pattern.data, 0, NULL, found) == 0;
    sl_buffer_release(&pattern);
    if (any)
        return true;
    return sl_fail(err, SL_NOT_FOUND,
                   "no experiment '%s%s%s' in '%s'; `sluice reproduce` lists them",
                   a->count > 0 ? a->operands[0] : "", a->count > 1 ? "/" : "",
                   a->count > 1 ? a->operands[1] : "", directory);
}

/* ---- listing --------------------------------------------------------------------------------- */

static void list_one(const struct experiment *e, bool as_json)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    if (!as_json) {
        (void)printf("%-24s %s\n%24s %s\n", e->id, e->title, "", e->paper);
        for (int i = 0; i < e->data_count; i++)
            (void)printf("%24s data: %s, %s\n", "", e->data[i].file,
                         e->data[i].origin ? e->data[i].origin : "made");
        return;
    }
    sl_json_add(&json, "{'experiment':%s,'title':%s,'paper':%s,'url':%s,'about':%s,'data':[", e->id,
                e->title, e->paper, e->url, e->about);
    for (int i = 0; i < e->data_count; i++)
        sl_json_add(&json, "{'file':%s,'origin':%s,'about':%s}", e->data[i].file, e->data[i].origin,
                    e->data[i].about);
    sl_json_add(&json, "],'rows':[");
    for (int i = 0; i < e->row_count; i++)
        sl_json_add_string(&json, e->rows[i].name);
    sl_json_add(&json, "]}");
    command_print_json(&text);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool run_one(const struct arguments *a, const struct experiment *e, struct sl_err *err)
{
    struct experiment_run run = {.experiment = e,
                                 .data = a->data,
                                 .output = a->output,
                                 .quick = a->quick,
                                 .json = a->json,
                                 .threads = a->threads};
    if (!experiment_run_check_data(&run, err))
        return false;
    bool ok = experiment_results_open(&run, err) && experiment_run_all(&run, err) &&
              experiment_figures_write(&run, err);
    if (ok)
        (a->json ? experiment_results_print_json : experiment_results_print)(run.results);
    json_decref(run.results);
    return ok;
}

static bool visit(const struct arguments *a, const char *path, struct sl_err *err)
{
    struct experiment e;
    if (!experiment_open(&e, path, err))
        return false;
    bool ok = true;
    if (a->count > 0)
        ok = run_one(a, &e, err);
    else
        list_one(&e, a->json);
    experiment_close(&e);
    return ok;
}

static bool visit_all(const struct arguments *a, struct sl_err *err)
{
    glob_t found = {0};
    if (!find_files(a, &found, err))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < found.gl_pathc; i++)
        ok = visit(a, found.gl_pathv[i], err);
    globfree(&found);
    return ok;
}

static bool print_pages(const struct arguments *a, struct sl_err *err)
{
    for (int i = 0; i < a->count; i++) {
        (void)printf("%s", i > 0 ? "\n" : "");
        if (!experiment_results_print_page(a->operands[i], err))
            return false;
    }
    return a->count > 0 || fail_missing(&command_reproduce, "RESULTS.json after --page", err);
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {.data = "data", .output = "reproduced"};
    struct sl_option_parser parser = {.tables = {{.rows = rows, .values = &a}},
                                      .operands = a.operands,
                                      .operands_max = OPERANDS_MAX};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    a.count = parser.operand_count;
    if (a.page)
        return print_pages(&a, err);
    if (a.count > 2)
        return sl_fail(err, SL_BAD_INPUT, "unexpected '%s': expected a paper and a name",
                       a.operands[2]);
    return visit_all(&a, err);
}

const struct command command_reproduce = {
    .name = "reproduce",
    .operands = "[PAPER [NAME]]\n--page RESULTS.json...",
    .help = "train the models of a paper's table, and print it beside the paper's",
    .run = run,
    .rows = rows,
    .notes = notes,
};
