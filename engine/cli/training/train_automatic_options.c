/* train_automatic_options.c - options of `sluice train` without an architecture. */
#include "cli/training/train_automatic_options.h"

#include "base/comma_list.h"
#include "base/number_text.h"
#include "cli/command.h"
#include "data/data_options.h"

#include <stdio.h>
#include <string.h>

#define AT(member)     offsetof(struct train_automatic_options, member)
#define SOURCE(member) offsetof(struct train_automatic_options, sources.member)

const struct sl_option train_automatic_rows[] = {
    {"min-precision", "X",
     "print the lowest score S such that of the predictions scored S or higher at least this "
     "fraction is right, by the lower end of its 95 % interval, and how many texts reach S",
     SL_OPTION_REAL, AT(min_precision), 0.01, 0.9999},
    {"quick", NULL, "try linear recipes alone, even where there is an encoder", SL_OPTION_FLAG,
     AT(quick), 0, 0},
    {"standalone", NULL,
     "write the word vectors into the model; otherwise it refers to those of a base that is in the "
     "same store or installed with Sluice, and must stay there",
     SL_OPTION_FLAG, AT(standalone), 0, 0},
    {"time", "DURATION",
     "use this much time, such as 90s, 10m or 2h: try more recipes near the best, then the best "
     "ones again with more folds; an encoder may read more texts [only the usual recipes]",
     SL_OPTION_STRING, AT(time), 0, 0},
    {0}};

/* Options that training of an architecture has, too. */
static const struct sl_option rows[] = {
    {"data", "FILE", "labelled texts", SL_OPTION_STRING, SOURCE(data), 0, 0},
    {"validation", "FILE", "labelled texts to measure the model on", SL_OPTION_STRING,
     SOURCE(validation), 0, 0},
    {"labels", "FILE", "all labels, one per line", SL_OPTION_STRING, SOURCE(labels), 0, 0},
    SL_DATA_OPTIONS(SOURCE),
    {"truncate", "SIDE", "side from which to cut", SL_OPTION_STRING, AT(truncate), 0, 0},
    {"init-from", "DIR", "model with word vectors", SL_OPTION_STRING, AT(base), 0, 0},
    {"run-dir", "DIR", "directory for log.jsonl", SL_OPTION_STRING, AT(run), 0, 0},
    {"output", "DIR", "directory to publish to", SL_OPTION_STRING, AT(out), 0, 0},
    {"report", "DIR", "directory for a report", SL_OPTION_STRING, AT(report), 0, 0},
    {"report-title", "TEXT", "title of the report", SL_OPTION_STRING, AT(report_title), 0, 0},
    {"overwrite", NULL, "replace the model", SL_OPTION_FLAG, AT(overwrite), 0, 0},
    ENGINE_OPTIONS(struct train_automatic_options),
    {0}};

bool train_is_automatic(int count, char **words)
{
    bool labelled = false;
    for (int i = 0; i < count; i++)
        labelled = labelled || strncmp(words[i], "--data", strlen("--data")) == 0;
    return labelled && words[0][0] == '-';
}

void train_automatic_help(void)
{
    printf("\nWithout an architecture, linear models and an encoder are tried; cross-validation\n"
           "chooses the recipe. Then only these options may be given:\n ");
    for (const struct sl_option *row = rows; row->name; row++)
        printf(" --%s", row->name);
    for (const struct sl_option *row = train_automatic_rows; row->name; row++)
        printf(" --%s", row->name);
    printf("\n");
}

void train_automatic_options_list(char *out, size_t size)
{
    out[0] = '\0';
    for (const struct sl_option *row = rows; row->name; row++)
        (void)sl_list_add(out, size, row->name);
    for (const struct sl_option *row = train_automatic_rows; row->name; row++)
        (void)sl_list_add(out, size, row->name);
}

bool train_automatic_options_read(struct train_automatic_options *options, int count, char **words,
                                  char unknown[static SL_NAME_BYTES], struct sl_err *err)
{
    struct sl_option_parser parser = {
        .tables = {{.rows = rows, .values = options},
                   {.rows = train_automatic_rows, .values = options}}};
    *options = (struct train_automatic_options){.sources.columns.skip_incomplete = true};
    bool good = sl_options_parse(&parser, count, words, err);
    (void)snprintf(unknown, SL_NAME_BYTES, "%s", parser.unknown);
    return good &&
           (!options->time || sl_time_limit_read("--time", options->time, &options->seconds, err));
}
