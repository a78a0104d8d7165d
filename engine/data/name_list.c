/* name_list.c - names one after another, as many as fit. */
#include "data/name_list.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

enum { SHOWN_MAX = 8, AROUND_BYTES = 4, REST_BYTES = 32 }; /* around: , '' */

static const char cut[] = "...";

enum { WHOLE_BYTES = SL_NAME_SHORT - sizeof cut };

static_assert(SHOWN_MAX * (SL_NAME_SHORT + AROUND_BYTES) + REST_BYTES <=
                  sizeof((struct sl_name_list *)NULL)->text,
              "room for all that is shown");

const char *sl_name_shorten(const char *name, size_t bytes, char text[SL_NAME_SHORT])
{
    size_t shown = sl_utf8_fit(name, bytes, WHOLE_BYTES);
    (void)snprintf(text, SL_NAME_SHORT, "%.*s%s", (int)shown, name, shown < bytes ? cut : "");
    return text;
}

void sl_name_list_add(struct sl_name_list *names, const char *name, size_t bytes)
{
    char text[SL_NAME_SHORT];
    if (names->count++ >= SHOWN_MAX)
        return;
    names->used +=
        (size_t)snprintf(names->text + names->used, sizeof names->text - names->used, "%s'%s'",
                         names->used > 0 ? ", " : "", sl_name_shorten(name, bytes, text));
    assert(names->used < sizeof names->text);
}

const char *sl_name_list_text(struct sl_name_list *names)
{
    int rest = names->count - SHOWN_MAX;
    if (rest > 0)
        (void)snprintf(names->text + names->used, sizeof names->text - names->used, " and %d more",
                       rest);
    return names->text;
}
