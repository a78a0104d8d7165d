/* options_read.c - options of the environment and the command line, and all sources together. */
#include "base/option_parser.h"
#include "core/options_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 64 };

/* ---- the environment ------------------------------------------------------------------------- */

/* SLUICE_MAX_QUEUE_SIZE for max_queue_size. */
static void environment_name(const struct sv_option_row *row, char name[static NAME_ROOM])
{
    static const char prefix[] = "SLUICE_";
    size_t at = sizeof prefix - 1;
    memcpy(name, prefix, sizeof prefix);
    for (const char *c = row->name; *c && at + 1 < NAME_ROOM; c++)
        name[at++] = (char)(unsigned char)toupper((unsigned char)*c);
    name[at] = '\0';
}

static bool read_environment(struct sv_options *options, struct sl_err *err)
{
    for (int i = 0; i < SV_OPTION_COUNT; i++) {
        char name[NAME_ROOM];
        environment_name(&sv_option_rows[i], name);
        // NOLINTNEXTLINE(concurrency-mt-unsafe): before there are threads
        const struct sv_setting s = {&sv_option_rows[i], name, getenv(name)};
        if (s.value && !sv_option_set(options, &s, err))
            return false;
    }
    return true;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* What the command line asks for besides options. */
struct requested {
    const char *config;
    bool check_config, sample_config, openapi;
};

static const struct sl_option own_rows[] = {
    {"config", "FILE", "configuration file, in YAML [SLUICE_CONFIG, else none]", SL_OPTION_STRING,
     offsetof(struct requested, config), 0, 0},
    {"check-config", NULL,
     "check options, configuration file, key file, TLS files and that the store exists, then "
     "exit; it does not check that addresses are free and that models can be loaded",
     SL_OPTION_FLAG, offsetof(struct requested, check_config), 0, 0},
    {"sample-config", NULL,
     "print a configuration file with all options at their defaults, and exit", SL_OPTION_FLAG,
     offsetof(struct requested, sample_config), 0, 0},
    {"openapi", NULL, "print the OpenAPI document of the HTTP API and exit", SL_OPTION_FLAG,
     offsetof(struct requested, openapi), 0, 0},
    {0}};

/* --max-queue-size for max_queue_size. */
static void option_name(const struct sv_option_row *row, char name[static NAME_ROOM])
{
    (void)snprintf(name, NAME_ROOM, "--%s", row->name);
    (void)sl_name_with_dashes(name, NAME_ROOM, name);
}

/* Sets an option, or at the first reading, which looks for the file, none. */
static bool set_option(void *context, const char *name, const char *value, struct sl_err *err)
{
    char option[NAME_ROOM];
    const struct sv_setting s = {sv_option_find(name), option, value ? value : "true"};
    if (!context)
        return true;
    option_name(s.row, option);
    return sv_option_set(context, &s, err);
}

/* What help calls the value of a TEXT. */
static const char *placeholder(const struct sv_option_row *row)
{
    static const char *const names[][2] = {{"listen", "ADDRESS"},
                                           {"admin_listen", "ADDRESSES"},
                                           {"allowed_hosts", "NAMES"},
                                           {"store", "DIR"},
                                           {"state", "DIR"},
                                           {"data_directory", "DIR"},
                                           {"trainer", "FILE"},
                                           {"default_classifier", "MODEL"},
                                           {"tls_certificate", "FILE"},
                                           {"tls_key", "FILE"}};
    const char *end = strrchr(row->name, '_');
    if (row->among)
        return "NAME";
    if (end && strcmp(end, "_file") == 0)
        return "FILE";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(row->name, names[i][0]) == 0)
            return names[i][1];
    return "TEXT";
}

static struct sl_option row_of(const struct sv_option_row *row, const char *help)
{
    static const enum sl_option_kind kinds[] = {[SV_OPTION_TEXT] = SL_OPTION_STRING,
                                                [SV_OPTION_INT] = SL_OPTION_STRING,
                                                [SV_OPTION_BOOL] = SL_OPTION_SWITCH};

    const char *value = row->kind == SV_OPTION_INT    ? "N"
                        : row->kind == SV_OPTION_BOOL ? "BOOL"
                                                      : placeholder(row);
    return (struct sl_option){
        .name = row->name, .value = value, .help = help, .kind = kinds[row->kind]};
}

static bool read_line(struct sv_options *options, struct requested *requested,
                      enum sv_command *command, int count, char *const *arguments,
                      struct sl_err *err)
{
    struct sl_option table[SV_OPTION_COUNT + 1] = {{0}};
    for (int i = 0; i < SV_OPTION_COUNT; i++)
        table[i] = row_of(&sv_option_rows[i], "");
    struct sl_option_parser parser = {
        .tables = {{.rows = own_rows, .values = requested},
                   {.rows = table, .set = set_option, .context = options}},
        .surplus = "; options begin with --, see --help"};
    if (!sl_options_parse(&parser, count - 1, (char **)(uintptr_t)(arguments + 1), err))
        return sv_option_hide_controls(err);
    *command = parser.wants_help          ? SV_HELP
               : parser.wants_version     ? SV_VERSION
               : requested->check_config  ? SV_CHECK_CONFIG
               : requested->sample_config ? SV_SAMPLE_CONFIG
               : requested->openapi       ? SV_OPENAPI
                                          : SV_SERVE;
    return true;
}

bool sv_options_read(struct sv_options *options, int count, char *const *arguments,
                     enum sv_command *command, struct sl_err *err)
{
    const char *file = getenv("SLUICE_CONFIG"); // NOLINT(concurrency-mt-unsafe): no threads yet
    struct requested requested = {.config = file};
    sv_options_defaults(options);
    return read_line(NULL, &requested, command, count, arguments, err) &&
           (!requested.config || sv_options_file(options, requested.config, err)) &&
           read_environment(options, err) &&
           read_line(options, &requested, command, count, arguments, err) &&
           sv_options_check(options, err);
}

/* ---- help ---------------------------------------------------------------------------------- */

/* What --help says of an option; help[] keeps it. */
static void fill_rows(struct sl_option table[static SV_OPTION_COUNT + 1],
                      struct sl_buffer help[static SV_OPTION_COUNT])
{
    for (int i = 0; i < SV_OPTION_COUNT; i++) {
        sl_buffer_append_string(&help[i], sv_option_rows[i].help);
        if (sv_option_rows[i].among) {
            sl_buffer_append_string(&help[i], "; one of ");
            sv_option_add_words(sv_option_rows[i].among, &help[i]);
        }
        if (sv_option_rows[i].fallback[0])
            sl_buffer_printf(&help[i], " [%s]", sv_option_rows[i].fallback);
        table[i] =
            row_of(&sv_option_rows[i], help[i].failed ? sv_option_rows[i].help : help[i].data);
    }
}

void sv_options_help(struct sl_buffer *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    struct sl_option table[SV_OPTION_COUNT + 1] = {{0}};
    struct sl_buffer help[SV_OPTION_COUNT] = {{0}};
    const char *sections[SV_OPTION_COUNT];
    for (int i = 0; i < SV_OPTION_COUNT; i++)
        sections[i] = sv_option_rows[i].section;
    fill_rows(table, help);
    struct sl_option_parser parser = {
        .program = "sluiced",
        .about = "Serves models over HTTP.",
        .notes =
            "An option can be set in the configuration file (max_queue_size: 9), in the\n"
            "environment (SLUICE_MAX_QUEUE_SIZE=9) or here (--max-queue-size=9). The command line\n"
            "overrides the environment, which overrides the file. Defaults are in brackets.\n"
            "Exit codes: 0 stopped by a signal; 1 the system failed, such as an address in use;\n"
            "2 invalid option or configuration.\n",
        .tables = {{.rows = own_rows}, {.rows = table, .sections = sections, .set = set_option}}};
    if (memory)
        sl_options_help(&parser, memory);
    if (memory && fclose(memory) == 0)
        sl_buffer_append(out, text, bytes);
    else
        out->failed = true;
    free(text);
    for (int i = 0; i < SV_OPTION_COUNT; i++)
        sl_buffer_release(&help[i]);
}
