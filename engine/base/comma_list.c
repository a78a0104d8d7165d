/* comma_list.c - lists of items in messages, as many as fit. */
#include "base/comma_list.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char more[] = ", ...";

static void append(char *list, size_t capacity, const char *quote, const char *item)
{
    size_t used = strlen(list), end = sizeof more - 1;
    if (used >= end && strcmp(list + used - end, more) == 0)
        return;
    const char *comma = used ? ", " : "";
    size_t need = strlen(comma) + 2 * strlen(quote) + strlen(item) + end;
    if (used + need < capacity)
        (void)snprintf(list + used, capacity - used, "%s%s%s%s", comma, quote, item, quote);
    else
        (void)snprintf(list + used, capacity - used, "%s", used ? more : more + 2);
}

void sl_list_add(char *list, size_t capacity, const char *item)
{
    append(list, capacity, "", item);
}

void sl_list_add_quoted(char *list, size_t capacity, const char *item)
{
    append(list, capacity, "'", item);
}

const char *sl_list_join(char *list, size_t capacity, const char *const *items)
{
    assert(capacity > sizeof more);
    for (; *items; items++)
        sl_list_add(list, capacity, *items);
    return list;
}
