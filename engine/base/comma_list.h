/* comma_list.h - lists of items in messages: "a, b, c". The caller owns the array. */
#pragma once

#include <stddef.h>

/* Appends an item, after ", " unless it is the first. An item that does not fit is left out, and
 * the list then ends with ", ...". The array has `capacity` bytes and starts as "". */
void sl_list_add(char *list, size_t capacity, const char *item);

/* The same in 'quotes'. */
void sl_list_add_quoted(char *list, size_t capacity, const char *item);

/* Appends all items of an array that ends with NULL, and returns the list. */
const char *sl_list_join(char *list, size_t capacity, const char *const *items);
