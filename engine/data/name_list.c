/* name_list.c - joins names, as many as fit. */
#include "data/name_list.h"
#include "base/comma_list.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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
    sl_list_add_quoted(names->text, sizeof names->text, sl_name_shorten(name, bytes, text));
}

const char *sl_name_list_text(struct sl_name_list *names)
{
    int rest = names->count - SHOWN_MAX;
    size_t used = strlen(names->text);
    if (rest > 0)
        (void)snprintf(names->text + used, sizeof names->text - used, " and %d more", rest);
    return names->text;
}
