/* append_line.c - files that only grow, line by line. */
#include "state/append_line.h"
#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool sv_append_line(int fd, const struct sl_buffer *line, struct sl_err *err)
{
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t written = write(fd, line->data, line->bytes);
    if (written == (ssize_t)line->bytes)
        return true;
    enum sl_code code = written < 0 ? sl_file_error_code(errno) : SL_NO_SPACE;
    const char *reason = written < 0 ? strerrordesc_np(errno) : "the disk is full";
    if (written > 0 && end >= 0 && ftruncate(fd, end) != 0)
        reason = "a part of a line was written, and could not be removed";
    return sl_fail(err, code, "%s", reason);
}
