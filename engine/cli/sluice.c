/* sluice.c - the offline program: finds the command, runs it and prints its error. */
#include "base/file.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/failure_event.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
    &command_train,     &command_check,   &command_eval,      &command_operating_points,
    &command_generate,  &command_inspect, &command_classify,  &command_embed,
    &command_fill_mask, &command_rerank,  &command_translate, &command_init,
    &command_vocab,     &command_vectors, &command_import,    &command_reproduce,
    &command_adapt,     &command_distill};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void help(void)
{
    printf("Usage: sluice COMMAND [OPTION...]\n"
           "Trains, evaluates and runs models without the daemon (version %s).\n\n",
           sl_version());
    for (int i = 0; i < COMMANDS; i++)
        if (!commands[i]->is_for_tests)
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
    command_print_help(command, operand);
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

/* What the options of this program can do about an error of the engine. */
static const char *advice(const struct sl_err *err)
{
    static const struct {
        const char *said, *advice;
    } rows[] = {
        {"label 1, text 2", "; give --label and --text their names, or --label 1 --text 2"},
        {"set label and text", "; give --label and --text their names"},
        {"set text ", "; give --text its name"},
        {"the format is tsv", "; give --format tsv"},
        {"the format is csv", "; give --format csv"},
        {"the format is fasttext", "; give --format fasttext"},
        {"the format json reads", "; give --format json"},
        {"unknown label", "; to accept or translate others, list all labels in a file and give "
                          "--labels FILE"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(err->text, rows[i].said))
            return rows[i].advice;
    return "";
}

static int run(const struct command *command, int count, char **words)
{
    struct sl_err err;
    if (has_word(count, words, "--version"))
        return print_version();
    bool help = wants_help(count, words);
    if (help ? help_on(command, words[0], &err) : command->run(count, words, &err))
        return 0;
    if (!err.text[0]) /* the command has said what is wrong */
        return exit_code(err.code);
    if (has_word(count, words, "--json"))
        failure_event_print(&err);
    (void)fprintf(stderr, "sluice %s: %s%s\n", command->name, err.text, advice(&err));
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
    for (int i = 0, count = 0; i < COMMANDS; i++)
        if (!commands[i]->is_for_tests)
            names[count++] = commands[i]->name;
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
