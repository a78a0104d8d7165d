/* listing.c - names one after another, as many as fit. */
#include "data/listing.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

enum { SHOWN_MAX = 8, SHOWN_BYTES = 32, QUOTES_AND_COMMA = 4, REST_BYTES = 32 };

static_assert(SHOWN_MAX * (SHOWN_BYTES + QUOTES_AND_COMMA) + REST_BYTES <=
                  sizeof((struct sl_listing *)NULL)->text,
              "room for all that is shown");

/* A cut through a UTF-8 character would leave no valid text. */
static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

void sl_listing_add(struct sl_listing *listing, const char *name, size_t bytes)
{
    size_t shown = bytes < SHOWN_BYTES ? bytes : SHOWN_BYTES;
    if (listing->count++ >= SHOWN_MAX)
        return;
    while (shown > 0 && shown < bytes && is_continuation(name[shown]))
        shown--;
    listing->used +=
        (size_t)snprintf(listing->text + listing->used, sizeof listing->text - listing->used,
                         "%s'%.*s'", listing->used > 0 ? ", " : "", (int)shown, name);
    assert(listing->used < sizeof listing->text);
}

const char *sl_listing_text(struct sl_listing *listing)
{
    int rest = listing->count - SHOWN_MAX;
    if (rest > 0)
        (void)snprintf(listing->text + listing->used, sizeof listing->text - listing->used,
                       " and %d more", rest);
    return listing->text;
}
