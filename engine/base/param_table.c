/* param_table.c - reads, checks and prints members of a struct by their rows in a table. */
#include "base/param_table.h"
#include "base/comma_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANGE_TEXT = 384 };

static void put(const struct sl_param *row, void *object, double value)
{
    char *at = (char *)object + row->offset;
    int whole = (int)value;
    float real = (float)value;
    bool flag = value > 0.0;
    switch (row->kind) {
    case SL_REAL: memcpy(at, &real, sizeof real); break;
    case SL_FLAG: memcpy(at, &flag, sizeof flag); break;
    case SL_INTEGER:
    case SL_CHOICE: memcpy(at, &whole, sizeof whole); break;
    }
}

const struct sl_param *sl_param_find(const struct sl_param *rows, const char *name)
{
    for (; rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return rows;
    return NULL;
}

double sl_param_get(const struct sl_param *row, const void *object)
{
    const char *at = (const char *)object + row->offset;
    int whole = 0;
    float real;
    bool flag;
    switch (row->kind) {
    case SL_REAL: memcpy(&real, at, sizeof real); return (double)real;
    case SL_FLAG: memcpy(&flag, at, sizeof flag); return flag;
    case SL_INTEGER:
    case SL_CHOICE: memcpy(&whole, at, sizeof whole); break;
    }
    return whole;
}

void sl_params_set_defaults(const struct sl_param *rows, void *object)
{
    for (; rows->name; rows++)
        put(rows, object, rows->default_value);
}

void sl_number_format(double value, char text[SL_PARAM_TEXT])
{
    const double exact_below = 1e15; /* beyond, the last digits would be meaningless */
    bool whole = value == floor(value) && fabs(value) < exact_below;
    (void)snprintf(text, SL_PARAM_TEXT, whole ? "%.0f" : "%g", value);
}

/* "from 1 to 100000000 (optimiser steps)" */
static void print_range(const struct sl_param *row, char *text, size_t size)
{
    char min[SL_PARAM_TEXT], max[SL_PARAM_TEXT];
    sl_number_format(row->min, min);
    sl_number_format(row->max, max);
    (void)snprintf(text, size, "from %s to %s (%s)", min, max, row->help);
}

bool sl_param_set(const struct sl_param *row, void *object, double value, struct sl_err *err)
{
    bool real = row->kind == SL_REAL, whole = real || value == floor(value);
    /* A bound rounded to float is accepted, because values are stored as floats. */
    double min = real ? fmin(row->min, (double)(float)row->min) : row->min;
    double max = real ? fmax(row->max, (double)(float)row->max) : row->max;
    if (!isfinite(value) || value < min || value > max || !whole) {
        char given[SL_PARAM_TEXT], range[RANGE_TEXT];
        sl_number_format(value, given);
        print_range(row, range, sizeof range);
        return sl_fail(err, SL_BAD_INPUT, "invalid %s '%s': expected a %s %s", row->name, given,
                       row->kind == SL_REAL ? "number" : "whole number", range);
    }
    put(row, object, value);
    return true;
}

void sl_param_choices(const struct sl_param *row, char *list, size_t size)
{
    list[0] = '\0';
    (void)sl_list_join(list, size, row->choices);
}

static bool read_flag(const struct sl_param *row, void *object, const char *text,
                      struct sl_err *err)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected true or false (%s)",
                       row->name, text, row->help);
    put(row, object, yes);
    return true;
}

static bool choose(const struct sl_param *row, void *object, const char *text, struct sl_err *err)
{
    char list[256];
    for (int i = 0; row->choices[i]; i++)
        if (strcmp(row->choices[i], text) == 0) {
            put(row, object, i);
            return true;
        }
    sl_param_choices(row, list, sizeof list);
    return sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected one of: %s (%s)", row->name,
                   text, list, row->help);
}

bool sl_param_parse(const struct sl_param *row, void *object, const char *text, struct sl_err *err)
{
    char *end;
    if (row->kind == SL_CHOICE)
        return choose(row, object, text, err);
    if (row->kind == SL_FLAG)
        return read_flag(row, object, text, err);
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value)) {
        char range[RANGE_TEXT];
        print_range(row, range, sizeof range);
        return sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected a number %s", row->name,
                       text, range);
    }
    return sl_param_set(row, object, value, err);
}

void sl_param_format(const struct sl_param *row, double value, char text[SL_PARAM_TEXT])
{
    if (row->kind == SL_CHOICE)
        (void)snprintf(text, SL_PARAM_TEXT, "%s", row->choices[(int)value]);
    else if (row->kind == SL_FLAG)
        (void)snprintf(text, SL_PARAM_TEXT, "%s", value > 0.0 ? "true" : "false");
    else
        sl_number_format(value, text);
}
