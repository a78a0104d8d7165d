/* events.c - server-sent events, out of bytes that arrive in any pieces.
 *
 * A benchmark reads tens of thousands of events a second on the processor that writes them, so a
 * line that arrived whole is not copied. */
#include "common/events.h"

#include <string.h>

static bool take_line(const struct events *e, const char *line, size_t count)
{
    static const char field[] = "data:";
    size_t skip = sizeof field - 1;
    if (count > 0 && line[count - 1] == '\r')
        count--;
    if (count < skip || memcmp(line, field, skip) != 0)
        return true;
    if (skip < count && line[skip] == ' ')
        skip++;
    return e->take(e->context, line + skip, count - skip);
}

/* The end of a line whose beginning was kept. */
static bool take_kept(struct events *e, const char *rest, size_t count)
{
    if (!bytes_add(&e->line, rest, count))
        return false;
    size_t whole = e->line.count;
    e->line.count = 0;
    return take_line(e, e->line.data, whole);
}

bool events_feed(struct events *e, const char *data, size_t count)
{
    const char *end;
    while (count > 0 && (end = memchr(data, '\n', count))) {
        size_t length = (size_t)(end - data);
        bool more = e->line.count > 0 ? take_kept(e, data, length) : take_line(e, data, length);
        if (!more)
            return false;
        data += length + 1;
        count -= length + 1;
    }
    if (e->line.count + count > EVENT_BYTES_MAX)
        return false;
    return count == 0 || bytes_add(&e->line, data, count);
}

void events_release(struct events *e)
{
    bytes_release(&e->line);
}
