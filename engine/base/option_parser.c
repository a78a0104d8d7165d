/* option_parser.c - translates tables of options for argp, and writes the errors. */
#include "base/option_parser.h"
#include "base/buffer.h"
#include "base/option_help.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keys above all characters: only -h has a short form. */
enum { OPTIONS_MAX = 192, ALIASES_MAX = 8, FIRST_KEY = 1000, KEY_VERSION = 999 };

/* One option of any table. */
struct entry {
    const struct sl_option_table *table;
    const struct sl_option *row;   /* either this */
    const struct sl_param *number; /* or this is set */
    char name[SL_NAME_BYTES];      /* as on a command line */
};

struct line {
    struct sl_option_parser *parser;
    struct sl_err *err;
    bool failed; /* err is set */
    int count;
    struct entry entries[OPTIONS_MAX];
    /* With headings, aliases, help, version and the end. */
    struct argp_option options[2 * OPTIONS_MAX + ALIASES_MAX + 3];
    struct sl_buffer docs[OPTIONS_MAX]; /* help texts of numbers */
};

/* ---- values ---------------------------------------------------------------------------------- */

static bool set_whole(const struct entry *e, void *to, const char *text, struct sl_err *err)
{
    int64_t value;
    if (!sl_whole_parse(text, e->row->min, e->row->max, &value))
        return sl_fail_whole(err, e->name, text, e->row->min, e->row->max);
    if (e->row->kind == SL_OPTION_INT)
        *(int *)to = (int)value;
    else
        *(struct sl_given_int *)to = (struct sl_given_int){.given = true, .value = value};
    return true;
}

static bool set_real(const struct entry *e, void *to, const char *text, struct sl_err *err)
{
    double value;
    if (!sl_number_parse(text, e->row->min, e->row->max, &value))
        return sl_fail_number(err, e->name, text, e->row->min, e->row->max);
    if (e->row->kind == SL_OPTION_REAL)
        *(double *)to = value;
    else
        *(struct sl_given_real *)to = (struct sl_given_real){.given = true, .value = value};
    return true;
}

static bool add_string(const struct entry *e, struct sl_strings *to, const char *text,
                       struct sl_err *err)
{
    if (to->count == SL_OPTION_STRINGS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "--%s appears more than %d times", e->name,
                       SL_OPTION_STRINGS_MAX);
    to->items[to->count++] = text;
    return true;
}

/* A flag may have a value, too. */
static bool set_flag(const struct entry *e, bool *to, const char *text, struct sl_err *err)
{
    *to = true;
    return !text || sl_bool_parse(text, to) ||
           sl_fail(err, SL_BAD_INPUT, "invalid --%s '%s': expected true or false", e->name, text);
}

static bool set_row(const struct entry *e, const char *text, struct sl_err *err)
{
    void *to = (char *)e->table->values + e->row->offset;
    switch (e->row->kind) {
    case SL_OPTION_SWITCH:
    case SL_OPTION_FLAG: return set_flag(e, to, text, err);
    case SL_OPTION_STRING: *(const char **)to = text; return true;
    case SL_OPTION_STRINGS: return add_string(e, to, text, err);
    case SL_OPTION_INT:
    case SL_OPTION_GIVEN_INT: return set_whole(e, to, text, err);
    case SL_OPTION_REAL:
    case SL_OPTION_GIVEN_REAL: return set_real(e, to, text, err);
    }
    return false;
}

/* Errors name an option --like-this. */
static bool spell_field(struct sl_err *err, const char *name)
{
    char option[SL_NAME_BYTES + 2];
    (void)snprintf(option, sizeof option, "--%s", name);
    return sl_err_spell_field(err, sl_name_with_dashes(option, sizeof option, option));
}

bool sl_option_set_param(const struct sl_param *row, void *values, const char *text,
                         struct sl_err *err)
{
    return sl_param_parse(row, values, text, err) || spell_field(err, row->name);
}

/* text is NULL for a flag without a value. */
static bool set(const struct entry *e, const char *text, struct sl_err *err)
{
    bool good;
    if (e->number)
        good = sl_option_set_param(e->number, e->table->values, text, err);
    else if (e->table->set)
        good = e->table->set(e->table->context, e->row->name, text, err);
    else
        good = set_row(e, text, err) || spell_field(err, e->name);
    if (!good)
        sl_err_set_field(err, e->name);
    return good;
}

/* ---- the line -------------------------------------------------------------------------------- */

/* The name of the option that an alias stands for; any other name as it is. */
static const char *resolve(const struct line *line, const char *name)
{
    const struct sl_option_alias *a = line->parser->aliases;
    while (a && a->name && strcmp(a->name, name) != 0)
        a++;
    return a && a->name ? a->option : name;
}

/* Counts the entries that a name, perhaps shortened, may stand for; *found is one of them. */
static int candidates(const struct line *line, const char *name, const struct entry **found)
{
    int count = 0;
    size_t length = strlen(name);
    for (int i = 0; i < line->count; i++) {
        if (strncmp(line->entries[i].name, name, length) != 0)
            continue;
        *found = &line->entries[i];
        if (line->entries[i].name[length] == '\0')
            return 1;
        count++;
    }
    return count;
}

static bool fail_unknown(const struct line *line, const char *name)
{
    const char *names[OPTIONS_MAX + 1];
    char spelt[SL_NAME_BYTES];
    (void)snprintf(line->parser->unknown, sizeof line->parser->unknown, "%s", name);
    (void)sl_name_with_dashes(spelt, sizeof spelt, name);
    for (int i = 0; i < line->count; i++)
        names[i] = line->entries[i].name;
    names[line->count] = NULL;
    const char *meant = sl_name_suggest(spelt, names);
    if (meant)
        return sl_fail(line->err, SL_BAD_INPUT, "unknown option --%s; did you mean --%s?", name,
                       meant);
    return sl_fail(line->err, SL_BAD_INPUT, "unknown option --%s; --help lists the options", name);
}

/* Explains a word that argp rejected; argp itself does not say why. */
static bool fail_word(const struct line *line, const char *word)
{
    char name[SL_NAME_BYTES];
    const struct entry *found = NULL;
    if (strncmp(word, "--", 2) != 0)
        return sl_fail(line->err, SL_BAD_INPUT,
                       "unknown option %s; options begin with two dashes; to give an argument that "
                       "begins with a dash, write -- before it",
                       word);
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    int count = candidates(line, resolve(line, name), &found);
    if (count == 0)
        return fail_unknown(line, name);
    if (count > 1)
        return sl_fail(line->err, SL_BAD_INPUT,
                       "--%s is ambiguous: it may stand for --%s and others", name, found->name);
    bool is_bool = found->number && found->number->kind == SL_FLAG;
    return sl_fail(line->err, SL_BAD_INPUT, "--%s needs a value%s", found->name,
                   is_bool ? ": true or false" : "");
}

static bool take_operand(struct sl_option_parser *p, const char *word, struct sl_err *err)
{
    if (p->operand_count == p->operands_max)
        return sl_fail(err, SL_BAD_INPUT, "unexpected argument '%s'%s", word,
                       p->surplus ? p->surplus : "");
    p->operands[p->operand_count++] = word;
    return true;
}

static bool take_word(struct line *line, char *word, struct argp_state *state)
{
    struct sl_option_parser *p = line->parser;
    if (!p->stops_at_operand)
        return take_operand(p, word, line->err);
    p->read = state->next - 2; /* before this word and argv[0] */
    state->next = state->argc;
    return true;
}

/* The word that argp rejected. */
static const char *word_at(const struct argp_state *state)
{
    const char *word = state->argv[state->next - 1];
    return word[0] == '-' || state->next >= state->argc ? word : state->argv[state->next];
}

/* An option that was shortened, because the error names the whole one. */
static void explain_short_name(const struct entry *e, const struct argp_state *state,
                               struct sl_err *err)
{
    const char *word = state->argv[state->next - 1];
    if (strncmp(word, "--", 2) != 0 && state->next >= 3)
        word = state->argv[state->next - 2];
    size_t length = strcspn(word, "=");
    if (length > 2 && length - 2 < strlen(e->name) && strncmp(word + 2, e->name, length - 2) == 0)
        (void)sl_wrap(err, "%.*s is short for --%s", (int)length, word, e->name);
}

static bool take_option(const struct entry *e, const char *value, const struct argp_state *state)
{
    const struct line *line = state->input;
    if (set(e, value, line->err))
        return true;
    explain_short_name(e, state, line->err);
    return false;
}

static error_t on_key(int key, char *value, struct argp_state *state)
{
    struct line *line = state->input;
    bool good = true;
    if (key == 'h')
        line->parser->wants_help = true;
    else if (key == KEY_VERSION)
        line->parser->wants_version = true;
    else if (key == ARGP_KEY_ARG)
        good = take_word(line, value, state);
    else if (key == ARGP_KEY_ERROR)
        good = line->failed || fail_word(line, word_at(state));
    else if (key >= FIRST_KEY && key < FIRST_KEY + line->count)
        good = take_option(&line->entries[key - FIRST_KEY], value, state);
    else
        return ARGP_ERR_UNKNOWN;
    line->failed = line->failed || !good;
    return good ? 0 : EINVAL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct entry *add_entry(struct line *line, const struct sl_option_table *table,
                               const char *name)
{
    assert(line->count < OPTIONS_MAX);
    struct entry *e = &line->entries[line->count++];
    *e = (struct entry){.table = table};
    (void)sl_name_with_dashes(e->name, sizeof e->name, name);
    return e;
}

static void add_entries(struct line *line)
{
    for (int t = 0; t < SL_OPTION_TABLES; t++) {
        const struct sl_option_table *table = &line->parser->tables[t];
        for (const struct sl_option *r = table->rows; r && r->name; r++)
            add_entry(line, table, r->name)->row = r;
        for (const struct sl_param *n = table->numbers; n && n->name; n++)
            add_entry(line, table, n->name)->number = n;
    }
}

/* Whether a help text explains the choices itself, as in "unit: N(0, 1), small: ...". */
static bool explains_choices(const struct sl_param *number)
{
    char first[SL_PARAM_TEXT];
    (void)snprintf(first, sizeof first, " %s: ", number->choices[0]);
    return strstr(number->help, first) != NULL;
}

/* The help text of a number: description, choices, default. A text that ends with a bracket has its
 * default already, because it depends on other options. */
static const char *number_doc(const struct sl_param *number, struct sl_buffer *doc)
{
    char fallback[SL_PARAM_TEXT], choices[256];
    sl_param_format(number, number->default_value, fallback);
    sl_buffer_append_string(doc, number->help);
    if (number->kind == SL_CHOICE && !explains_choices(number)) {
        sl_param_choices(number, choices, sizeof choices);
        sl_buffer_printf(doc, ": %s", choices);
    }
    if (number->help[strlen(number->help) - 1] != ']')
        sl_buffer_printf(doc, " [%s]", fallback);
    return doc->failed ? number->help : doc->data;
}

static struct argp_option option_of(struct line *line, int i)
{
    const struct entry *e = &line->entries[i];
    struct argp_option o = {.name = e->name, .key = FIRST_KEY + i};
    if (e->number) {
        static const char *const values[] = {
            [SL_INTEGER] = "N", [SL_REAL] = "X", [SL_CHOICE] = "NAME", [SL_FLAG] = "BOOL"};
        o.arg = values[e->number->kind];
        o.doc = number_doc(e->number, &line->docs[i]);
        return o;
    }
    bool flag = e->row->kind == SL_OPTION_FLAG, in_help = !line->err;
    o.doc = e->row->help;
    o.arg = e->row->value ? e->row->value : flag && in_help ? NULL : "VALUE";
    o.flags = flag || e->row->kind == SL_OPTION_SWITCH ? OPTION_ARG_OPTIONAL : 0;
    return o;
}

static const char *heading_of(const struct entry *e)
{
    const struct sl_option_table *table = e->table;
    return e->row && table->sections ? table->sections[e->row - table->rows] : table->heading;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Adds the aliases of the option at[-1] behind it; returns how many. */
static int add_aliases(const struct line *line, struct argp_option *at)
{
    int count = 0;
    for (const struct sl_option_alias *a = line->parser->aliases; a && a->name; a++) {
        if (strcmp(a->option, at[-1].name) != 0)
            continue;
        assert(count < ALIASES_MAX);
        at[count++] = (struct argp_option){
            .name = a->name, .key = at[-1].key, .flags = OPTION_ALIAS, .group = at[-1].group};
    }
    return count;
}

/* argp sorts by group, then by name. One group per option keeps the order of the tables. Options of
 * every program come last. */
static void fill_options(struct line *line)
{
    int at = 0, group = 0;
    for (int i = 0; i < line->count; i++) {
        const struct entry *e = &line->entries[i], *before = i > 0 ? e - 1 : NULL;
        const char *heading = heading_of(e);
        bool begins =
            !before || before->table != e->table || !same_text(heading_of(before), heading);
        if (begins && heading)
            line->options[at++] = (struct argp_option){.doc = heading, .group = ++group};
        line->options[at] = option_of(line, i);
        line->options[at++].group = ++group;
        at += add_aliases(line, line->options + at);
    }
    line->options[at++] = (struct argp_option){
        .name = "help", .key = 'h', .doc = "print this help and exit", .group = -1};
    line->options[at++] = (struct argp_option){
        .name = "version", .key = KEY_VERSION, .doc = "print the version and exit", .group = -1};
}

static struct line *line_create(struct sl_option_parser *parser, struct sl_err *err)
{
    struct line *line = calloc(1, sizeof *line);
    if (!line) {
        sl_fail(err, SL_NO_MEMORY, "no memory to read the command line");
        return NULL;
    }
    line->parser = parser;
    line->err = err;
    add_entries(line);
    fill_options(line);
    return line;
}

static void line_destroy(struct line *line)
{
    for (int i = 0; i < line->count; i++)
        sl_buffer_release(&line->docs[i]);
    free(line);
}

bool sl_options_parse(struct sl_option_parser *parser, int count, char **words, struct sl_err *err)
{
    struct line *line = line_create(parser, err);
    if (!line)
        return false;
    parser->read = count;
    /* A copy, because getopt reorders the words; its first word is skipped. */
    char **copy = calloc((size_t)count + 2, sizeof *copy);
    bool good = copy || sl_fail(err, SL_NO_MEMORY, "no memory to read the command line");
    if (good) {
        char nothing[] = "";
        const struct argp argp = {.options = line->options, .parser = on_key};
        unsigned flags = ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP;
        copy[0] = nothing;
        if (count > 0)
            memcpy(copy + 1, words, (size_t)count * sizeof *copy);
        flags |= parser->stops_at_operand ? ARGP_IN_ORDER : 0;
        error_t status = argp_parse(&argp, count + 1, copy, flags, NULL, line);
        good = status == 0 && !line->failed;
        if (status != 0 && !line->failed)
            sl_fail(err, SL_NO_MEMORY, "no memory to read the command line");
    }
    free(copy);
    line_destroy(line);
    return good;
}

/* argp's help for these options, to be freed; NULL: no memory. */
static char *write_help(struct line *line)
{
    const struct sl_option_parser *p = line->parser;
    const struct argp argp = {
        .options = line->options, .parser = on_key, .args_doc = p->usage, .doc = p->about};
    char program[SL_NAME_BYTES], *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return NULL;
    (void)snprintf(program, sizeof program, "%s", p->program);
    argp_help(&argp, stream, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, program);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

void sl_options_help(const struct sl_option_parser *parser, FILE *out)
{
    struct sl_option_parser shown = *parser;
    struct line *line = line_create(&shown, NULL);
    if (!line)
        return;
    char *text = write_help(line);
    if (text)
        sl_option_help_print(text, out);
    free(text);
    if (parser->notes) /* argp would break its lines differently */
        (void)fprintf(out, "\n%s", parser->notes);
    line_destroy(line);
}
