/* train_arguments.c - the command line of `sluice train` and `sluice init`. */
#include "cli/training/train_arguments.h"
#include "base/comma_list.h"
#include "cli/model_path.h"
#include "cli/training/train_automatic_options.h"
#include "data/data_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SOURCE(member) offsetof(struct train_arguments, training.sources.member)

const struct sl_option train_rows[] = {
    {"corpus", "FILE",
     "UTF-8 text to train a language model on; or to pretrain on, with --mask-fraction or "
     "--replace-fraction",
     SL_OPTION_STRING, offsetof(struct train_arguments, corpus), 0, 0},
    {"prompt-separator", "TEXT",
     "each line of --corpus is a prompt, this character and a completion; only completions are "
     "learnt [--corpus is one text]",
     SL_OPTION_STRING, SOURCE(prompt_separator), 0, 0},
    {"data", "FILE",
     "labelled texts to train a classifier on: TSV, CSV or JSON Lines, also .gz or .xz",
     SL_OPTION_STRING, SOURCE(data), 0, 0},
    {"task", "TASK",
     "what to learn from --data: classification, or translation of its texts [classification]",
     SL_OPTION_STRING, offsetof(struct train_arguments, task), 0, 0},
    {"source", "COLUMN", "of --data, with --task translation: the texts to translate [1]",
     SL_OPTION_STRING, SOURCE(source), 0, 0},
    {"target", "COLUMN", "of --data, with --task translation: what they are translated to [2]",
     SL_OPTION_STRING, SOURCE(target), 0, 0},
    {"validation", "FILE", "labelled texts for validation [10 % of --data, per label]",
     SL_OPTION_STRING, SOURCE(validation), 0, 0},
    {"labels", "FILE",
     "file of all labels as --data spells them, one per line; a tab and another name after a label "
     "renames it in the model, and labels with one name become one [the labels in --data]",
     SL_OPTION_STRING, SOURCE(labels), 0, 0},
    SL_DATA_OPTIONS(SOURCE),
    {"vocab-file", "FILE", "vocabulary that `sluice vocab` wrote [learnt from the texts]",
     SL_OPTION_STRING, SOURCE(vocabulary), 0, 0},
    {"truncate", "SIDE",
     "cut texts that are too long at this end, left or right; the model remembers it [right; left "
     "without an architecture; with --init-from as that model does, or left if it is not a "
     "classifier]",
     SL_OPTION_STRING, offsetof(struct train_arguments, truncate), 0, 0},
    {"init-from", "DIR",
     "start from this model: its sizes, vocabulary and weights; its last layer is "
     "initialized anew for another task or other labels",
     SL_OPTION_STRING, offsetof(struct train_arguments, training.init_from), 0, 0},
    {"teacher", "DIR",
     "learn from the predictions of this model, too (distillation); of any architecture, with the "
     "same vocabulary [none]",
     SL_OPTION_STRING, offsetof(struct train_arguments, training.teacher), 0, 0},
    {"vectors", "FILE",
     "word vectors to use as initial token embeddings; `sluice vectors` makes them [random]",
     SL_OPTION_STRING, offsetof(struct train_arguments, training.vectors), 0, 0},
    {"save-best", NULL, "publish the model of the best evaluation, not the last one",
     SL_OPTION_FLAG, offsetof(struct train_arguments, best), 0, 0},
    {"run-dir", "DIR", "directory for what --resume needs, and for log.jsonl", SL_OPTION_STRING,
     offsetof(struct train_arguments, run), 0, 0},
    {"output", "DIR",
     "directory to write the finished model to; it ends in a version, as in models/mood/1 "
     "[no model is written, only --run-dir]",
     SL_OPTION_STRING, offsetof(struct train_arguments, out), 0, 0},
    {"report", "DIR",
     "write a report on the data, the training and the published model to DIR/index.html, a web "
     "page without other files",
     SL_OPTION_STRING, offsetof(struct train_arguments, report), 0, 0},
    {"report-title", "TEXT", "title of the report [model and version, from --output]",
     SL_OPTION_STRING, offsetof(struct train_arguments, report_title), 0, 0},
    {"overwrite", NULL, "replace the model that is in --output", SL_OPTION_FLAG,
     offsetof(struct train_arguments, overwrite), 0, 0},
    {"resume", NULL,
     "continue the run in --run-dir: give the command that started it, with this option; replaces "
     "the model that is in --output",
     SL_OPTION_FLAG, offsetof(struct train_arguments, resume), 0, 0},
    {"bf16", NULL, "store matrices as bf16, which halves the size of the model", SL_OPTION_FLAG,
     offsetof(struct train_arguments, bf16), 0, 0},
    ENGINE_OPTIONS_JSON(struct train_arguments,
                        "print JSON [with an architecture: when standard output is not a "
                        "terminal]"),
    {0}};

const struct sl_option init_rows[] = {
    {"corpus", "FILE", "UTF-8 text whose characters become the vocabulary", SL_OPTION_STRING,
     offsetof(struct train_arguments, corpus), 0, 0},
    {"output", "DIR", "directory to create: <store>/<model>/<version>", SL_OPTION_STRING,
     offsetof(struct train_arguments, out), 0, 0},
    {"seed", "N", "seed for initialization [0]", SL_OPTION_INT,
     offsetof(struct train_arguments, seed), 0, 2147483647},
    {"bf16", NULL, "store matrices as bf16", SL_OPTION_FLAG, offsetof(struct train_arguments, bf16),
     0, 0},
    ENGINE_OPTIONS(struct train_arguments),
    {0}};

static const char *tasks_of(const struct sl_arch *arch, char list[SL_ARCH_LIST])
{
    list[0] = '\0';
    if (arch->tasks & SL_COMPLETES)
        sl_list_add(list, SL_ARCH_LIST, "completes");
    if (arch->tasks & SL_CLASSIFIES)
        sl_list_add(list, SL_ARCH_LIST, "classifies");
    if (arch->tasks & SL_TRANSLATES)
        sl_list_add(list, SL_ARCH_LIST, "translates");
    if (sl_arch_trains(arch) & SL_PRETRAINS)
        sl_list_add(list, SL_ARCH_LIST, "can be pretrained");
    return list;
}

/* Without an architecture, help lists those for any of the tasks. */
static void print_architectures(const char *command, unsigned tasks)
{
    char list[SL_ARCH_LIST];
    bool any_task = (tasks & (tasks - 1)) != 0;
    printf("\nArchitectures (`sluice %s NAME --help` lists the hyper-parameters of one):\n",
           command);
    for (int i = 0; sl_arch_at(i); i++) {
        const struct sl_arch *arch = sl_arch_at(i);
        if (any_task && arch->tasks & tasks)
            printf("  %-12s %s\n  %-12s (%s)\n", arch->name, arch->summary, "",
                   tasks_of(arch, list));
        else if (arch->tasks & tasks)
            printf("  %-12s %s\n", arch->name, arch->summary);
    }
}

/* Three tables. The last one depends on the architecture. */
static struct sl_option_parser parser_of(const struct sl_option *rows, const char *name)
{
    const struct sl_arch *arch = name ? sl_arch_find(name) : NULL;
    static const struct sl_option_alias aliases[] = {{"lr", "learning-rate"}, {0}};
    bool trains = rows == train_rows;
    return (struct sl_option_parser){.aliases = aliases,
                                     .tables = {{.rows = rows},
                                                {.heading = "Training hyper-parameters",
                                                 .numbers = trains ? sl_hyperparameter_rows : NULL},
                                                {.numbers = arch ? arch->hypers : NULL}}};
}

enum { HEADING_BYTES = 192 };

static const char *heading_of(const char *name, char heading[HEADING_BYTES])
{
    const struct sl_arch *arch = name ? sl_arch_find(name) : NULL;
    if (arch)
        (void)snprintf(heading, HEADING_BYTES, "Hyper-parameters of %s: %s", arch->name,
                       arch->summary);
    return arch ? heading : NULL;
}

/* The defaults of some architectures are a paper's, which are too small for most texts. */
static bool is_tiny(const struct sl_arch *arch)
{
    struct sl_config config;
    sl_config_set_defaults(arch, &config);
    return config.width < 32;
}

/* Only the tasks that the architecture supports. */
static void print_examples(const struct sl_arch *arch, bool automatic)
{
    printf("\nExamples:\n");
    if (automatic)
        printf("  sluice train --data reviews.tsv --label 1 --text 2 --output models/reviews/1\n");
    if (arch->tasks & SL_COMPLETES)
        printf("  sluice train %s --corpus my.txt --run-dir runs/mine --output models/mine/1\n",
               arch->name);
    if (arch->tasks & SL_CLASSIFIES)
        printf("  sluice train %s --data reviews.tsv --label 1 --text 2 --run-dir runs/reviews "
               "--output models/reviews/1%s\n",
               arch->name,
               is_tiny(arch) ? " --width 64 --heads 4 --ffn-width 128 --context-length 128" : "");
    if (is_tiny(arch))
        printf("The default sizes are those of a tiny model in a paper. For your own texts take\n"
               "sizes as in the example; docs/training.md has recipes.\n");
}

void train_help(const struct command *command, const char *name)
{
    char heading[HEADING_BYTES];
    struct sl_option_parser parser = parser_of(train_rows, name);
    parser.tables[2].heading = heading_of(name, heading);
    if (!name)
        parser.tables[3] = (struct sl_option_table){.heading = "Only without an architecture",
                                                    .rows = train_automatic_rows};
    command_help(command, &parser);
    if (!name) {
        print_architectures("train", SL_COMPLETES | SL_CLASSIFIES);
        train_automatic_help();
    }
    print_examples(sl_arch_find(name ? name : "tsa"), !name);
}

void init_help(const struct command *command, const char *name)
{
    const struct sl_arch *arch = sl_arch_find(name ? name : "tsa");
    char heading[HEADING_BYTES];
    struct sl_option_parser parser = parser_of(init_rows, name);
    parser.tables[2].heading = heading_of(name, heading);
    command_help(command, &parser);
    if (!name)
        print_architectures("init", SL_COMPLETES);
    if (arch->tasks & SL_COMPLETES)
        printf("\nExamples:\n  sluice init %s --corpus my.txt --output models/untrained/1\n",
               arch->name);
    else
        printf("\n%s only classifies, and `sluice init` writes language models.\n", arch->name);
}

/* Sizes come from the architecture's defaults or from --init-from, and options override them.
 * So the command line is read twice: the first time for --init-from only. */
static bool init_from(struct sl_train_options *t, const char *from, struct sl_err *err)
{
    if (!from)
        return true;
    return (model_path_check_input(from, err) && sl_train_options_init_from(t, from, err)) ||
           sl_wrap(err, "--init-from");
}

/* The architecture comes first because the other options depend on it. */
bool train_check_architecture(const char *word, struct sl_err *err)
{
    char list[SL_ARCH_LIST];
    if (word && sl_arch_find(word))
        return true;
    (void)sl_arch_list(SL_COMPLETES | SL_CLASSIFIES, list);
    if (!word)
        return sl_fail(err, SL_BAD_INPUT, "missing architecture; choose one of: %s", list);
    if (word[0] == '-')
        return sl_fail(err, SL_BAD_INPUT, "missing architecture before %s; choose one of: %s", word,
                       list);
    return sl_fail(
        err, SL_BAD_INPUT, "unknown architecture '%s'%s; choose one of: %s", word,
        access(word, F_OK) == 0 ? " (a file: `sluice train` takes it with --data or --corpus)" : "",
        list);
}

/* The architectures that have an option. */
static const char *owners_of(const char *option, char owners[SL_ARCH_LIST])
{
    char name[SL_NAME_BYTES];
    owners[0] = '\0';
    (void)sl_name_with_underscores(name, sizeof name, option);
    for (int i = 0; sl_arch_at(i); i++)
        if (sl_param_find(sl_arch_at(i)->hypers, name))
            sl_list_add(owners, SL_ARCH_LIST, sl_arch_at(i)->name);
    return owners;
}

/* Says of an unknown option whose it is: an architecture has options that others do not have. One
 * of its own is only misspelt, with '_'. */
static bool fail_foreign(const char *option, const struct sl_arch *arch, struct sl_err *err)
{
    char owners[SL_ARCH_LIST], name[SL_NAME_BYTES];
    (void)sl_name_with_underscores(name, sizeof name, option);
    return !sl_param_find(arch->hypers, name) && owners_of(option, owners)[0] &&
           sl_fail(err, SL_BAD_INPUT, "--%s is an option of %s, not of %s", option, owners,
                   arch->name);
}

bool train_has_option(const char *option)
{
    char name[SL_NAME_BYTES], owners[SL_ARCH_LIST];
    (void)sl_name_with_underscores(name, sizeof name, option);
    bool found = sl_param_find(sl_hyperparameter_rows, name) || owners_of(option, owners)[0];
    for (const struct sl_option *row = train_rows; row->name && !found; row++)
        found = strcmp(row->name, option) == 0;
    return found;
}

static bool read_options(struct train_arguments *a, const struct sl_option *rows, int count,
                         char **words, struct sl_err *err)
{
    struct sl_option_parser parser = parser_of(rows, words[0]);
    parser.tables[0].values = a;
    parser.tables[1].values = &a->training.hyperparameters;
    parser.tables[2].values = &a->training.config;
    return sl_options_parse(&parser, count - 1, words + 1, err) ||
           (parser.unknown[0] && fail_foreign(parser.unknown, sl_arch_find(words[0]), err));
}

/* The first word must be an architecture; if it is an unknown option, that is the mistake. */
static bool check_first_word(const struct sl_option *rows, int count, char **words,
                             struct sl_err *err)
{
    char owners[SL_ARCH_LIST];
    struct train_arguments unused = {0};
    struct sl_option_parser parser = parser_of(rows, NULL);
    parser.tables[0].values = &unused;
    parser.tables[1].values = &unused.training.hyperparameters;
    if (count > 0 && words[0][0] == '-' && !sl_options_parse(&parser, count, words, err) &&
        parser.unknown[0] && !owners_of(parser.unknown, owners)[0])
        return false;
    return train_check_architecture(count > 0 ? words[0] : NULL, err);
}

static bool choose_task(struct train_arguments *a, struct sl_err *err)
{
    struct sl_data_sources *s = &a->training.sources;
    s->translates = a->task && strcmp(a->task, sl_task_name(SL_TASK_TRANSLATION)) == 0;
    if (a->task && !s->translates && strcmp(a->task, sl_task_name(SL_TASK_CLASSIFICATION)) != 0)
        return sl_fail_value(err, "--task", a->task, "expected classification or translation");
    if (a->task && !s->data)
        return sl_fail(err, SL_BAD_INPUT, "--task is for --data");
    return s->translates || !(s->source || s->target) ||
           sl_fail(err, SL_BAD_INPUT, "--source and --target are for --task translation");
}

bool train_arguments_read(struct train_arguments *a, const struct sl_option *rows, int count,
                          char **words, struct sl_err *err)
{
    struct train_arguments first = {0};
    if (!check_first_word(rows, count, words, err) ||
        !read_options(&first, rows, count, words, err))
        return false;
    sl_train_options_init(&a->training, sl_arch_find(words[0]));
    if (!init_from(&a->training, first.training.init_from, err))
        return false;
    a->training.sources.columns.skip_incomplete = true;
    return read_options(a, rows, count, words, err) && choose_task(a, err);
}
