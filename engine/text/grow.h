/* grow.h - arrays that get longer: by half as much again, so that the moves cost little. */
#pragma once

#include <stddef.h>

/* The array, moved or not, with room for `more` elements of `size` bytes after `used`. NULL without
 * memory, and then the array is as it was. */
void *sl_grown(void *array, size_t *room, size_t size, size_t used, size_t more);
