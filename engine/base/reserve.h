/* reserve.h - arrays that grow as they are filled; err may be NULL. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

/* Room for at least `want` items in an array: `array` points to the pointer to it, *room is what it
 * has; what it holds stays. Room at least doubles, so that filling an array one by one is cheap.
 * On failure all is as it was. */
bool sl_reserve(void *array, size_t *room, size_t want, size_t item_bytes, struct sl_err *err)
    SL_MUST_CHECK;

/* Gives back the room beyond `count` items. */
void sl_trim(void *array, size_t *room, size_t count, size_t item_bytes);
