/* line_reader.c - a buffer over an unpacked file, with the present line at its start. */
#include "data/line_reader.h"

#include "base/dynarray.h"
#include "base/file_kind.h"
#include "base/utf8.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { STANDARD_RECORD_BYTES = 16 << 20, PIECE_BYTES = 1 << 16 };

struct sl_line_reader {
    struct sl_compressed_reader *source;
    char *name; /* what errors call the file */
    bool is_path;
    size_t record_bytes;
    char *text; /* what was read and not yet given out: text[start] to text[end - 1] */
    size_t room, start, end;
    int64_t number; /* of the last line given out */
    bool by_pieces; /* a long line is given out in pieces */
    bool in_piece;  /* the last one was not the end of its line */
    bool finished;  /* the file has no more than that */
    bool in_line;   /* `start` is within a line that was too long */
    bool can_go_on;
};

struct sl_line_reader *sl_line_reader_open(const char *path, const char *display_name,
                                           const struct sl_data_limits *limits, struct sl_err *err)
{
    assert(path);
    struct sl_line_reader *l = calloc(1, sizeof *l);
    char *copy = strdup(display_name ? display_name : path);
    if (!l || !copy) {
        sl_fail(err, SL_NO_MEMORY, "no memory to read '%s'", display_name ? display_name : path);
        free(copy);
        free(l);
        return NULL;
    }
    l->name = copy;
    l->is_path = !display_name;
    l->record_bytes = limits->record_bytes > 0 ? limits->record_bytes : STANDARD_RECORD_BYTES;
    l->source = sl_compressed_reader_open(path, display_name, limits->file_bytes, err);
    if (l->source)
        return l;
    sl_line_reader_close(l);
    return NULL;
}

void sl_line_reader_close(struct sl_line_reader *lines)
{
    if (!lines)
        return;
    sl_compressed_reader_close(lines->source);
    free(lines->text);
    free(lines->name);
    free(lines);
}

bool sl_line_reader_wrap(const struct sl_line_reader *lines, int64_t number, struct sl_err *err)
{
    if (lines->is_path)
        sl_err_set_path(err, lines->name);
    else
        sl_err_set_reason(err);
    sl_err_set_place(err, number < INT_MAX ? (int)number : INT_MAX, 0);
    return sl_wrap(err, "'%s' line %lld", lines->name, (long long)number);
}

bool sl_line_reader_can_continue(const struct sl_line_reader *lines)
{
    return lines->can_go_on;
}

const char *sl_line_reader_name(const struct sl_line_reader *lines)
{
    return lines->name;
}

size_t sl_line_reader_record_bytes(const struct sl_line_reader *lines)
{
    return lines->record_bytes;
}

/* Moves the unread bytes to the front, and reads more behind them. */
static bool refill(struct sl_line_reader *l, struct sl_err *err)
{
    size_t got = 0;
    if (l->start > 0)
        memmove(l->text, l->text + l->start, l->end - l->start);
    l->end -= l->start;
    l->start = 0;
    if (!sl_dynarray_reserve(&l->text, &l->room, l->end + PIECE_BYTES, 1, err) ||
        !sl_compressed_reader_read(l->source, l->text + l->end, l->room - l->end, &got, err))
        return false;
    l->finished = got < l->room - l->end;
    l->end += got;
    return true;
}

/* Reads until the line at `start` is complete. *bytes: with its line feed, if it has one. */
static bool line_find(struct sl_line_reader *l, size_t *bytes, struct sl_err *err)
{
    size_t searched = 0;
    for (;;) {
        size_t there = l->end - l->start;
        const char *feed =
            there > searched ? memchr(l->text + l->start + searched, '\n', there - searched) : NULL;
        size_t length = feed ? (size_t)(feed - (l->text + l->start)) : there;
        if (l->by_pieces && length > PIECE_BYTES) {
            *bytes = sl_utf8_fit(l->text + l->start, length, PIECE_BYTES);
            return true;
        }
        if (length > l->record_bytes && !l->by_pieces) {
            l->in_line = l->can_go_on = true;
            return sl_fail(err, SL_BAD_INPUT, "longer than the record limit of %zu bytes",
                           l->record_bytes);
        }
        if (feed || l->finished) {
            *bytes = length + (feed != NULL);
            return true;
        }
        searched = there;
        if (!refill(l, err))
            return false;
    }
}

/* Skips the rest of a line that was too long. */
static bool line_leave(struct sl_line_reader *l, struct sl_err *err)
{
    while (l->in_line) {
        const char *feed =
            l->end > l->start ? memchr(l->text + l->start, '\n', l->end - l->start) : NULL;
        l->start = feed ? (size_t)(feed - l->text) + 1 : l->end;
        l->in_line = !feed && !l->finished;
        if (l->in_line && !refill(l, err))
            return false;
    }
    return true;
}

/* How many bytes end the line: CR LF, LF, or none. */
static size_t end_bytes_of(const char *text, size_t bytes)
{
    if (bytes == 0 || text[bytes - 1] != '\n')
        return 0;
    return bytes > 1 && text[bytes - 2] == '\r' ? 2 : 1;
}

static bool line_next(struct sl_line_reader *l, struct sl_line *line, struct sl_err *err)
{
    size_t bytes = 0;
    l->can_go_on = false;
    if (!line_leave(l, err) || !line_find(l, &bytes, err))
        return false;
    size_t mark = l->number == 1 ? sl_utf8_mark(l->text + l->start, bytes) : 0;
    l->start += mark;
    bytes -= mark;
    if (bytes == 0) {
        *line = (struct sl_line){.number = l->number};
        return true;
    }
    const char *text = l->text + l->start;
    size_t end = end_bytes_of(text, bytes);
    l->start += bytes;
    l->can_go_on = true;
    if (!sl_utf8_check(text, bytes, err)) {
        const char *wrong = text + sl_utf8_valid_bytes(text, bytes);
        return sl_err_append(err, "; %s",
                             sl_file_encoding(wrong, (size_t)(l->text + l->end - wrong)));
    }
    l->in_piece = l->by_pieces && end == 0;
    *line =
        (struct sl_line){.text = text, .bytes = bytes - end, .end_bytes = end, .number = l->number};
    return true;
}

bool sl_line_reader_next(struct sl_line_reader *lines, struct sl_line *line, struct sl_err *err)
{
    assert(lines);
    assert(line);
    lines->number += !lines->in_piece;
    return line_next(lines, line, err) || sl_line_reader_wrap(lines, lines->number, err);
}

bool sl_line_reader_piece(struct sl_line_reader *lines, struct sl_line *piece, struct sl_err *err)
{
    lines->by_pieces = true;
    return sl_line_reader_next(lines, piece, err);
}

bool sl_line_reader_next_nonempty(struct sl_line_reader *lines, struct sl_line *line,
                                  struct sl_err *err)
{
    do
        if (!sl_line_reader_next(lines, line, err))
            return false;
    while (line->text && line->bytes == 0);
    return true;
}
