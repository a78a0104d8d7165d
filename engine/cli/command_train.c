/* command_train.c - `sluice train` trains a model; `sluice init` writes an untrained one. */
#include "base/comma_list.h"
#include "base/option_parser.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/json_io.h"
#include "checkpoint/manifest.h"
#include "cli/command.h"
#include "cli/model_path.h"
#include "cli/train_automatic.h"
#include "cli/training_log.h"
#include "data/corpus.h"
#include "tokenizer/tokenizer_trainer.h"
#include "train/data_options.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *corpus, *run, *out, *isa;
    const char *truncate;
    bool resume, overwrite, bf16, json, best;
    int threads, seed;
    struct sl_train_options training;
};

#define SOURCE(member) offsetof(struct arguments, training.sources.member)

static const struct sl_option train_rows[] = {
    {"corpus", "FILE", "UTF-8 text to train a language model or to pretrain an encoder on",
     SL_OPTION_STRING, offsetof(struct arguments, corpus), 0, 0},
    {"data", "FILE",
     "labelled texts to train a classifier on: TSV, CSV or JSON Lines, also .gz or .xz",
     SL_OPTION_STRING, SOURCE(data), 0, 0},
    {"validation", "FILE", "labelled texts for validation [10 % of --data, per label]",
     SL_OPTION_STRING, SOURCE(validation), 0, 0},
    {"labels", "FILE",
     "all labels, one per line: label, or label TAB the name that the model has for it [those in "
     "--data]",
     SL_OPTION_STRING, SOURCE(labels), 0, 0},
    SL_DATA_OPTIONS(SOURCE),
    {"vocab-file", "FILE",
     "vocabulary, one token per line, as `sluice vocab` writes it [learnt from the texts]",
     SL_OPTION_STRING, SOURCE(vocabulary), 0, 0},
    {"truncate", "SIDE",
     "side from which to cut texts that are too long, kept as the model's: left or right [right]",
     SL_OPTION_STRING, offsetof(struct arguments, truncate), 0, 0},
    {"init-from", "DIR",
     "start from this model: its sizes, vocabulary and every weight of the same shape",
     SL_OPTION_STRING, offsetof(struct arguments, training.init_from), 0, 0},
    {"vectors", "FILE", "word vectors that become the initial token embeddings [random ones]",
     SL_OPTION_STRING, offsetof(struct arguments, training.vectors), 0, 0},
    {"save-best", NULL, "publish the model with the best validation accuracy, not the last one",
     SL_OPTION_FLAG, offsetof(struct arguments, best), 0, 0},
    {"run-dir", "DIR", "directory for the state of the run and log.jsonl", SL_OPTION_STRING,
     offsetof(struct arguments, run), 0, 0},
    {"output", "DIR", "directory to publish the model to: <store>/<model>/<version>",
     SL_OPTION_STRING, offsetof(struct arguments, out), 0, 0},
    {"overwrite", NULL, "replace the model that --output has already", SL_OPTION_FLAG,
     offsetof(struct arguments, overwrite), 0, 0},
    {"resume", NULL, "continue the run in --run-dir; it may replace the model in --output",
     SL_OPTION_FLAG, offsetof(struct arguments, resume), 0, 0},
    {"bf16", NULL, "store matrices as bf16, which halves the size of the model", SL_OPTION_FLAG,
     offsetof(struct arguments, bf16), 0, 0},
    ENGINE_OPTIONS_JSON(struct arguments,
                        "print JSON events [when standard output is not a terminal]"),
    {0}};

static const struct sl_option init_rows[] = {
    {"corpus", "FILE", "UTF-8 text whose characters become the vocabulary", SL_OPTION_STRING,
     offsetof(struct arguments, corpus), 0, 0},
    {"output", "DIR", "directory to create: <store>/<model>/<version>", SL_OPTION_STRING,
     offsetof(struct arguments, out), 0, 0},
    {"seed", "N", "seed for initialization [0]", SL_OPTION_INT, offsetof(struct arguments, seed), 0,
     2147483647},
    {"bf16", NULL, "store matrices as bf16", SL_OPTION_FLAG, offsetof(struct arguments, bf16), 0,
     0},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static const char *tasks_of(const struct sl_arch *arch, char list[SL_ARCH_LIST])
{
    list[0] = '\0';
    if (arch->tasks & SL_COMPLETES)
        sl_list_add(list, SL_ARCH_LIST, "generation");
    if (arch->tasks & SL_CLASSIFIES)
        sl_list_add(list, SL_ARCH_LIST, "classification");
    if (arch->tasks & SL_PRETRAINS)
        sl_list_add(list, SL_ARCH_LIST, "pretraining");
    return list;
}

/* Without an architecture, help lists those for any of the tasks. */
static void print_architectures(const char *command, unsigned tasks)
{
    char list[SL_ARCH_LIST];
    printf("\nArchitectures (`sluice %s NAME --help` lists the hyper-parameters of one):\n",
           command);
    for (int i = 0; sl_arch_at(i); i++)
        if (sl_arch_at(i)->tasks & tasks)
            printf("  %-12s %s (%s)\n", sl_arch_at(i)->name, sl_arch_at(i)->summary,
                   tasks_of(sl_arch_at(i), list));
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
static void print_examples(const struct sl_arch *arch)
{
    printf("\nExamples:\n");
    if (arch->tasks & SL_COMPLETES)
        printf("  sluice train %s --corpus my.txt --run-dir runs/mine --output models/mine/1\n",
               arch->name);
    if (arch->tasks & SL_CLASSIFIES)
        printf("  sluice train %s --data reviews.tsv --label 1 --text 2 --run-dir runs/reviews "
               "--output models/reviews/1%s\n",
               arch->name,
               is_tiny(arch) ? " --width 64 --heads 4 --ffn-width 128 --context-length 128" : "");
    if (is_tiny(arch))
        printf("The default sizes are a paper's; docs/training.md has recipes.\n");
}

static void train_options(const char *name)
{
    char heading[HEADING_BYTES];
    struct sl_option_parser parser = parser_of(train_rows, name);
    parser.tables[2].heading = heading_of(name, heading);
    command_help(&command_train, &parser);
    if (!name) {
        print_architectures("train", SL_COMPLETES | SL_CLASSIFIES);
        train_automatic_help();
    }
    print_examples(sl_arch_find(name ? name : "tsa"));
}

static void init_options(const char *name)
{
    const struct sl_arch *arch = sl_arch_find(name ? name : "tsa");
    char heading[HEADING_BYTES];
    struct sl_option_parser parser = parser_of(init_rows, name);
    parser.tables[2].heading = heading_of(name, heading);
    command_help(&command_init, &parser);
    if (!name)
        print_architectures("init", SL_COMPLETES);
    if (arch->tasks & SL_COMPLETES)
        printf("\nExamples:\n  sluice init %s --corpus my.txt --output models/untrained/1\n",
               arch->name);
    else
        printf("\n`sluice init` makes language models only, not %s; see sluice train %s --help\n",
               arch->name, arch->name);
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
static bool is_architecture(const char *word, struct sl_err *err)
{
    char list[SL_ARCH_LIST];
    if (word && sl_arch_find(word))
        return true;
    (void)sl_arch_list(SL_COMPLETES | SL_CLASSIFIES, list);
    if (!word)
        return sl_fail(err, SL_BAD_INPUT, "missing architecture; choose one of: %s", list);
    return sl_fail(err, SL_BAD_INPUT, "unknown architecture '%s'; choose one of: %s", word, list);
}

static bool read_options(struct arguments *a, const struct sl_option *rows, int count, char **words,
                         struct sl_err *err)
{
    struct sl_option_parser parser = parser_of(rows, words[0]);
    parser.tables[0].values = a;
    parser.tables[1].values = &a->training.hyperparameters;
    parser.tables[2].values = &a->training.config;
    return sl_options_parse(&parser, count - 1, words + 1, err);
}

static bool read_line(struct arguments *a, const struct sl_option *rows, int count, char **words,
                      struct sl_err *err)
{
    struct arguments first = {0};
    if (!is_architecture(count > 0 ? words[0] : NULL, err) ||
        !read_options(&first, rows, count, words, err))
        return false;
    sl_train_options_init(&a->training, sl_arch_find(words[0]));
    if (!init_from(&a->training, first.training.init_from, err))
        return false;
    return read_options(a, rows, count, words, err);
}

/* -- train ------------------------------------------------------------------------------------ */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void watch_signals(void)
{
    /* SA_RESTART: otherwise a signal could cut off a line of JSON that waits for a slow reader. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

static bool publish(const struct arguments *a, const struct sl_trainer *trainer, struct sl_err *err)
{
    char *provenance = training_log_provenance(trainer, err);
    if (!provenance)
        return false;
    bool ok = sl_trainer_publish(trainer, a->out, a->bf16, provenance, err);
    free(provenance);
    return ok;
}

/* The context of the trainer's callbacks. */
struct watch {
    const struct arguments *a;
    struct sl_trainer *trainer;
    struct training_log *training_log;
    struct sl_err err; /* why publishing failed, if it did */
    bool failed;
};

static void on_event(void *context, const struct sl_train_progress *s)
{
    struct watch *w = context;
    training_log_event(w->training_log, s);
    bool best = s->event == SL_TRAIN_EVALUATED && s->best_step == s->step;
    if (best && w->a->best && w->a->out && !w->failed)
        w->failed = !publish(w->a, w->trainer, &w->err);
}

static bool should_stop(void *context)
{
    const struct watch *w = context;
    return stopped || w->failed;
}

static bool watch_run(struct watch *w, struct sl_err *err)
{
    struct sl_train_callbacks watch = {w, on_event, should_stop};
    if (!sl_trainer_run(w->trainer, &watch, err))
        return false;
    if (w->failed)
        *err = w->err;
    bool last = w->a->out && !w->a->best && sl_trainer_finished(w->trainer);
    return !w->failed && (!last || publish(w->a, w->trainer, err));
}

/* The directory with the run's model, perhaps published by an earlier process; NULL: none. */
static const char *published(const struct arguments *a, const struct sl_trainer *trainer)
{
    bool any = sl_trainer_finished(trainer);
    if (a->out && a->best)
        any = sl_trainer_progress(trainer)->best_step > 0 && model_path_check_input(a->out, NULL);
    return any ? a->out : NULL;
}

/* A run that is resumed may have published its model before. */
static bool check_output(const struct arguments *a, struct sl_err *err)
{
    if (!model_path_check_output(a->out, a->run, err))
        return false;
    return a->resume || a->overwrite ||
           model_path_check_new(a->out, "or replace it with --overwrite", err);
}

static bool train(struct sl_engine *engine, struct arguments *a, struct sl_err *err)
{
    if (a->out && !check_output(a, err))
        return false;
    struct sl_trainer *trainer = sl_trainer_create(engine, &a->training, err);
    if (!trainer)
        return false;
    struct training_log *training_log =
        training_log_open(trainer, a->training.run_dir, a->json, err);
    bool ok = training_log != NULL;
    if (ok) {
        struct watch w = {.a = a, .trainer = trainer, .training_log = training_log};
        ok = watch_run(&w, err);
        training_log_close(training_log, ok ? NULL : err->text, published(a, trainer));
    }
    sl_trainer_destroy(trainer);
    return ok;
}

/* Rejects hyper-parameters that have no effect together. */
static bool check_numbers(const struct arguments *a, struct sl_err *err)
{
    const struct sl_data_sources *s = &a->training.sources;
    const struct sl_hyperparameters *r = &a->training.hyperparameters;
    if (s->data && r->train_fraction > 0.0f)
        return sl_fail(
            err, SL_BAD_INPUT,
            "--train-fraction needs --corpus; with --data, all texts but --validation-fraction are "
            "trained on");
    if (r->steps > 0 && r->epochs > 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "--steps and --epochs exclude each other: give one of them");
    return !s->validation || !(r->validation_fraction > 0.0f) ||
           sl_fail(err, SL_BAD_INPUT,
                   "--validation-fraction and --validation exclude each other: give one of them");
}

/* Rejects options that would have no effect. */
static bool check_sources(const struct arguments *a, struct sl_err *err)
{
    const struct sl_data_sources *s = &a->training.sources;
    const char *labelled =
        first_option_given((const struct option_given[]){{"validation", s->validation},
                                                         {"labels", s->labels},
                                                         {"label", s->columns.label},
                                                         {"text", s->columns.text},
                                                         {"format", s->columns.format},
                                                         {"truncate", a->truncate},
                                                         {0}});
    const char *vocabulary =
        first_option_given((const struct option_given[]){{"tokenizer", s->tokenizer},
                                                         {"vocab-file", s->vocabulary},
                                                         {"vocab-size", s->vocabulary_size > 0},
                                                         {"cased", s->cased},
                                                         {0}});
    if (!sl_arch_check_task(a->training.arch, s->data ? SL_TASK_CLASSIFICATION : SL_TASK_COMPLETION,
                            err))
        return false;
    if (!s->data && labelled)
        return fail_needs_data(labelled, err);
    if (a->training.init_from && vocabulary)
        return sl_fail(
            err, SL_BAD_INPUT,
            "--%s and --init-from exclude each other: the vocabulary is that of the model",
            vocabulary);
    return check_numbers(a, err);
}

static bool run_train(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    if (train_is_automatic(count, words))
        return train_automatic(count, words, err);
    if (!read_line(&a, train_rows, count, words, err))
        return false;
    a.training.sources.corpus = a.corpus;
    if (!command_check_source(a.corpus, a.training.sources.data, err) || !check_sources(&a, err) ||
        !command_truncation(a.truncate, &a.training.sources.truncation, err))
        return false;
    if (!a.run)
        return sl_fail(err, SL_BAD_INPUT,
                       "missing --run-dir DIR: a directory for the state of the run");
    if (a.best && !a.out)
        return sl_fail(err, SL_BAD_INPUT, "missing --output DIR: --save-best publishes to it");
    sl_train_options_complete(&a.training);
    a.training.run_dir = a.run;
    a.training.resume = a.resume;
    struct sl_engine *engine = command_engine(a.threads, a.isa, err);
    if (!engine)
        return false;
    watch_signals();
    bool ok = train(engine, &a, err);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_train = {
    .name = "train",
    .operands = "[ARCHITECTURE] (--corpus | --data) FILE [--run-dir DIR]",
    .help = "train a language model on a text, or a classifier on labelled texts",
    .run = run_train,
    .print_help = train_options,
    .check_operand = is_architecture,
};

/* -- init ------------------------------------------------------------------------------------- */

static void print_untrained(const struct arguments *a, int64_t parameters)
{
    json_t *o = json_pack("{s:o, s:s, s:I}", "directory", sl_json_string(a->out), "architecture",
                          a->training.arch->name, "parameters", (json_int_t)parameters);
    char *text = o && a->json ? json_dumps(o, JSON_COMPACT) : NULL;
    if (a->json)
        printf("%s\n", text ? text : "");
    else
        printf("%s: %s, %" PRId64 " parameters, untrained\n", a->out, a->training.arch->name,
               parameters);
    free(text);
    json_decref(o);
}

static bool write_untrained(struct sl_engine *engine, const struct arguments *a,
                            const struct sl_tokenizer *tokens, struct sl_err *err)
{
    struct sl_config config = a->training.config;
    config.vocab = sl_tokenizer_size(tokens);
    if (!sl_config_check(a->training.arch, &config, err))
        return false;
    struct sl_model *model = sl_model_create(engine, a->training.arch, &config, err);
    if (!model)
        return false;
    sl_model_initialize(model, (uint64_t)a->seed);
    char none[] = "{}";
    struct sl_model_config model_config = {.arch = a->training.arch,
                                           .hyper = config,
                                           .policy = sl_policy_defaults(a->training.arch),
                                           .tokenizer = sl_tokenizer_kind(tokens),
                                           .training = none};
    struct sl_checkpoint_parts parts = {.model_config = &model_config,
                                        .tokens = tokens,
                                        .parameters = model->state_dict,
                                        .count = model->state_dict_count,
                                        .bf16 = a->bf16};
    bool ok = sl_checkpoint_write(a->out, &parts, err);
    if (ok)
        print_untrained(a, sl_model_parameter_count(model));
    sl_model_close(model);
    return ok;
}

static bool run_init(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    if (!read_line(&a, init_rows, count, words, err))
        return false;
    if (!sl_arch_check_task(a.training.arch, SL_TASK_COMPLETION, err))
        return false;
    if (!a.corpus || !a.out)
        return sl_fail(err, SL_BAD_INPUT, "missing %s",
                       a.corpus ? "--output DIR: the directory to create"
                                : "--corpus FILE: a text whose characters become the vocabulary");
    if (!model_path_check_output(a.out, NULL, err) || !model_path_check_new(a.out, NULL, err))
        return false;
    struct sl_engine *engine = command_engine(a.threads, a.isa, err);
    const struct sl_tokenizer_options how = {.kind = "characters"};
    struct sl_tokenizer *tokens = engine ? sl_corpus_train_tokenizer(a.corpus, &how, err) : NULL;
    bool ok = tokens && write_untrained(engine, &a, tokens, err);
    sl_tokenizer_destroy(tokens);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_init = {
    .name = "init",
    .operands = "ARCHITECTURE --corpus FILE --output DIR",
    .help = "write an untrained model, for tests",
    .run = run_init,
    .print_help = init_options,
    .check_operand = is_architecture,
};
