/* bytes.c - bytes that arrive in pieces and are wanted whole. */
#include "common/bytes.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct bytes *b, size_t min)
{
    enum { ROOM_FIRST = 1024 };

    size_t room = b->room ? b->room : ROOM_FIRST;
    while (room < min)
        room *= 2;
    char *data = realloc(b->data, room);
    if (!data)
        return false;
    b->data = data;
    b->room = room;
    return true;
}

bool bytes_add(struct bytes *b, const char *data, size_t count)
{
    if (b->count + count + 1 > b->room && !make_room(b, b->count + count + 1))
        return false;
    if (count > 0)
        memcpy(b->data + b->count, data, count);
    b->count += count;
    b->data[b->count] = '\0';
    return true;
}

void bytes_release(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}
