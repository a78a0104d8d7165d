/* dynarray.h - arrays that grow as they are filled.
 *
 * The caller owns the array and frees it with free(). Its pointer and its capacity are two members
 * or variables, both zero at first. err may be NULL. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

/* Makes room for at least `min_items` items. `array` is the address of the pointer, *capacity what
 * the array has room for. Its contents stay. The capacity at least doubles, so that appending one
 * by one is cheap. On failure nothing changes. */
bool sl_dynarray_reserve(void *array, size_t *capacity, size_t min_items, size_t item_bytes,
                         struct sl_err *err) SL_MUST_CHECK;

/* Frees the memory beyond `count` items. */
void sl_dynarray_shrink(void *array, size_t *capacity, size_t count, size_t item_bytes);
