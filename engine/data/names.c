/* names.c - names one after another, as many as fit. */
#include "data/names.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

enum { SHOWN_MAX = 8, SHOWN_BYTES = 32, AROUND_BYTES = 7, REST_BYTES = 32 }; /* , '...' */

static_assert(SHOWN_MAX * (SHOWN_BYTES + AROUND_BYTES) + REST_BYTES <=
                  sizeof((struct sl_names *)NULL)->text,
              "room for all that is shown");

/* A cut through a UTF-8 character would leave no valid text. */
static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

size_t sl_names_cut(const char *name, size_t bytes)
{
    size_t shown = bytes < SHOWN_BYTES ? bytes : SHOWN_BYTES;
    while (shown > 0 && shown < bytes && is_continuation(name[shown]))
        shown--;
    return shown;
}

void sl_names_add(struct sl_names *names, const char *name, size_t bytes)
{
    size_t shown = sl_names_cut(name, bytes);
    if (names->count++ >= SHOWN_MAX)
        return;
    names->used +=
        (size_t)snprintf(names->text + names->used, sizeof names->text - names->used, "%s'%.*s%s'",
                         names->used > 0 ? ", " : "", (int)shown, name, shown < bytes ? "..." : "");
    assert(names->used < sizeof names->text);
}

const char *sl_names_text(struct sl_names *names)
{
    int rest = names->count - SHOWN_MAX;
    if (rest > 0)
        (void)snprintf(names->text + names->used, sizeof names->text - names->used, " and %d more",
                       rest);
    return names->text;
}
