/* option_parser.c - reads command lines by tables of options. */
#include "base/option_parser.h"

#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

static bool set_whole(const struct sl_option_entry *e, void *to, const char *text,
                      struct sl_err *err)
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

static bool set_real(const struct sl_option_entry *e, void *to, const char *text,
                     struct sl_err *err)
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

static bool add_string(const struct sl_option_entry *e, struct sl_strings *to, const char *text,
                       struct sl_err *err)
{
    if (to->count == SL_OPTION_STRINGS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "--%s appears more than %d times", e->name,
                       SL_OPTION_STRINGS_MAX);
    to->items[to->count++] = text;
    return true;
}

/* A flag may have a value, too. */
static bool set_flag(const struct sl_option_entry *e, bool *to, const char *text,
                     struct sl_err *err)
{
    *to = true;
    return !text || sl_bool_parse(text, to) ||
           sl_fail(err, SL_BAD_INPUT, "invalid --%s '%s': expected true or false", e->name, text);
}

static bool set_row(const struct sl_option_entry *e, void *values, const char *text,
                    struct sl_err *err)
{
    void *to = (char *)values + e->row->offset;
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
static bool set(struct sl_option_parser *p, const struct sl_option_entry *e, const char *text,
                struct sl_err *err)
{
    const struct sl_option_table *table = e->table;
    bool good;
    if (table->set)
        good = table->set(table->context, e->row ? e->row->name : e->number->name, text, err);
    else if (e->number)
        good = sl_option_set_param(e->number, table->values, text, err);
    else
        good = set_row(e, e->is_common ? p : table->values, text, err) || spell_field(err, e->name);
    if (!good)
        sl_err_set_field(err, e->name);
    return good;
}

/* ---- options --------------------------------------------------------------------------------- */

/* The name of the option that an alias stands for; any other name as it is. */
static const char *resolve(const struct sl_option_parser *p, const char *name)
{
    const struct sl_option_alias *a = p->aliases;
    while (a && a->name && strcmp(a->name, name) != 0)
        a++;
    return a && a->name ? a->option : name;
}

/* Counts the options that a name, perhaps shortened, may stand for; *found is one of them. */
static int find(const struct sl_option_parser *p, const char *name, struct sl_option_entry *found)
{
    int count = 0;
    size_t length = strlen(name);
    for (struct sl_option_entry e = {0}; sl_option_next(p, &e);) {
        if (strncmp(e.name, name, length) != 0)
            continue;
        count += count == 0 || strcmp(e.name, found->name) != 0;
        *found = e;
        if (!e.name[length])
            return 1;
    }
    return count;
}

static bool fail_unknown(struct sl_option_parser *p, const char *name, struct sl_err *err)
{
    enum { NAMES_MAX = 256 };

    const char *names[NAMES_MAX + 1] = {NULL};
    char meant[SL_NAME_BYTES];
    int count = 0;
    (void)snprintf(p->unknown, sizeof p->unknown, "%s", name);
    for (struct sl_option_entry e = {0}; sl_option_next(p, &e) && count < NAMES_MAX;)
        names[count++] = e.row ? e.row->name : e.number->name;
    const char *nearest = sl_name_suggest(name, names);
    if (nearest)
        return sl_fail(err, SL_BAD_INPUT, "unknown option --%s; did you mean --%s?", name,
                       sl_name_with_dashes(meant, sizeof meant, nearest));
    return sl_fail(err, SL_BAD_INPUT, "unknown option --%s; --help lists the options", name);
}

static bool fail_single_dash(const char *word, struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT,
                   "unknown option %s; options begin with two dashes; to give an argument that "
                   "begins with a dash, write -- before it",
                   word);
}

static bool needs_value(const struct sl_option_entry *e)
{
    return e->number || (e->row->kind != SL_OPTION_FLAG && e->row->kind != SL_OPTION_SWITCH);
}

/* The words of a command line that are not read yet. */
struct rest {
    char **words;
    int count;
};

static bool read_option(struct sl_option_parser *p, struct rest *rest, struct sl_err *err)
{
    const char *word = *rest->words++ + 2, *value = strchr(word, '=');
    char name[SL_NAME_BYTES];
    struct sl_option_entry e;
    rest->count--;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    int found = find(p, resolve(p, name), &e);
    if (found == 0)
        return fail_unknown(p, name, err);
    if (found > 1)
        return sl_fail(err, SL_BAD_INPUT, "--%s is ambiguous: it may stand for --%s and others",
                       name, e.name);
    if (!value && needs_value(&e) && rest->count == 0)
        return sl_fail(err, SL_BAD_INPUT, "--%s needs a value%s", e.name,
                       e.number && e.number->kind == SL_FLAG ? ": true or false" : "");
    if (value) {
        value++;
    } else if (needs_value(&e)) {
        value = *rest->words++;
        rest->count--;
    }
    bool is_short = strncmp(e.name, name, strlen(name)) == 0 && strcmp(e.name, name) != 0;
    return set(p, &e, value, err) ||
           (is_short && sl_wrap(err, "--%s is short for --%s", name, e.name));
}

/* ---- the line -------------------------------------------------------------------------------- */

static bool take_operand(struct sl_option_parser *p, const char *word, struct sl_err *err)
{
    if (p->operand_count == p->operands_max)
        return sl_fail(err, SL_BAD_INPUT, "unexpected argument '%s'%s", word,
                       p->surplus ? p->surplus : "");
    p->operands[p->operand_count++] = word;
    return true;
}

static bool is_operand(const char *word)
{
    return word[0] != '-' || word[1] == '\0';
}

/* Reads the next word, or an option and its value. */
static bool read_next(struct sl_option_parser *p, struct rest *rest, struct sl_err *err)
{
    const char *word = *rest->words;
    if (!is_operand(word) && word[1] == '-')
        return read_option(p, rest, err);
    rest->words++;
    rest->count--;
    if (is_operand(word))
        return take_operand(p, word, err);
    p->wants_help |= strcmp(word, "-h") == 0;
    return strcmp(word, "-h") == 0 || fail_single_dash(word, err);
}

bool sl_options_parse(struct sl_option_parser *parser, int count, char **words, struct sl_err *err)
{
    struct rest rest = {words, count};
    while (rest.count > 0 && strcmp(*rest.words, "--") != 0) {
        if (parser->stops_at_operand && is_operand(*rest.words))
            break;
        if (!read_next(parser, &rest, err))
            return false;
    }
    if (rest.count > 0 && strcmp(*rest.words, "--") == 0) {
        rest.words++;
        rest.count--;
    }
    parser->read = count - rest.count;
    while (rest.count > 0 && !parser->stops_at_operand) {
        rest.count--;
        if (!take_operand(parser, *rest.words++, err))
            return false;
    }
    return true;
}

const char *sl_option_first_given(const struct sl_option_given *options)
{
    while (options->name && !options->given)
        options++;
    return options->name;
}
