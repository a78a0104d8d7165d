/* option_help.c - edits argp's help: fewer blank lines, texts in one column. */
#include "base/option_help.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(const char *line, size_t length)
{
    return strspn(line, " ") >= length;
}

enum { TEXT_COLUMN = 29 }; /* argp's default */

/* Where a line with an option begins. After some texts argp indents it as if it were one itself. */
static const char *option_start(const char *line)
{
    static const char option[] = "      --";
    if (strspn(line, " ") == TEXT_COLUMN + strlen("      "))
        line += TEXT_COLUMN;
    return strncmp(line, option, strlen(option)) == 0 ? line : NULL;
}

/* Prints a line of argp's help. argp puts the text of an option with a long name right after it,
 * out of the column of the others. Here it goes to the next line, as argp does for still longer
 * names. */
static void print_line(const char *line, size_t length, FILE *out)
{
    const char *gap = length > TEXT_COLUMN && strncmp(line, "      --", 8) == 0
                          ? memmem(line + 8, length - 8, "   ", 3)
                          : NULL;
    size_t name = gap ? (size_t)(gap - line) : length;
    size_t text = name + (gap ? strspn(gap, " ") : 0);
    if (gap && text > TEXT_COLUMN)
        (void)fprintf(out, "%.*s\n%*s%.*s\n", (int)name, line, TEXT_COLUMN, "",
                      (int)(length - text), line + text);
    else
        (void)fprintf(out, "%.*s\n", (int)length, line);
}

/* Prints argp's help without the blank lines between options: argp puts one before every group, and
 * each option is a group. Blank lines before the first option, before headings and before -h
 * stay. */
void sl_option_help_print(const char *text, FILE *out)
{
    bool any = false;
    for (size_t length; *text; text += length + 1) {
        length = strcspn(text, "\n");
        const char *next = text[length] ? text + length + 1 : "";
        bool blank = is_blank(text, length);
        const char *option = option_start(text), *start = option ? option : text;
        if (!blank || !any || !option_start(next))
            print_line(start, blank ? 0 : length - (size_t)(start - text), out);
        any |= blank;
        if (!text[length])
            break;
    }
}
