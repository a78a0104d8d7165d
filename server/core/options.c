/* options.c - the settings of the daemon: where each came from, and whether it can be accepted. */
#include "core/options.h"
#include "base/option_parser.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, INT, BOOL };

struct row {
    const char *section, *name;
    enum kind kind;
    const char *fallback;
    int64_t min, max;
    const char *among; /* accepted words, separated by spaces; NULL: any */
    const char *help;
    size_t offset;
};

static const struct row rows[] = {
#define SV_OPTION(section, name, kind, fallback, min, max, among, help)                            \
    {section, #name, kind, fallback, min, max, among, help, offsetof(struct sv_options, name)},
#include "core/options.def"
#undef SV_OPTION
};

enum { ROWS = sizeof rows / sizeof rows[0], WRAP = 90, NAME_ROOM = 64 };

static const struct row *find(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const char *sv_options_name(int index)
{
    return index < ROWS ? rows[index].name : NULL;
}

/* A value repeated in a message must not control the terminal. */
static bool hide_controls(struct sl_err *err)
{
    for (char *c = err->text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return false;
}

bool sv_options_unknown(const char *name, struct sl_err *err)
{
    const char *names[ROWS + 1] = {NULL};
    char advice[SL_NAME_ADVICE_BYTES];
    for (int i = 0; i < ROWS; i++)
        names[i] = rows[i].name;
    (void)sl_fail(err, SL_BAD_INPUT, "unknown key '%s'; %s", name,
                  sl_name_advice(advice, name, names));
    (void)hide_controls(err);
    return sl_err_set_field(err, name);
}

/* The accepted words, which a row separates by spaces, as a list for people. */
static void add_words(const char *words, struct sl_buffer *out)
{
    for (; *words; words++)
        sl_buffer_append_string(out, *words == ' ' ? ", " : (const char[]){*words, '\0'});
}

static bool is_among(const char *words, const char *value)
{
    size_t length = strlen(value);
    for (const char *w = words; *w; w += strcspn(w, " "), w += strspn(w, " "))
        if (strcspn(w, " ") == length && strncmp(w, value, length) == 0)
            return true;
    return false;
}

/* One value on its way into an option. Errors call the option by `name`: as its source spells it.
 */
struct setting {
    const struct row *row;
    const char *name, *value;
};

static bool fail_word(const struct setting *s, struct sl_err *err)
{
    struct sl_buffer words = {0};
    add_words(s->row->among, &words);
    (void)sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected one of: %s", s->name, s->value,
                  words.failed ? s->row->among : words.data);
    sl_buffer_release(&words);
    return false;
}

static bool set_text(const struct setting *s, char *to, struct sl_err *err)
{
    const struct row *row = s->row;
    if (row->among && !is_among(row->among, s->value))
        return fail_word(s, err);
    size_t length = strlen(s->value);
    if ((int64_t)length < row->min || (int64_t)length > row->max)
        return sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected %lld to %lld bytes",
                       s->name, s->value, (long long)row->min, (long long)row->max);
    memcpy(to, s->value, length + 1);
    return true;
}

/* Decimal digits only, without leading zeros: YAML 1.1 reads 064 as 52. */
static bool is_plain_integer(const char *value)
{
    const char *digits = value + (*value == '-');
    return digits[strspn(digits, "0123456789")] == '\0' && (digits[0] != '0' || digits[1] == '\0');
}

static bool set_int(const struct setting *s, int64_t *to, struct sl_err *err)
{
    double min = (double)s->row->min, max = (double)s->row->max;
    return (is_plain_integer(s->value) && sl_whole_parse(s->value, min, max, to)) ||
           sl_fail_whole(err, s->name, s->value, min, max);
}

static bool set_bool(const struct setting *s, bool *to, struct sl_err *err)
{
    return sl_bool_parse(s->value, to) ||
           sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected true or false", s->name,
                   s->value);
}

static bool set(struct sv_options *options, const struct setting *s, struct sl_err *err)
{
    char *to = (char *)options + s->row->offset;
    bool good = false;
    switch (s->row->kind) {
    case TEXT: good = set_text(s, to, err); break;
    case INT: good = set_int(s, (int64_t *)(void *)to, err); break;
    case BOOL: good = set_bool(s, (bool *)to, err); break;
    }
    return good || hide_controls(err);
}

bool sv_options_set(struct sv_options *options, const char *name, const char *value,
                    struct sl_err *err)
{
    const struct setting s = {find(name), name, value};
    return s.row ? set(options, &s, err) : sv_options_unknown(name, err);
}

void sv_options_defaults(struct sv_options *options)
{
    struct sl_err err;
    *options = (struct sv_options){0};
    for (int i = 0; i < ROWS; i++) {
        bool fits = sv_options_set(options, rows[i].name, rows[i].fallback, &err);
        assert(fits);
        (void)fits;
    }
}

/* ---- the environment and the command line ---------------------------------------------------- */

/* SLUICE_MAX_QUEUE_SIZE for max_queue_size. */
static void environment_name(const struct row *row, char name[static NAME_ROOM])
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
    for (int i = 0; i < ROWS; i++) {
        char name[NAME_ROOM];
        environment_name(&rows[i], name);
        // NOLINTNEXTLINE(concurrency-mt-unsafe): before there are threads
        const struct setting s = {&rows[i], name, getenv(name)};
        if (s.value && !set(options, &s, err))
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
static void option_name(const struct row *row, char name[static NAME_ROOM])
{
    (void)snprintf(name, NAME_ROOM, "--%s", row->name);
    (void)sl_name_with_dashes(name, NAME_ROOM, name);
}

/* Sets an option, or at the first reading, which looks for the file, none. */
static bool set_option(void *context, const char *name, const char *value, struct sl_err *err)
{
    char option[NAME_ROOM];
    const struct setting s = {find(name), option, value ? value : "true"};
    if (!context)
        return true;
    option_name(s.row, option);
    return set(context, &s, err);
}

/* What help calls the value of a TEXT. */
static const char *placeholder(const struct row *row)
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

static struct sl_option row_of(const struct row *row, const char *help)
{
    static const enum sl_option_kind kinds[] = {
        [TEXT] = SL_OPTION_STRING, [INT] = SL_OPTION_STRING, [BOOL] = SL_OPTION_SWITCH};

    const char *value = row->kind == INT ? "N" : row->kind == BOOL ? "BOOL" : placeholder(row);
    return (struct sl_option){
        .name = row->name, .value = value, .help = help, .kind = kinds[row->kind]};
}

static bool read_line(struct sv_options *options, struct requested *requested,
                      enum sv_command *command, int count, char *const *arguments,
                      struct sl_err *err)
{
    struct sl_option table[ROWS + 1] = {{0}};
    for (int i = 0; i < ROWS; i++)
        table[i] = row_of(&rows[i], "");
    struct sl_option_parser parser = {
        .tables = {{.rows = own_rows, .values = requested},
                   {.rows = table, .set = set_option, .context = options}},
        .surplus = "; options begin with --, see --help"};
    if (!sl_options_parse(&parser, count - 1, (char **)(uintptr_t)(arguments + 1), err))
        return hide_controls(err);
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

/* ---- shown to people ------------------------------------------------------------------------- */

static void add_range(const struct row *row, struct sl_buffer *out)
{
    if (row->among) {
        sl_buffer_append_string(out, " One of: ");
        add_words(row->among, out);
        sl_buffer_append_string(out, ".");
    } else if (row->kind == INT)
        sl_buffer_printf(out, " From %lld to %lld.", (long long)row->min, (long long)row->max);
}

/* The text wrapped at spaces, `before` in front of each line. */
static void add_wrapped(struct sl_buffer *out, const char *before, const char *text)
{
    while (*text) {
        size_t length = strlen(text);
        if (length > WRAP) {
            length = WRAP;
            while (length > 0 && text[length] != ' ')
                length--;
        }
        assert(length > 0);
        sl_buffer_append_string(out, before);
        sl_buffer_append(out, text, length);
        sl_buffer_append_string(out, "\n");
        text += length + strspn(text + length, " ");
    }
}

static bool begins_section(int i)
{
    return i == 0 || strcmp(rows[i].section, rows[i - 1].section) != 0;
}

static void add_help(const struct row *row, const char *before, struct sl_buffer *out)
{
    struct sl_buffer text = {0};
    sl_buffer_printf(&text, "%c%s.", toupper((unsigned char)row->help[0]), row->help + 1);
    add_range(row, &text);
    if (!text.failed)
        add_wrapped(out, before, text.data);
    sl_buffer_release(&text);
}

/* What --help says of an option; help[] keeps it. */
static void fill_rows(struct sl_option table[static ROWS + 1], struct sl_buffer help[static ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        sl_buffer_append_string(&help[i], rows[i].help);
        if (rows[i].among) {
            sl_buffer_append_string(&help[i], "; one of ");
            add_words(rows[i].among, &help[i]);
        }
        if (rows[i].fallback[0])
            sl_buffer_printf(&help[i], " [%s]", rows[i].fallback);
        table[i] = row_of(&rows[i], help[i].failed ? rows[i].help : help[i].data);
    }
}

void sv_options_help(struct sl_buffer *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    struct sl_option table[ROWS + 1] = {{0}};
    struct sl_buffer help[ROWS] = {{0}};
    const char *sections[ROWS];
    for (int i = 0; i < ROWS; i++)
        sections[i] = rows[i].section;
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
    for (int i = 0; i < ROWS; i++)
        sl_buffer_release(&help[i]);
}

void sv_options_sample(struct sl_buffer *out)
{
    sl_buffer_append_string(
        out, "# sluiced.yaml - every option of the daemon at its default.\n"
             "# `sluiced --sample-config` prints this file. An unknown key is an error.\n");
    for (int i = 0; i < ROWS; i++) {
        if (begins_section(i))
            sl_buffer_printf(out, "\n# ---- %s ----\n", rows[i].section);
        sl_buffer_append_string(out, "\n");
        add_help(&rows[i], "# ", out);
        bool quoted = rows[i].kind == TEXT && !rows[i].among;
        sl_buffer_printf(out, quoted ? "%s: \"%s\"\n" : "%s: %s\n", rows[i].name, rows[i].fallback);
    }
}

const char *sv_options_show(const struct sv_options *options, int index, struct sl_buffer *value)
{
    if (index >= ROWS)
        return NULL;
    const struct row *row = &rows[index];
    const char *from = (const char *)options + row->offset;
    sl_buffer_clear(value);
    switch (row->kind) {
    case TEXT: sl_buffer_append_string(value, from); break;
    case INT: sl_buffer_append_int(value, *(const int64_t *)(const void *)from); break;
    case BOOL: sl_buffer_append_string(value, *(const bool *)from ? "true" : "false"); break;
    }
    return row->name;
}

const char *sv_options_chosen(const char *value)
{
    return strcmp(value, "auto") == 0 ? NULL : value;
}

bool sv_options_is_default(const struct sv_options *options, int index)
{
    struct sv_options defaults;
    struct sl_buffer mine = {0}, standard = {0};
    sv_options_defaults(&defaults);
    const char *name = sv_options_show(options, index, &mine);
    assert(name);
    (void)name;
    (void)sv_options_show(&defaults, index, &standard);
    bool same = !mine.failed && !standard.failed && strcmp(mine.data, standard.data) == 0;
    sl_buffer_release(&mine);
    sl_buffer_release(&standard);
    return same;
}
