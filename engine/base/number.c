/* number.c - structs of numbers, by the names in their tables. */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sl_number *sl_number_find(const struct sl_number *rows, const char *name)
{
    for (; rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return rows;
    return NULL;
}

static void put(const struct sl_number *row, void *object, double value)
{
    char *at = (char *)object + row->offset;
    int whole = (int)value;
    float real = (float)value;
    if (row->kind == SL_REAL)
        memcpy(at, &real, sizeof real);
    else
        memcpy(at, &whole, sizeof whole);
}

double sl_number_get(const struct sl_number *row, const void *object)
{
    const char *at = (const char *)object + row->offset;
    int whole;
    float real;
    if (row->kind != SL_REAL) {
        memcpy(&whole, at, sizeof whole);
        return whole;
    }
    memcpy(&real, at, sizeof real);
    return (double)real;
}

void sl_numbers_standard(const struct sl_number *rows, void *object)
{
    for (; rows->name; rows++)
        put(rows, object, rows->standard);
}

bool sl_number_set(const struct sl_number *row, void *object, double value, struct sl_err *err)
{
    bool whole = row->kind == SL_REAL || value == floor(value);
    if (!isfinite(value) || value < row->least || value > row->most || !whole)
        return sl_fail(err, SL_BAD_INPUT, "%s is %g; accepted is a %s from %g to %g (%s)",
                       row->name, value, row->kind == SL_REAL ? "number" : "whole number",
                       row->least, row->most, row->help);
    put(row, object, value);
    return true;
}

void sl_number_choices(const struct sl_number *row, char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (int i = 0; row->choices[i] && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s", i ? ", " : "", row->choices[i]);
}

static bool choose(const struct sl_number *row, void *object, const char *text, struct sl_err *err)
{
    char list[256];
    for (int i = 0; row->choices[i]; i++)
        if (strcmp(row->choices[i], text) == 0) {
            put(row, object, i);
            return true;
        }
    sl_number_choices(row, list, sizeof list);
    return sl_fail(err, SL_BAD_INPUT, "%s is '%.64s'; accepted is one of %s (%s)", row->name, text,
                   list, row->help);
}

bool sl_number_read(const struct sl_number *row, void *object, const char *text, struct sl_err *err)
{
    char *end;
    if (row->kind == SL_CHOICE)
        return choose(row, object, text, err);
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return sl_fail(err, SL_BAD_INPUT,
                       "%s is '%.64s', which is not a number; accepted is %g to %g (%s)", row->name,
                       text, row->least, row->most, row->help);
    return sl_number_set(row, object, value, err);
}

void sl_number_print(const struct sl_number *row, double value, char text[SL_NUMBER_TEXT])
{
    if (row->kind == SL_CHOICE)
        (void)snprintf(text, SL_NUMBER_TEXT, "%s", row->choices[(int)value]);
    else
        (void)snprintf(text, SL_NUMBER_TEXT, "%g", value);
}
