/* names.h - the first few of many names, for errors: 'a', 'b' and 3 more. */
#pragma once

#include <stddef.h>

struct sl_names {
    char text[352]; /* starts as "" */
    size_t used;
    int count; /* of names so far */
};

enum { SL_NAME_SHOWN = 36 };

/* A name as it is shown: a long one is cut, between two characters, and ends with three dots.
 * Returns `text`. */
const char *sl_name_shown(const char *name, size_t bytes, char text[SL_NAME_SHOWN]);

void sl_names_add(struct sl_names *names, const char *name, size_t bytes);
/* The text, when all names are added. */
const char *sl_names_text(struct sl_names *names);
