/* names.c - names one after another, as many as fit. */
#include "data/names.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

enum { SHOWN_MAX = 8, AROUND_BYTES = 4, REST_BYTES = 32 }; /* around: , '' */

static const char cut[] = "...";

enum { WHOLE_BYTES = SL_NAME_SHOWN - sizeof cut };

static_assert(SHOWN_MAX * (SL_NAME_SHOWN + AROUND_BYTES) + REST_BYTES <=
                  sizeof((struct sl_names *)NULL)->text,
              "room for all that is shown");

const char *sl_name_shown(const char *name, size_t bytes, char text[SL_NAME_SHOWN])
{
    size_t shown = sl_utf8_fit(name, bytes, WHOLE_BYTES);
    (void)snprintf(text, SL_NAME_SHOWN, "%.*s%s", (int)shown, name, shown < bytes ? cut : "");
    return text;
}

void sl_names_add(struct sl_names *names, const char *name, size_t bytes)
{
    char text[SL_NAME_SHOWN];
    if (names->count++ >= SHOWN_MAX)
        return;
    names->used +=
        (size_t)snprintf(names->text + names->used, sizeof names->text - names->used, "%s'%s'",
                         names->used > 0 ? ", " : "", sl_name_shown(name, bytes, text));
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
