/* names.c - spelling and misspelling of names. */
#include "base/names.h"
#include "base/comma_list.h"
#include "base/int_math.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static char *respell(char *out, size_t capacity, const char *name, char from, char to)
{
    size_t length = strnlen(name, capacity - 1);
    memmove(out, name, length);
    out[length] = '\0';
    for (char *at = out; (at = strchr(at, from));)
        *at = to;
    return out;
}

char *sl_name_with_dashes(char *out, size_t capacity, const char *name)
{
    return respell(out, capacity, name, '_', '-');
}

char *sl_name_with_underscores(char *out, size_t capacity, const char *name)
{
    return respell(out, capacity, name, '-', '_');
}

/* Either spelling of a name is as good as the other. */
static bool differ(char a, char b)
{
    return a != b && !(strchr("-_", a) && strchr("-_", b));
}

/* The optimal string alignment distance: how many characters to insert, delete, replace or swap
 * with their neighbour. */
static int distance(const char *a, const char *b)
{
    int two_above[SL_NAME_BYTES], above[SL_NAME_BYTES], row[SL_NAME_BYTES];
    int columns = sl_min((int)strlen(b), SL_NAME_BYTES - 1);
    for (int j = 0; j <= columns; j++)
        above[j] = row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        memcpy(two_above, above, sizeof above);
        memcpy(above, row, sizeof above);
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            int either = sl_min(above[j], row[j - 1]) + 1;
            row[j] = sl_min(either, above[j - 1] + differ(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = sl_min(row[j], two_above[j - 2] + 1);
        }
    }
    return row[columns];
}

/* Names farther apart are not taken for typing errors. */
static int distance_max(const char *given)
{
    return 1 + (int)strlen(given) / 4;
}

const char *sl_name_suggest(const char *given, const char *const *names)
{
    const char *best = NULL;
    int min = distance_max(given) + 1;
    if (strlen(given) >= SL_NAME_BYTES)
        return NULL;
    for (; *names; names++) {
        int far = distance(given, *names);
        if (far < min) {
            min = far;
            best = *names;
        }
    }
    return best;
}

const char *sl_name_advice(char out[static SL_NAME_ADVICE_BYTES], const char *given,
                           const char *const *names)
{
    static const char list[] = "choose one of: ";
    const char *meant = sl_name_suggest(given, names);
    if (meant) {
        (void)snprintf(out, SL_NAME_ADVICE_BYTES, "did you mean %s?", meant);
        return out;
    }
    memcpy(out, list, sizeof list);
    (void)sl_list_join(out + sizeof list - 1, SL_NAME_ADVICE_BYTES - sizeof list + 1, names);
    return out;
}
