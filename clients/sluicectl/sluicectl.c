/* sluicectl.c - the client: everything that the daemon does over HTTP, from a terminal. */
#include "sluicectl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ctl_command *const commands[] = {&ctl_complete, &ctl_classify, &ctl_models,
                                                     &ctl_health,   &ctl_metrics,  &ctl_bench};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const struct switch_row common[] = {
    {"url", "URL", "the daemon [SLUICE_URL, or http://127.0.0.1:8080]", SWITCH_TEXT,
     offsetof(struct ctl, url), 0, 0},
    {"timeout", "SECONDS", "for a request, its retries included [600]", SWITCH_NUMBER,
     offsetof(struct ctl, timeout), 0.001, 86400},
    {"json", NULL, "print JSON", SWITCH_ON, offsetof(struct ctl, json), 0, 0},
    {"help", NULL, "this", SWITCH_ON, offsetof(struct ctl, help), 0, 0},
    {0}};

static const struct switch_row alone[] = {/* without a command */
                                          {"version", NULL, "which release this is", SWITCH_ON,
                                           offsetof(struct ctl, version), 0, 0},
                                          {0}};

static const char *operand_of(const struct ctl_command *command)
{
    return command->operand ? command->operand : "";
}

static void help_all(void)
{
    (void)printf("sluicectl - asks sluiced, over HTTP\n\n");
    for (int i = 0; i < COMMANDS; i++)
        (void)printf("  sluicectl %-9s%-10s %s\n", commands[i]->name, operand_of(commands[i]),
                     commands[i]->help);
    (void)printf("\nOf every command:\n");
    switches_help(common);
    (void)printf("\nWithout a command:\n");
    switches_help(alone);
    (void)printf("\nsluicectl COMMAND --help lists a command's own options.\n"
                 "Exit codes: 0 done; 1 the daemon refused or was not reached; 2 misused.\n");
}

static void help_one(const struct ctl_command *command)
{
    (void)printf("sluicectl %s %s - %s\n\n", command->name, operand_of(command), command->help);
    switches_help(command->rows);
    switches_help(common);
    if (command->notes)
        (void)printf("\n%s", command->notes);
    if (command->example)
        (void)printf("\nExample: sluicectl %s %s\n", command->name, command->example);
}

/* The daemon's sentences know HTTP alone: what there is here for what it refuses. */
static const struct {
    const char *code, *option, *text; /* for commands with this option; NULL: for all */
} hints[] = {
    {"context_length_exceeded", "truncate", "--truncate cuts what is too long"},
    {"unknown_characters", "replace", "--replace has such characters replaced"},
    {"missing_required_parameter", "model", "--model NAME says who is asked"},
    {"model_not_found", NULL, "`sluicectl models` lists the models there are"},
};

static const char *hint_of(const struct ctl_command *command, const char *code)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (strcmp(hints[i].code, code) == 0 &&
            (!hints[i].option || switches_have(command->rows, hints[i].option)))
            return hints[i].text;
    return NULL;
}

static bool unknown(const char *name, struct fault *fault)
{
    char known[256] = "";
    size_t used = 0;
    for (int i = 0; i < COMMANDS && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, " %s", commands[i]->name);
    if (!name)
        return fault_set(fault, EXIT_MISUSED, "which command? There are:%s", known);
    return fault_set(fault, EXIT_MISUSED, "'%s' is not a command; there are:%s", name, known);
}

static const struct ctl_command *find(const char *name, struct fault *fault)
{
    for (int i = 0; name && i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    (void)unknown(name, fault);
    return NULL;
}

/* The rest of the line, behind the command's name. */
static bool run(const struct ctl_command *command, struct ctl *ctl, int count, char **words,
                struct fault *fault)
{
    void *values = calloc(1, command->values_bytes + 1);
    struct switch_reader reader = {.tables = {{command->rows, values}, {common, ctl}},
                                   .operands_most = command->takes_many ? SWITCH_OPERANDS_MAX
                                                    : command->operand  ? 1
                                                                        : 0};
    if (!values)
        return fault_no_memory(fault);
    bool good = switches_read(&reader, count, words, false, fault) >= 0;
    if (good && ctl->help)
        help_one(command);
    ctl->operands = reader.operands;
    ctl->operand_count = reader.operand_count;
    if (good && !ctl->help)
        good = command->run(ctl, values, reader.operands[0], fault);
    if (!good && !fault->hint)
        fault->hint = hint_of(command, fault->code);
    ctl->operands = NULL; /* they lay in the reader */
    free(values);
    return good;
}

/* What is asked of the program itself, without a command. */
static bool say(const struct ctl *ctl)
{
    if (ctl->help)
        help_all();
    else
        (void)puts("sluicectl " SL_VERSION);
    return true;
}

static bool read_line(struct ctl *ctl, int count, char **words, struct fault *fault)
{
    struct switch_reader reader = {.tables = {{common, ctl}, {alone, ctl}}};
    int read = switches_read(&reader, count, words, true, fault);
    if (read < 0)
        return false;
    if (read == count && (ctl->help || ctl->version))
        return say(ctl);
    const struct ctl_command *command = find(read < count ? words[read] : NULL, fault);
    return command && run(command, ctl, count - read - 1, words + read + 1, fault);
}

int main(int argc, char **argv)
{
    struct fault fault = {0};
    const char *url = getenv("SLUICE_URL"); // NOLINT(concurrency-mt-unsafe): there are no threads
    struct ctl ctl = {.url = url && url[0] ? url : "http://127.0.0.1:8080"};
    bool good = read_line(&ctl, argc - 1, argv + 1, &fault);
    if (good && fflush(stdout) != 0)
        good = fault_set(&fault, EXIT_FAILED, "standard output cannot be written");
    if (good)
        return EXIT_DONE;
    (void)fflush(stdout);
    if (fault.text[0])
        (void)fprintf(stderr, "sluicectl: %s\n", fault.text);
    if (fault.hint)
        (void)fprintf(stderr, "sluicectl: %s\n", fault.hint);
    return fault.exit_code;
}
