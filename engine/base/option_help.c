/* option_help.c - prints --help from tables of options. */
#include "base/buffer.h"
#include "base/option_parser.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 79, TEXT_COLUMN = 29, USAGE_COLUMN = 12 };

/* Width of a line: as POSIX has it, the variable COLUMNS says what the user prefers. */
static int line_width(void)
{
    const char *preferred =
        getenv("COLUMNS"); // NOLINT(concurrency-mt-unsafe): there are no threads
    int64_t columns;
    return preferred && sl_whole_parse(preferred, 2 * TEXT_COLUMN, 10000, &columns) ? (int)columns
                                                                                    : COLUMNS;
}

/* Prints words in lines that are indented, the first one from a column on. */
static void print_text(const char *text, int indent, FILE *out)
{
    int column = indent, width = line_width();
    for (const char *word = text; *word; word += strspn(word, " ")) {
        int length = (int)strcspn(word, " ");
        bool first = column == indent, fits = column + 1 + length <= width;
        if (!first && !fits) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            column += fprintf(out, " ");
        }
        column += fprintf(out, "%.*s", length, word);
        word += length;
    }
    (void)fputc('\n', out);
}

/* "Usage: " and "  or:  ", a line for each line of operands. */
static void print_usage(const struct sl_option_parser *p, FILE *out)
{
    const char *operands = p->usage ? p->usage : "", *begin = "Usage: ";
    for (bool more = true; more; begin = "  or:  ") {
        int length = (int)strcspn(operands, "\n");
        int column = fprintf(out, "%s%s [OPTION...]", begin, p->program);
        bool fits = column + 1 + length <= line_width();
        if (length > 0)
            (void)fprintf(out, "%s%*s%.*s", fits ? "" : "\n", fits ? 1 : USAGE_COLUMN, "", length,
                          operands);
        (void)fputc('\n', out);
        more = operands[length] == '\n';
        operands += length + more;
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
static void describe_number(const struct sl_option_entry *e, struct sl_buffer *text)
{
    char value[SL_PARAM_TEXT], choices[256];
    const struct sl_param *number = e->number;
    sl_param_format(number, number->default_value, value);
    sl_buffer_append_string(text, number->help);
    if (number->kind == SL_CHOICE && !explains_choices(number)) {
        sl_param_choices(number, choices, sizeof choices);
        sl_buffer_printf(text, ": %s", choices);
    }
    if (number->help[strlen(number->help) - 1] != ']')
        sl_buffer_printf(text, " [%s]", e->table->default_text ? e->table->default_text : value);
}

/* What help calls the value; NULL: there is none. */
static const char *placeholder(const struct sl_option_entry *e)
{
    static const char *const numbers[] = {
        [SL_INTEGER] = "N", [SL_REAL] = "X", [SL_CHOICE] = "NAME", [SL_FLAG] = "BOOL"};
    if (e->number)
        return numbers[e->number->kind];
    return e->row->value || e->row->kind == SL_OPTION_FLAG ? e->row->value : "VALUE";
}

static int print_name(const struct sl_option_entry *e, const char *name, FILE *out)
{
    const char *value = placeholder(e);
    if (!value)
        return fprintf(out, "--%s", name);
    bool optional = e->row && e->row->kind == SL_OPTION_SWITCH;
    return fprintf(out, optional ? "--%s[=%s]" : "--%s=%s", name, value);
}

static void print_option(const struct sl_option_parser *p, const struct sl_option_entry *e,
                         FILE *out)
{
    struct sl_buffer text = {0};
    bool is_help = e->is_common && strcmp(e->name, "help") == 0;
    int column = fprintf(out, is_help ? "  -h, " : "      ");
    column += print_name(e, e->name, out);
    for (const struct sl_option_alias *a = p->aliases; a && a->name; a++)
        if (strcmp(a->option, e->name) == 0)
            column += fprintf(out, ", ") + print_name(e, a->name, out);
    bool fits = column < TEXT_COLUMN;
    (void)fprintf(out, "%s%*s", fits ? "" : "\n", fits ? TEXT_COLUMN - column : TEXT_COLUMN, "");
    if (e->number)
        describe_number(e, &text);
    else
        sl_buffer_append_string(&text, e->row->help);
    print_text(text.failed ? "" : text.data, TEXT_COLUMN, out);
    sl_buffer_release(&text);
}

/* NULL: none. */
static const char *heading_of(const struct sl_option_entry *e)
{
    const struct sl_option_table *table = e->table;
    return e->row && table->sections ? table->sections[e->row - table->rows] : table->heading;
}

void sl_options_help(const struct sl_option_parser *parser, FILE *out)
{
    bool first = true;
    const char *before = NULL; /* the heading of the option before */
    print_usage(parser, out);
    print_text(parser->about ? parser->about : "", 0, out);
    (void)fputc('\n', out);
    for (struct sl_option_entry e = {0}; sl_option_next(parser, &e);) {
        const char *heading = heading_of(&e);
        bool begins = heading && !(before && strcmp(before, heading) == 0);
        if (!first && (begins || (before && !heading)))
            (void)fputc('\n', out);
        if (begins) {
            (void)fputc(' ', out);
            print_text(heading, 1, out);
        }
        print_option(parser, &e, out);
        before = heading;
        first = false;
    }
    if (parser->notes)
        (void)fprintf(out, "\n%s", parser->notes);
}
