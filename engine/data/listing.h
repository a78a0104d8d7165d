/* listing.h - the first few of many names, for errors: 'a', 'b' and 3 more. */
#pragma once

#include <stddef.h>

struct sl_listing {
    char text[320]; /* starts as "" */
    size_t used;
    int count; /* of names so far */
};

/* Long names are cut, between two characters. */
void sl_listing_add(struct sl_listing *listing, const char *name, size_t bytes);
/* The text, when all names are added. */
const char *sl_listing_text(struct sl_listing *listing);
