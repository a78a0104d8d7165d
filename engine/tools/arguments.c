/* arguments.c - command lines: tables of options, and errors that say what would be accepted. */
#include "tools/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool option_number(const char *name, const char *text, double *out, struct sl_err *err)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno == ERANGE || !isfinite(value))
        return sl_fail(err, SL_BAD_INPUT, "--%s is '%s', which is not a number", name, text);
    *out = value;
    return true;
}

static bool put_number(const struct option_row *row, void *at, const char *text, struct sl_err *err)
{
    double value;
    if (!option_number(row->name, text, &value, err))
        return false;
    bool whole = row->kind == OPTION_NUMBER || value == floor(value);
    if (value < row->least || value > row->most || !whole)
        return sl_fail(err, SL_BAD_INPUT, "--%s is %s; accepted is a %s from %g to %g", row->name,
                       text, row->kind == OPTION_WHOLE ? "whole number" : "number", row->least,
                       row->most);
    if (row->kind == OPTION_WHOLE)
        *(int *)at = (int)value;
    else
        *(double *)at = value;
    return true;
}

static bool put(const struct option_row *row, void *values, const char *text, struct sl_err *err)
{
    void *at = (char *)values + row->offset;
    switch (row->kind) {
    case OPTION_SWITCH: *(bool *)at = true; return true;
    case OPTION_TEXT: *(const char **)at = text; return true;
    case OPTION_WHOLE:
    case OPTION_NUMBER: return put_number(row, at, text, err);
    }
    return false;
}

static bool unknown(const struct option_row *rows, const char *name, struct sl_err *err)
{
    char known[512] = "";
    size_t used = 0;
    for (const struct option_row *r = rows; r->name && used < sizeof known; r++)
        used += (size_t)snprintf(known + used, sizeof known - used, " --%s", r->name);
    return sl_fail(err, SL_BAD_INPUT, "--%s is not an option here; there are:%s", name, known);
}

/* One option at words[i]; *i moves past its value. */
static bool read_option(struct option_reader *reader, int count, char **words, int *i,
                        struct sl_err *err)
{
    char name[64];
    const char *word = words[*i] + 2, *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    (void)snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), word);
    const struct option_row *row = reader->rows;
    while (row->name && strcmp(row->name, name) != 0)
        row++;
    if (row->name && row->kind == OPTION_SWITCH)
        return equals ? sl_fail(err, SL_BAD_INPUT, "--%s takes no value", name)
                      : put(row, reader->values, NULL, err);
    if (!row->name && !reader->other)
        return unknown(reader->rows, name, err);
    const char *value = equals ? equals + 1 : *i + 1 < count ? words[++*i] : NULL;
    if (!value)
        return sl_fail(err, SL_BAD_INPUT, "--%s needs a value", name);
    return row->name ? put(row, reader->values, value, err)
                     : reader->other(reader->context, name, value, err);
}

bool options_read(struct option_reader *reader, int count, char **words, struct sl_err *err)
{
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], "--", 2) == 0) {
            if (!read_option(reader, count, words, &i, err))
                return false;
        } else if (reader->operands_count < reader->operands_most) {
            reader->operands[reader->operands_count++] = words[i];
        } else {
            return sl_fail(err, SL_BAD_INPUT, "'%s' is one word too many", words[i]);
        }
    }
    return true;
}

void options_help(const struct option_row *rows)
{
    for (const struct option_row *r = rows; r->name; r++) {
        char left[64];
        (void)snprintf(left, sizeof left, "--%s %s", r->name, r->value ? r->value : "");
        printf("  %-26s %s\n", left, r->help);
    }
}
