/* sse_parser.c - a parser of server-sent events.
 *
 * A benchmark reads tens of thousands of events a second on the CPU that writes them, so a line
 * that arrived whole is not copied. */
#include "common/sse_parser.h"

#include <string.h>

static bool handle_line(struct sse_parser *e, const char *line, size_t count)
{
    static const char field[] = "data:", last[] = "[DONE]";
    size_t skip = sizeof field - 1;
    if (count > 0 && line[count - 1] == '\r')
        count--;
    if (count < skip || memcmp(line, field, skip) != 0)
        return true;
    if (skip < count && line[skip] == ' ')
        skip++;
    if (count - skip == sizeof last - 1 && memcmp(line + skip, last, sizeof last - 1) == 0) {
        e->ended = true;
        return true;
    }
    return e->on_event(e->context, line + skip, count - skip);
}

/* The end of a line whose beginning was kept. */
static bool finish_line(struct sse_parser *e, const char *rest, size_t count)
{
    sl_buffer_append(&e->line, rest, count);
    bool more = !e->line.failed && handle_line(e, e->line.data, e->line.bytes);
    sl_buffer_clear(&e->line);
    return more;
}

bool sse_parser_feed(void *parser, const char *data, size_t count)
{
    struct sse_parser *e = parser;
    const char *end;
    e->line.bytes_max = EVENT_BYTES_MAX;
    while (count > 0 && (end = memchr(data, '\n', count))) {
        size_t length = (size_t)(end - data);
        bool more = e->line.bytes > 0 ? finish_line(e, data, length) : handle_line(e, data, length);
        if (!more)
            return false;
        data += length + 1;
        count -= length + 1;
    }
    if (count > 0)
        sl_buffer_append(&e->line, data, count);
    return !e->line.failed;
}

void sse_parser_release(struct sse_parser *e)
{
    sl_buffer_release(&e->line);
}
