/* arguments.c - command lines: tables of options, and errors that say what would be accepted. */
#include "tools/arguments.h"
#include "base/whole.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

/* -- names ------------------------------------------------------------------------------------ */

/* A name as it is written on a command line. */
static const char *spell(const char *name, char text[NAME_MAX_BYTES])
{
    (void)snprintf(text, NAME_MAX_BYTES, "%s", name);
    for (char *at = text; *at; at++)
        if (*at == '_')
            *at = '-';
    return text;
}

static bool same(const char *name, const char *spelt)
{
    char text[NAME_MAX_BYTES];
    return strcmp(spell(name, text), spelt) == 0;
}

static int least_of(int a, int b, int c)
{
    return sl_least(sl_least(a, b), c);
}

/* How many letters must be put in, left out or replaced to make one of the other. */
static int distance(const char *a, const char *b)
{
    int above[NAME_MAX_BYTES], row[NAME_MAX_BYTES];
    int columns = (int)strlen(b);
    for (int j = 0; j <= columns; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        memcpy(above, row, sizeof above);
        row[0] = i;
        for (int j = 1; j <= columns; j++)
            row[j] = least_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
    }
    return row[columns];
}

struct nearest {
    const char *name; /* as it was given */
    int distance;     /* of what is nearest so far */
    char text[NAME_MAX_BYTES];
};

static void compare(struct nearest *n, const char *name)
{
    char spelt[NAME_MAX_BYTES];
    int far = distance(n->name, spell(name, spelt));
    if (far >= n->distance)
        return;
    n->distance = far;
    memcpy(n->text, spelt, sizeof spelt);
}

/* What is too far from all there are is no slip of the finger. */
static bool unknown(const struct option_reader *reader, const char *name, struct sl_err *err)
{
    struct nearest n = {.name = name, .distance = 2 + (int)strlen(name) / 4};
    for (const struct option_row *r = reader->rows; r->name; r++)
        compare(&n, r->name);
    for (int i = 0; i < OPTION_TABLES; i++)
        for (const struct sl_number *r = reader->numbers[i].rows; r && r->name; r++)
            compare(&n, r->name);
    if (n.text[0])
        return sl_fail(err, SL_BAD_INPUT, "there is no option --%s; do you mean --%s?", name,
                       n.text);
    return sl_fail(err, SL_BAD_INPUT, "there is no option --%s here; --help lists those there are",
                   name);
}

/* -- values ----------------------------------------------------------------------------------- */

static bool read_number(const char *name, const char *text, double *out, struct sl_err *err)
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
    double value = 0.0;
    char least[SL_NUMBER_TEXT], most[SL_NUMBER_TEXT];
    if (!read_number(row->name, text, &value, err))
        return false;
    bool whole = row->kind == OPTION_NUMBER || value == floor(value);
    sl_number_text(row->least, least);
    sl_number_text(row->most, most);
    if (value < row->least || value > row->most || !whole)
        return sl_fail(err, SL_BAD_INPUT, "--%s is %s; accepted is a %s from %s to %s", row->name,
                       text, row->kind == OPTION_WHOLE ? "whole number" : "number", least, most);
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

static const struct option_row *find_row(const struct option_row *rows, const char *name)
{
    for (; rows->name; rows++)
        if (same(rows->name, name))
            return rows;
    return NULL;
}

/* The row of a number; *object: what it is in. */
static const struct sl_number *find_number(const struct option_reader *reader, const char *name,
                                           void **object)
{
    for (int i = 0; i < OPTION_TABLES; i++)
        for (const struct sl_number *r = reader->numbers[i].rows; r && r->name; r++)
            if (same(r->name, name)) {
                *object = reader->numbers[i].object;
                return r;
            }
    return NULL;
}

/* One option at words[i]; *i moves past its value. */
static bool read_option(struct option_reader *reader, int count, char **words, int *i,
                        struct sl_err *err)
{
    char name[NAME_MAX_BYTES], given[NAME_MAX_BYTES];
    const char *word = words[*i] + 2, *equals = strchr(word, '=');
    int length = (int)(equals ? (size_t)(equals - word) : strnlen(word, sizeof given));
    void *object = NULL;
    (void)snprintf(given, sizeof given, "%.*s", length, word);
    const struct option_row *row = find_row(reader->rows, spell(given, name));
    const struct sl_number *number = row ? NULL : find_number(reader, name, &object);
    if (!row && !number)
        return unknown(reader, name, err);
    if (row && row->kind == OPTION_SWITCH)
        return equals ? sl_fail(err, SL_BAD_INPUT, "--%s takes no value", name)
                      : put(row, reader->values, NULL, err);
    const char *value = equals ? equals + 1 : *i + 1 < count ? words[++*i] : NULL;
    if (!value)
        return sl_fail(err, SL_BAD_INPUT, "--%s needs a value", name);
    if (row)
        return put(row, reader->values, value, err);
    return sl_number_read(number, object, value, err) || sl_wrap(err, "--%s", name);
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
            return sl_fail(err, SL_BAD_INPUT, "'%s' is one word too many%s", words[i],
                           reader->surplus ? reader->surplus : "");
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

void numbers_help(const struct sl_number *rows)
{
    for (const struct sl_number *r = rows; r->name; r++) {
        char name[NAME_MAX_BYTES], standard[SL_NUMBER_TEXT], choices[256];
        sl_number_print(r, r->standard, standard);
        printf("  --%-24s %s", spell(r->name, name), r->help);
        if (r->kind == SL_CHOICE) {
            sl_number_choices(r, choices, sizeof choices);
            printf(": %s", choices);
        }
        printf(" [%s]\n", standard);
    }
}
