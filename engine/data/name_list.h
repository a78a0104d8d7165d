/* name_list.h - a shortened list of names for errors: 'a', 'b' and 3 more. */
#pragma once

#include <stddef.h>

struct sl_name_list {
    char text[352]; /* starts as "" */
    int count;      /* of names so far */
};

enum { SL_NAME_SHORT = 36 };

/* A name as it is shown: a long one is cut, between two characters, and ends with three dots. What
 * could not be seen is written as in JSON: \n, \u00a0. Returns `text`. */
const char *sl_name_shorten(const char *name, size_t bytes, char text[SL_NAME_SHORT]);

void sl_name_list_add(struct sl_name_list *names, const char *name, size_t bytes);
/* The text, when all names are added. */
const char *sl_name_list_text(struct sl_name_list *names);
