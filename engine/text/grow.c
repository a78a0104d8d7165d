/* grow.c - realloc, with the sums checked. */
#include "text/grow.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

void *sl_grown(void *array, size_t *room, size_t size, size_t used, size_t more)
{
    assert(used <= *room);
    if (array && more <= *room - used)
        return array;
    size_t wanted = used + more + used / 2 + 64;
    if (wanted > SIZE_MAX / size)
        return NULL;
    void *bigger = realloc(array, wanted * size);
    if (bigger)
        *room = wanted;
    return bigger;
}
