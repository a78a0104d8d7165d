/* sluicectl.c - the command-line client of the daemon's HTTP API. */
#include "base/buffer.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/ctl_hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ctl_command *const commands[] = {
    &ctl_complete,  &ctl_classify, &ctl_embed,    &ctl_fill_mask, &ctl_rerank,
    &ctl_translate, &ctl_models,   &ctl_versions, &ctl_load,      &ctl_unload,
    &ctl_label,     &ctl_rollback, &ctl_health,   &ctl_metrics,   &ctl_top,
    &ctl_bench,     &ctl_keys,     &ctl_files,    &ctl_train,     &ctl_jobs,
    &ctl_job,       &ctl_events,   &ctl_cancel,   &ctl_pause,     &ctl_resume};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

#define JSON_ROW                                                                                   \
    {                                                                                              \
        "json", NULL, "print JSON", SL_OPTION_FLAG, offsetof(struct ctl_options, json), 0, 0       \
    }

static const struct sl_option common[] = {
    {"url", "URL",
     "address of the daemon: http://, https:// or unix:PATH [SLUICE_URL, or http://127.0.0.1:8080]",
     SL_OPTION_STRING, offsetof(struct ctl_options, url), 0, 0},
    {"admin-url", "URL",
     "address of its admin listener [SLUICE_ADMIN_URL, or the first of these where a daemon "
     "listens: unix:" CTL_ADMIN_SOCKET " in the working directory, if it belongs to you or to "
     "root; " CTL_ADMIN_URL "; " CTL_SERVICE_ADMIN_URL "]",
     SL_OPTION_STRING, offsetof(struct ctl_options, admin_url), 0, 0},
    {"api-key-file", "FILE", "file whose first line is the API key [the key in SLUICE_API_KEY]",
     SL_OPTION_STRING, offsetof(struct ctl_options, api_key_file), 0, 0},
    {"ca-file", "FILE", "certificates to trust for https [the system's]", SL_OPTION_STRING,
     offsetof(struct ctl_options, ca_file), 0, 0},
    {"timeout", "SECONDS", "time limit for a request and its retries [600]", SL_OPTION_GIVEN_REAL,
     offsetof(struct ctl_options, timeout), 0.001, 86400},
    JSON_ROW,
    {0}};

/* Of a command that sends nothing. */
static const struct sl_option local[] = {JSON_ROW, {0}};

static struct sl_option_table common_of(const struct ctl_command *command, struct ctl_options *ctl)
{
    return (struct sl_option_table){
        .heading = "Common options", .rows = command->is_local ? local : common, .values = ctl};
}

/* As of `sluice`. */
static const char exit_codes[] =
    "Exit codes: 0 done; 1 the daemon failed, is busy or cannot be reached; 2 the command line,\n"
    "the input or the request is at fault.\n";

static const char *operand_of(const struct ctl_command *command)
{
    return command->operand ? command->operand : "";
}

static void help_all(void)
{
    struct sl_buffer notes = {0};
    sl_buffer_append_string(&notes, "Commands:\n");
    for (int i = 0; i < COMMANDS; i++)
        sl_buffer_printf(&notes, "  sluicectl %-10s%-20s %s\n", commands[i]->name,
                         operand_of(commands[i]), commands[i]->help);
    sl_buffer_append_string(&notes, "\nsluicectl COMMAND --help lists the options of a command.\n");
    sl_buffer_append_string(&notes, exit_codes);
    sl_options_help(
        &(struct sl_option_parser){.program = "sluicectl",
                                   .usage = "COMMAND",
                                   .about = "Sends requests to sluiced, the daemon, over HTTP.",
                                   .notes = notes.failed ? NULL : notes.data,
                                   .tables = {{.rows = common}}},
        stdout);
    sl_buffer_release(&notes);
}

static void help_one(const struct ctl_command *command)
{
    char program[32];
    struct sl_buffer notes = {0};
    (void)snprintf(program, sizeof program, "sluicectl %s", command->name);
    sl_buffer_append_string(&notes, command->notes ? command->notes : "");
    sl_buffer_append_string(&notes, exit_codes);
    sl_options_help(
        &(struct sl_option_parser){.program = program,
                                   .usage = command->operand,
                                   .about = command->help,
                                   .notes = notes.failed ? NULL : notes.data,
                                   .tables = {{.rows = command->rows}, common_of(command, NULL)}},
        stdout);
    if (command->example)
        (void)printf("\nExample: sluicectl %s %s\n", command->name, command->example);
    sl_buffer_release(&notes);
}

static bool fail_unknown(const char *name, struct client_error *failure)
{
    const char *names[COMMANDS + 1] = {NULL};
    char advice[SL_NAME_ADVICE_BYTES];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    (void)sl_name_advice(advice, name ? name : "", names);
    if (!name)
        return client_error_set(failure, EXIT_BAD_INPUT, "missing command; %s", advice);
    return client_error_set(failure, EXIT_BAD_INPUT, "unknown command '%s'; %s", name, advice);
}

static bool read_options(struct sl_option_parser *parser, int count, char **words,
                         struct client_error *failure)
{
    struct sl_err err;
    return sl_options_parse(parser, count, words, &err) ||
           client_error_wrap(failure, EXIT_BAD_INPUT, &err);
}

static const struct ctl_command *find(const char *name, struct client_error *failure)
{
    for (int i = 0; name && i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    (void)fail_unknown(name, failure);
    return NULL;
}

/* Runs a command with the words that follow its name. */
static bool run(const struct ctl_command *command, struct ctl_options *ctl, int count, char **words,
                struct client_error *failure)
{
    const char *operands[CTL_OPERANDS_MAX + 1] = {NULL};
    void *values = calloc(1, command->values_bytes + 1);
    struct sl_option_parser parser = {
        .tables = {{.rows = command->rows, .values = values}, common_of(command, ctl)},
        .operands = operands,
        .operands_max = command->takes_many ? CTL_OPERANDS_MAX
                        : command->operand  ? 1
                                            : 0};
    if (!values)
        return client_error_no_memory(failure);
    bool good = read_options(&parser, count, words, failure);
    bool explains = ctl->help || parser.wants_help || parser.wants_version;
    if (good && explains && !ctl->help && !parser.wants_help)
        (void)puts("sluicectl " SL_VERSION);
    else if (good && explains)
        help_one(command);
    ctl->values = values;
    ctl->operands = operands;
    ctl->operand_count = parser.operand_count;
    if (good && !explains)
        good = (command->is_local || ctl_read_key(ctl, failure)) && command->run(ctl, failure);
    if (!good && !failure->hint[0])
        ctl_add_hint(command, ctl, failure);
    ctl->values = ctl->operands = NULL;
    free(values);
    return good;
}

/* --help and --version without a command. */
static bool print_own(const struct ctl_options *ctl)
{
    if (ctl->help)
        help_all();
    else
        (void)puts("sluicectl " SL_VERSION);
    return true;
}

static bool read_line(struct ctl_options *ctl, int count, char **words,
                      struct client_error *failure)
{
    struct sl_option_parser parser = {.tables = {{.rows = common, .values = ctl}},
                                      .stops_at_operand = true};
    if (!read_options(&parser, count, words, failure))
        return false;
    int read = parser.read;
    ctl->help = parser.wants_help;
    if (read < count && strcmp(words[read], "help") == 0) { /* as git and others have it */
        ctl->help = true;
        read++;
    }
    if (read == count && (ctl->help || parser.wants_version))
        return print_own(ctl);
    const struct ctl_command *command = find(read < count ? words[read] : NULL, failure);
    return command && run(command, ctl, count - read - 1, words + read + 1, failure);
}

static const char *setting(const char *name, const char *fallback)
{
    const char *value = getenv(name); // NOLINT(concurrency-mt-unsafe): there are no threads
    return value && value[0] ? value : fallback;
}

int main(int argc, char **argv)
{
    struct client_error failure = {0};
    struct ctl_options ctl = {.url = setting("SLUICE_URL", "http://127.0.0.1:8080"),
                              .admin_url = setting("SLUICE_ADMIN_URL", NULL)};
    bool good = read_line(&ctl, argc - 1, argv + 1, &failure);
    if (good && fflush(stdout) != 0)
        good = client_error_set(&failure, EXIT_FAILED, "cannot write to standard output");
    if (good)
        return EXIT_DONE;
    (void)fflush(stdout);
    if (failure.err.text[0])
        (void)fprintf(stderr, "sluicectl: %s\n", failure.err.text);
    if (failure.hint[0])
        (void)fprintf(stderr, "sluicectl: %s\n", failure.hint);
    return failure.exit_code;
}
