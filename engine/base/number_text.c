/* number_text.c - reads and prints numbers, and says what is expected instead of others. */
#include "base/number_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sl_number_format(double value, char text[SL_NUMBER_TEXT])
{
    const double exact_below = 1e15; /* beyond, the last digits would be meaningless */
    bool whole = value == floor(value) && fabs(value) < exact_below;
    (void)snprintf(text, SL_NUMBER_TEXT, whole ? "%.0f" : "%g", value);
}

bool sl_number_parse(const char *text, double min, double max, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value) && *value >= min && *value <= max;
}

bool sl_whole_parse(const char *text, double min, double max, int64_t *value)
{
    char *end;
    double real;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end != text && !*end)
        return errno == 0 && (double)*value >= min && (double)*value <= max;
    if (!sl_number_parse(text, min, max, &real) || real != floor(real) || fabs(real) >= 0x1p63)
        return false;
    *value = (int64_t)real;
    return true;
}

bool sl_time_limit_read(const char *field, const char *text, double *seconds, struct sl_err *err)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1.0}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}};

    const double longest = 86400.0;
    char *end;
    const double number = strtod(text, &end);
    *seconds = 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (end > text && strcmp(end, units[i].name) == 0)
            *seconds = number * units[i].seconds;
    return (*seconds >= 1.0 && *seconds <= longest) ||
           sl_fail_value(err, field, text, "expected 1s to 24h, as in 90s, 10m or 2h");
}

static bool fail(struct sl_err *err, const char *field, const char *text, const char *kind,
                 const double bounds[2])
{
    char min[SL_NUMBER_TEXT], max[SL_NUMBER_TEXT];
    sl_number_format(bounds[0], min);
    sl_number_format(bounds[1], max);
    if (strcmp(min, max) == 0)
        return sl_fail_value(err, field, text, "expected %s, the only value", min);
    return sl_fail_value(err, field, text, "expected a %s from %s to %s", kind, min, max);
}

bool sl_fail_number(struct sl_err *err, const char *field, const char *text, double min, double max)
{
    return fail(err, field, text, "number", (double[]){min, max});
}

bool sl_fail_whole(struct sl_err *err, const char *field, const char *text, double min, double max)
{
    return fail(err, field, text, "whole number", (double[]){min, max});
}
