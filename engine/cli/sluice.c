/* sluice.c - the offline program: finds the command, runs it and prints its error. */
#include "arch/arch.h"
#include "base/file.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/model_path.h"
#include "sluice/model.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
    &command_train,    &command_eval,    &command_operating_points,
    &command_generate, &command_inspect, &command_classify,
    &command_embed,    &command_bench,   &command_init,
    &command_vocab,    &command_vectors};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

struct sl_engine *command_engine(int threads, const char *isa, const char *precision,
                                 struct sl_err *err)
{
    struct sl_engine_options options = {.threads = threads, .isa = isa, .precision = precision};
    struct sl_engine *engine = sl_engine_create(&options, err);
    if (!engine && strcmp(err->field, "isa") == 0)
        (void)sl_err_spell_field(err, "--isa");
    if (!engine && strcmp(err->field, "precision") == 0)
        (void)sl_err_spell_field(err, "--precision");
    return engine;
}

struct sl_engine *command_training_engine(int threads, const char *isa, const char *precision,
                                          struct sl_err *err)
{
    if (!precision || strcmp(precision, "int8") != 0)
        return command_engine(threads, isa, precision, err);
    (void)sl_fail_value(err, "--precision", precision, "training computes in fp32 or bf16");
    return NULL;
}

struct sl_model *command_model(struct sl_engine *engine, const char *directory, struct sl_err *err)
{
    return model_path_check_input(directory, err) ? sl_model_open(engine, directory, err) : NULL;
}

bool command_check_source(const char *corpus, const char *data, struct sl_err *err)
{
    if (corpus && data)
        return sl_fail(err, SL_BAD_INPUT, "give --corpus or --data, not both");
    return corpus || data ||
           sl_fail(
               err, SL_BAD_INPUT,
               "missing input: give --corpus FILE (plain text) or --data FILE (labelled texts)");
}

bool command_truncation(const char *name, enum sl_truncation *side, struct sl_err *err)
{
    *side = SL_TRUNCATE_DEFAULT;
    if (name && strcmp(name, "left") == 0)
        *side = SL_TRUNCATE_LEFT;
    if (name && strcmp(name, "right") == 0)
        *side = SL_TRUNCATE_RIGHT;
    return !name || *side != SL_TRUNCATE_DEFAULT ||
           sl_fail(err, SL_BAD_INPUT, "invalid --truncate '%s': expected left or right", name);
}

const char *first_option_given(const struct option_given *options)
{
    while (options->name && !options->given)
        options++;
    return options->name;
}

bool fail_task(enum sl_task task, struct sl_err *err)
{
    if (task == SL_TASK_PRETRAINING)
        return sl_fail(
            err, SL_BAD_INPUT,
            "the model was only pretrained: use `sluice embed`, or make a classifier of it with "
            "`sluice train --init-from`");
    return sl_fail(err, SL_BAD_INPUT, "the model is for %s; use `sluice %s`", sl_task_name(task),
                   task == SL_TASK_COMPLETION ? "generate" : "classify");
}

bool fail_needs_data(const char *option, struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT, "--%s has no effect on --corpus; it needs --data", option);
}

void command_help(const struct command *command, struct sl_option_parser *parser)
{
    char program[32];
    (void)snprintf(program, sizeof program, "sluice %s", command->name);
    parser->program = program;
    parser->usage = command->operands;
    parser->about = command->help;
    sl_options_help(parser, stdout);
}

bool fail_missing(const struct command *command, const char *what, struct sl_err *err)
{
    const char *other = strchr(command->operands, '\n');
    int bytes = (int)strcspn(command->operands, "\n");
    if (!other)
        return sl_fail(err, SL_BAD_INPUT, "missing %s; usage: sluice %s %s", what, command->name,
                       command->operands);
    return sl_fail(err, SL_BAD_INPUT, "missing %s; usage: sluice %s %.*s, or: sluice %s %s", what,
                   command->name, bytes, command->operands, command->name, other + 1);
}

static void help(void)
{
    printf("Usage: sluice COMMAND [OPTION...]\n"
           "Trains, evaluates and runs models without the daemon (version %s).\n\n",
           sl_version());
    for (int i = 0; i < COMMANDS; i++)
        printf("  sluice %-9s %s\n", commands[i]->name, commands[i]->help);
    printf("\n`sluice COMMAND --help` lists the options of a command.\n"
           "Exit codes: 0 done; 1 the system failed; 2 invalid command line, data or model;\n"
           "3 the disk is full.\n");
}

static bool has_word(int count, char **words, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static bool wants_help(int count, char **words)
{
    return has_word(count, words, "--help") || has_word(count, words, "-h");
}

static bool help_on(const struct command *command, const char *first, struct sl_err *err)
{
    const char *operand = first[0] == '-' ? NULL : first;
    if (operand && command->check_operand && !command->check_operand(operand, err))
        return false;
    command->print_help(operand);
    return true;
}

static int print_version(void)
{
    printf("sluice %s\n", sl_version());
    return 0;
}

/* 2: to try again is pointless before the command, the data or the model has changed.
 * 3: before there is room; the daemon pauses a job then. */
static int exit_code(enum sl_code code)
{
    if (code == SL_NO_SPACE)
        return 3;
    return code == SL_BAD_INPUT || code == SL_NOT_FOUND || code == SL_CORRUPT ? 2 : 1;
}

static int run(const struct command *command, int count, char **words)
{
    struct sl_err err;
    if (has_word(count, words, "--version"))
        return print_version();
    bool help = wants_help(count, words);
    if (help ? help_on(command, words[0], &err) : command->run(count, words, &err))
        return 0;
    (void)fprintf(stderr, "sluice %s: %s\n", command->name, err.text);
    return exit_code(err.code);
}

static const struct command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

/* Suggests the nearest command, or lists all of them. */
static int fail_unknown(const char *name)
{
    const char *names[COMMANDS + 1] = {NULL};
    char advice[SL_NAME_ADVICE_BYTES];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    (void)fprintf(stderr, "sluice: unknown command '%s'; %s\n", name,
                  sl_name_advice(advice, name, names));
    return 2;
}

int main(int argc, char **argv)
{
    sl_output_streams_open();
    if (argc < 2 || wants_help(1, argv + 1)) {
        help();
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--version") == 0)
        return print_version();
    const struct command *command = find(argv[1]);
    return command ? run(command, argc - 2, argv + 2) : fail_unknown(argv[1]);
}
