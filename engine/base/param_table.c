/* param_table.c - reads, checks and prints members of a struct by their rows in a table. */
#include "base/param_table.h"
#include "base/comma_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static bool fail_number(const struct sl_param *row, const char *text, struct sl_err *err)
{
    return row->kind == SL_REAL ? sl_fail_number(err, row->name, text, row->min, row->max)
                                : sl_fail_whole(err, row->name, text, row->min, row->max);
}

bool sl_param_set(const struct sl_param *row, void *object, double value, struct sl_err *err)
{
    bool real = row->kind == SL_REAL, whole = real || value == floor(value);
    /* A bound rounded to float is accepted, because values are stored as floats. */
    double min = real ? fmin(row->min, (double)(float)row->min) : row->min;
    double max = real ? fmax(row->max, (double)(float)row->max) : row->max;
    if (!isfinite(value) || value < min || value > max || !whole) {
        char given[SL_PARAM_TEXT];
        sl_number_format(value, given);
        return fail_number(row, given, err);
    }
    put(row, object, value);
    return true;
}

void sl_param_choices(const struct sl_param *row, char *list, size_t size)
{
    list[0] = '\0';
    (void)sl_list_join(list, size, row->choices);
}

bool sl_bool_parse(const char *text, bool *value)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (int yes = 0; yes < 2; yes++)
            if (strcmp(words[i][yes], text) == 0) {
                *value = yes;
                return true;
            }
    return false;
}

static bool read_flag(const struct sl_param *row, void *object, const char *text,
                      struct sl_err *err)
{
    bool yes;
    if (!sl_bool_parse(text, &yes))
        return sl_fail_value(err, row->name, text, "expected true or false");
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
    return sl_fail_value(err, row->name, text, "expected one of: %s", list);
}

bool sl_param_parse(const struct sl_param *row, void *object, const char *text, struct sl_err *err)
{
    double value;
    if (row->kind == SL_CHOICE)
        return choose(row, object, text, err);
    if (row->kind == SL_FLAG)
        return read_flag(row, object, text, err);
    if (!sl_number_parse(text, -HUGE_VAL, HUGE_VAL, &value))
        return fail_number(row, text, err);
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
