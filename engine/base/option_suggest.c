/* option_suggest.c - which name a misspelt one was meant to be. */
#include "base/int_math.h"
#include "base/option_parser.h"

#include <string.h>

/* The optimal string alignment distance: how many characters to insert, delete, replace or swap
 * with their neighbour. */
static int distance(const char *a, const char *b)
{
    int two_above[SL_OPTION_NAME_BYTES], above[SL_OPTION_NAME_BYTES], row[SL_OPTION_NAME_BYTES];
    int columns = sl_min((int)strlen(b), SL_OPTION_NAME_BYTES - 1);
    for (int j = 0; j <= columns; j++)
        above[j] = row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        memcpy(two_above, above, sizeof above);
        memcpy(above, row, sizeof above);
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            int either = sl_min(above[j], row[j - 1]) + 1;
            row[j] = sl_min(either, above[j - 1] + (a[i - 1] != b[j - 1]));
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

const char *sl_option_suggest(const char *given, const char *const *names)
{
    const char *best = NULL;
    int min = distance_max(given) + 1;
    for (; *names; names++) {
        int far = distance(given, *names);
        if (far < min) {
            min = far;
            best = *names;
        }
    }
    return best;
}
