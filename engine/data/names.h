/* names.h - the first few of many names, for errors: 'a', 'b' and 3 more. */
#pragma once

#include <stddef.h>

struct sl_names {
    char text[352]; /* starts as "" */
    size_t used;
    int count; /* of names so far */
};

/* How many bytes of a name are shown: long ones are cut, between two characters. */
size_t sl_names_cut(const char *name, size_t bytes);
/* Whatever is cut ends with three dots. */
void sl_names_add(struct sl_names *names, const char *name, size_t bytes);
/* The text, when all names are added. */
const char *sl_names_text(struct sl_names *names);
